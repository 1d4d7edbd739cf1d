package main

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"cohort/store"
)

var positionsSection = section{
	name:  "positions",
	title: "hashed and dense positions side by side",
	about: "The file of the import section, through the command as a process of its own into a store of each kind, in turn. " +
		"Then ten days of a population of five times a full day, all known before, a random fifth of it active on each: bytes of the days and of the registry with its ordinals, pages with their slack, in the closed store. " +
		"A process of its own opens that store, read just before, and counts a day. Counts are checked.",
	run: runPositions,
}

// positionsDays is how many days are loaded of each kind.
const positionsDays = 10

// positionsRun is what was measured of a store of one kind.
type positionsRun struct {
	positions store.Positions
	want      imported
	load      importRun
	size      int64 // of the imported store's file
	parts     sizes // of the days
	marks     int   // on them
	ids       int   // known then
	opened    openRun
}

func runPositions(ctx context.Context, b *bench, r *result) error {
	file, of := b.path("rows.csv"), brandedIDs(b.seed)
	if err := writeRows(file, fileRows(b.seed, b.rows, b.ids), of); err != nil {
		return err
	}
	binary, err := buildCommand(ctx, b.path("cohort"))
	if err != nil {
		return err
	}
	hashed, dense := &positionsRun{positions: store.Hashed}, &positionsRun{positions: store.Dense}
	sides := []*positionsRun{hashed, dense}
	var imports []func(int) error
	for _, p := range sides {
		if p.want, err = importOracle(fileRows(b.seed, b.rows, b.ids), of, p.positions); err != nil {
			return err
		}
		imports = append(imports, func(int) error { return b.importAs(ctx, p, binary, file) })
	}
	if err := b.interleave(ctx, imports...); err != nil {
		return err
	}
	if err := b.measurePositions(ctx, sides); err != nil {
		return err
	}
	t := r.table("positions", "import, s", "rows/s", "file MB", "day, bytes/id", "registry, bytes/id", "open ms", "first count of a day ms")
	for _, p := range sides {
		t.row(p.positions, p.load.seconds, float64(b.rows)/p.load.seconds.median(), float64(p.size)/1e6,
			perID(p.parts.day, p.marks), perID(p.parts.registry, p.ids), p.opened.millis, p.opened.first)
	}
	r.note("The days have %s marks of %s ids.", thousands(int64(dense.marks)), thousands(int64(dense.ids)))
	r.atMost("import of the same rows, dense, times hashed", dense.load.seconds.over(hashed.load.seconds).median(), 2, "×")
	r.atMost("dense: bytes per id and day at a fifth of all ids a day", perID(dense.parts.day, dense.marks), 0.7, "")
	r.atMost("dense: bytes of the registry per id", perID(dense.parts.registry, dense.ids), 18, "")
	r.atMost("dense: open a clean store, warm", dense.opened.millis.median(), 100, " ms")
	return nil
}

// importAs imports the file into a new store of a kind, and checks it.
func (b *bench) importAs(ctx context.Context, p *positionsRun, binary, file string) error {
	path := b.path("import.db")
	cmd := exec.CommandContext(ctx, binary, "--db", path, "--json", "import", "--positions", p.positions.String(),
		"--id", "id", "--event", "event", "--time", "time", file)
	if err := b.importOnce(cmd, &p.load, p.want.tally); err != nil {
		return err
	}
	var err error
	p.size, err = removeSized(path, checkImported(ctx, path, p.want))
	return err
}

// measurePositions makes a store of each kind of the same days, and measures it.
func (b *bench) measurePositions(ctx context.Context, sides []*positionsRun) error {
	people, err := newPopulation(b.seed, 5*b.ids)
	if err != nil {
		return err
	}
	for _, p := range sides {
		if err := b.measureKind(ctx, people, p); err != nil {
			return err
		}
		b.logf("%s: %d marks on %d days", p.positions, p.marks, positionsDays)
	}
	return nil
}

// register makes ids known, in their order, without a mark: otherwise those of the
// first days, which are the first ordinals, would pack these days.
func register(ctx context.Context, db *store.DB, ids []string) error {
	all := func(yield func(string, error) bool) {
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}
	if _, err := db.SaveIDs(ctx, "everybody", all); err != nil {
		return err
	}
	return db.DeleteSet(ctx, "everybody")
}

func (b *bench) measureKind(ctx context.Context, people *population, p *positionsRun) (err error) {
	path := b.path("days.db")
	db, err := store.Open(path, &store.Options{Create: store.CreateOnly, Positions: p.positions, NoFirstDays: true, NoRollups: true, RememberEvery: -1})
	if err != nil {
		return err
	}
	if err := register(ctx, db, people.ids); err != nil {
		return errors.Join(err, db.Close())
	}
	want := imported{counts: make(map[eventDay]int)}
	for n := range positionsDays {
		d, at := people.day(n, 5), openedDay+store.Day(n)
		if err := loadDay(ctx, db, markedEvent, at, d.ids); err != nil {
			return errors.Join(err, db.Close())
		}
		bits := len(d.ids)
		if p.positions == store.Hashed {
			bits = d.set.count()
		}
		want.counts[eventDay{markedEvent, at}] = bits
		p.marks += len(d.ids)
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := checkImported(ctx, path, want); err != nil {
		return err
	}
	err = inStore(path, func(s *store.Snapshot) error {
		brands, err := s.Brands()
		if err == nil {
			p.ids = int(brands[0].IDs)
		}
		return err
	})
	if err != nil {
		return err
	}
	if p.parts, err = readSizes(path, positionsDays); err != nil {
		return err
	}
	first := uint64(want.counts[eventDay{markedEvent, openedDay}])
	for range b.rounds {
		if err := errors.Join(readFile(path), b.openOnce(ctx, path, first, &p.opened)); err != nil {
			return err
		}
	}
	return os.Remove(path)
}
