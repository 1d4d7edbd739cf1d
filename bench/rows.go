package main

import (
	"bufio"
	"errors"
	"iter"
	"math"
	"os"
	"time"

	"cohort/placement"
	"cohort/store"
)

// fileRow is one line of the imported file.
type fileRow struct {
	at    time.Time
	id    int // number of the id
	event string
}

// importDays is how many days the file covers.
const importDays = 30

var importFirst = store.Date(2026, 1, 1)

// fileEvents are the events of the file, and how often each is up to there.
var fileEvents = []struct {
	name string
	upTo float64
}{{"active", 0.80}, {"played", 0.95}, {"paid", 1}}

// fileRows makes up a log in order of time. Saturdays and Sundays have a third
// more rows than other days. Ids are drawn as u²: the most frequent tenth of
// them has a third of all rows, and with five rows an id about one in thirty never occurs.
func fileRows(seed uint64, rows, ids int) iter.Seq[fileRow] {
	return func(yield func(fileRow) bool) {
		var weights [importDays]float64
		sum := 0.0
		for d := range weights {
			weights[d] = 3
			if w := (importFirst + store.Day(d)).Weekday(); w == time.Saturday || w == time.Sunday {
				weights[d] = 4
			}
			sum += weights[d]
		}
		n, upTo := 0, 0.0
		for d, weight := range weights {
			upTo += weight
			end := int(math.Round(upTo / sum * float64(rows)))
			midnight := (importFirst + store.Day(d)).Time()
			first := n
			for ; n < end; n++ {
				second := 86400 * (n - first) / (end - first)
				if !yield(makeRow(seed+seedRows, n, ids, midnight.Add(time.Duration(second)*time.Second))) {
					return
				}
			}
		}
	}
}

func makeRow(seed uint64, n, ids int, at time.Time) fileRow {
	u := unit(scramble(seed, 2*uint64(n)))
	e := unit(scramble(seed, 2*uint64(n)+1))
	r := fileRow{at: at, id: int(u * u * float64(ids))}
	for _, f := range fileEvents {
		if r.event = f.name; e < f.upTo {
			break
		}
	}
	return r
}

// unit turns a random number into one of [0, 1).
func unit(r uint64) float64 { return float64(r>>11) / (1 << 53) }

// writeRows writes the file as CSV, with a header.
func writeRows(path string, rows iter.Seq[fileRow], of idOf) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	line := []byte("time,id,event\n")
	for r := range rows {
		if _, err := w.Write(line); err != nil {
			return err
		}
		line = r.at.AppendFormat(line[:0], time.RFC3339)
		line = append(append(line, ','), of(r.id)...)
		line = append(append(append(line, ','), r.event...), '\n')
	}
	if _, err := w.Write(line); err != nil {
		return err
	}
	return errors.Join(w.Flush(), f.Sync())
}

// eventDay is one day of one event.
type eventDay struct {
	event string
	day   store.Day
}

// imported is what an import of some rows into an empty store must come to.
type imported struct {
	tally  store.Tally
	counts map[eventDay]int
}

// importOracle works the import out, row by row, with maps. In a dense store each id
// has a bit of its own.
func importOracle(rows iter.Seq[fileRow], of idOf, p store.Positions) (imported, error) {
	type bit struct {
		eventDay
		at placement.Mixed
	}
	want := imported{counts: make(map[eventDay]int)}
	bits := make(map[bit]struct{})
	known := make(map[placement.Mixed]struct{})
	ids := make(map[placement.Mixed]int) // known at a bit
	for r := range rows {
		_, m, err := placement.Branded.Parse(of(r.id))
		if err != nil {
			return want, err
		}
		at := m
		if p == store.Hashed {
			at = placement.Mixed(m.Placement())
		}
		if _, ok := known[m]; !ok {
			known[m] = struct{}{}
			ids[at]++
		}
		b := bit{eventDay{r.event, store.Day(r.at.Unix() / 86400)}, at}
		_, set := bits[b]
		switch {
		case !set:
			bits[b] = struct{}{}
			want.counts[b.eventDay]++
			want.tally.New++
		case ids[b.at] > 1:
			want.tally.Shared++
		default:
			want.tally.Already++
		}
	}
	return want, nil
}
