package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cohort/placement"
)

// VisitLoader records visits in bulk, past the journal: they are sorted by day
// and page, and merged into the sketches, about a megabyte a transaction. What it
// does is the same as observing them one by one. A VisitLoader is for one
// goroutine; any number may be open at a time.
type VisitLoader struct {
	db      *DB
	ctx     context.Context // of LoadVisits; a loader is one operation in several calls
	today   Day
	journal bool // a small batch goes through the journal

	pages  map[loadPage]uint32 // indexes of names
	names  []loadPage
	visits []loadVisit

	committed Tally
	err       error // what ended the load
}

// loadPage is a page that visits of the batch name.
type loadPage struct {
	name  string
	brand placement.Brand
}

// loadVisits is how many visits a batch holds at most: 16 bytes each, and about as
// much again while they are sorted. A batch has no more than loadPages pages.
const (
	loadVisits = 1 << 20
	loadPages  = 1 << 20
)

type loadVisit struct {
	page  uint32 // index of its name
	day   Day
	mixed placement.Mixed
}

// LoadVisits starts a bulk load of visits. When ctx ends, Add and Close return its
// error, and what was committed stays.
func (db *DB) LoadVisits(ctx context.Context) (*VisitLoader, error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	defer db.leave()
	if db.cfg.ReadOnly {
		return nil, fmt.Errorf("%s: %w", db.cfg.Path, ErrReadOnly)
	}
	return &VisitLoader{db: db, ctx: ctx, today: db.Today(), pages: make(map[loadPage]uint32)}, nil
}

// Add takes one visit. It commits when the batch is full. A visit that Observe
// would refuse gives its error, is left out, and does not end the load. After any
// other error the load is over.
func (l *VisitLoader) Add(page, id string, day Day) error {
	if l.err != nil {
		return l.err
	}
	if err := CheckEvent(page); err != nil {
		return err
	}
	brand, mixed, err := l.db.set.ids.Parse(id)
	if err != nil {
		return err
	}
	if err := checkDay(day, l.today); err != nil {
		return fmt.Errorf("page %q, id %q: %w", page, id, err)
	}
	l.visits = append(l.visits, loadVisit{l.page(page, brand), day, mixed})
	if len(l.visits) >= loadVisits || len(l.names) >= loadPages {
		l.err = l.commit()
	}
	return l.err
}

// Committed returns what became of the visits that are on disk.
func (l *VisitLoader) Committed() Tally { return l.committed }

// Close commits the visits that are left and returns what became of all that are
// on disk. It must be called, once; the error is what ended the load.
func (l *VisitLoader) Close() (Tally, error) {
	if l.err == nil {
		l.err = l.commit()
	}
	err := l.err
	l.err = fmt.Errorf("load: %w", ErrClosed)
	l.pages, l.names, l.visits = nil, nil, nil
	return l.committed, err
}

// commit writes the batch.
func (l *VisitLoader) commit() error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if len(l.visits) == 0 {
		return nil
	}
	if err := l.db.enter(); err != nil {
		return err
	}
	defer l.db.leave()
	var err error
	if l.journal && len(l.visits) < recordMarks {
		err = l.commitJournal()
	} else {
		err = l.commitSketches()
	}
	l.visits = l.visits[:0]
	clear(l.pages)
	l.names = nil
	return err
}

// commitJournal sends the visits through the committer, in order.
func (l *VisitLoader) commitJournal() error {
	var facts []fact
	held := uint64(0)
	for _, v := range l.visits {
		p := l.names[v.page]
		f := fact{kind: opVisit, event: p.name, brand: p.brand, mixed: v.mixed, day: v.day}
		switch is, err := l.db.visited(&f); {
		case err != nil:
			return err
		case is:
			held++
		default:
			facts = append(facts, f)
		}
	}
	l.committed.Already += held
	if len(facts) == 0 {
		return nil
	}
	r := &request{facts: facts, results: make([]Result, len(facts))}
	if err := l.db.submit(l.ctx, r); err != nil {
		return err
	}
	for _, result := range r.results {
		l.committed.count(result)
	}
	return r.err
}

// page returns the index of a page's name.
func (l *VisitLoader) page(name string, b placement.Brand) uint32 {
	i, ok := l.pages[loadPage{name, b}]
	if !ok {
		i = uint32(len(l.names))
		p := loadPage{strings.Clone(name), b} // the caller's string may be a piece of a larger one
		l.names = append(l.names, p)
		l.pages[p] = i
	}
	return i
}

// visitBlock is the batch's visits of one block's pages on one day.
type visitBlock struct {
	day    Day
	pages  []pageVisits
	visits uint64
}

// blocksSideBySide is how many blocks are merged side by side.
const blocksSideBySide = 64

// commitSketches merges the batch into the sketches, in transactions of about
// foldBytes.
func (l *VisitLoader) commitSketches() error {
	if l.db.view.Load().visits.Len() > 0 { // so that what they changed is not new
		if err := l.db.foldAll(l.ctx); err != nil {
			return err
		}
	}
	l.db.chunkMu.Lock()
	defer l.db.chunkMu.Unlock()
	numbers, err := l.bind()
	if err != nil {
		return err
	}
	blocks := l.blocks(numbers)
	for len(blocks) > 0 {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		var n int
		var visits, changed uint64
		err := l.db.rewrite("observe", func(w *writer) (commit bool, err error) {
			n, changed, err = w.loadBlocks(blocks)
			return changed > 0, err
		})
		if err != nil {
			return err
		}
		for _, b := range blocks[:n] {
			visits += b.visits
		}
		l.committed.New += changed
		l.committed.Already += visits - changed
		blocks = blocks[n:]
	}
	return nil
}

// loadBlocks merges blocks from the front until it has written enough. It returns
// how many, and how many visits changed a sketch.
func (w *writer) loadBlocks(blocks []visitBlock) (n int, changed uint64, err error) {
	written := 0
	for n < len(blocks) && written < foldBytes {
		d, err := w.openSketchDay(blocks[n].day)
		if err != nil {
			return 0, 0, err
		}
		for n < len(blocks) && blocks[n].day == d.day && written < foldBytes {
			var some [][]pageVisits
			for n < len(blocks) && blocks[n].day == d.day && len(some) < blocksSideBySide {
				some = append(some, blocks[n].pages)
				n++
			}
			raised, size, err := w.addVisits(d, some...)
			if err != nil {
				return 0, 0, err
			}
			changed += raised
			written += size
		}
		if err := w.closeSketchDay(d); err != nil {
			return 0, 0, err
		}
	}
	return n, changed, nil
}

// bind returns the numbers of the batch's pages, which new ones get.
func (l *VisitLoader) bind() ([]uint32, error) {
	numbers := make([]uint32, len(l.names))
	err := l.db.update("observe", func(w *writer) (bool, error) {
		bound := false
		for i, p := range l.names {
			n, err := w.pageNumber(p.name, p.brand)
			if err == nil && n == 0 {
				bound = true
				n, err = w.bindPage(p.name, p.brand)
			}
			if err != nil {
				return false, err
			}
			numbers[i] = n
		}
		return bound, nil
	})
	return numbers, err
}

// blocks returns the batch sorted by day and page number.
func (l *VisitLoader) blocks(numbers []uint32) (blocks []visitBlock) {
	order := make([]uint32, len(numbers)) // indexes of names by number
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(numbers[a], numbers[b]) })
	rank := make([]uint32, len(order))
	for i, name := range order {
		rank[name] = uint32(i)
	}
	visits, _ := partition(l.visits, len(order), func(v loadVisit) uint32 { return rank[v.page] })
	days := make(map[Day]uint32)
	for _, v := range visits {
		days[v.day] = 0
	}
	for i, d := range slices.Sorted(maps.Keys(days)) {
		days[d] = uint32(i)
	}
	if len(days) > 1 {
		visits, _ = partition(visits, len(days), func(v loadVisit) uint32 { return days[v.day] })
	}
	hashes := make([]uint64, len(visits))
	for i := 0; i < len(visits); {
		v, start := visits[i], i
		for ; i < len(visits) && visits[i].page == v.page && visits[i].day == v.day; i++ {
			hashes[i] = visits[i].mixed.Hash()
		}
		page := numbers[v.page]
		last := len(blocks) - 1
		if last < 0 || blocks[last].day != v.day || blockOf(blocks[last].pages[0].page) != blockOf(page) {
			blocks = append(blocks, visitBlock{day: v.day})
			last++
		}
		b := &blocks[last]
		b.pages = append(b.pages, pageVisits{page, l.names[v.page].brand, hashes[start:i:i]})
		b.visits += uint64(i - start)
	}
	return blocks
}
