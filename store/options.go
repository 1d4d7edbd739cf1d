package store

import (
	"fmt"
	"log/slog"
	"time"

	"cohort/placement"
	"cohort/store/internal/hll"
)

// WeekStart is the day a week begins on.
type WeekStart uint8

// The two week starts. A Sunday-start week keeps its ISO number and runs from
// the Sunday before the ISO Monday.
const (
	Monday WeekStart = iota + 1
	Sunday
)

// ParseWeekStart reads "monday" or "sunday".
func ParseWeekStart(s string) (WeekStart, error) {
	switch s {
	case "monday":
		return Monday, nil
	case "sunday":
		return Sunday, nil
	}
	return 0, fmt.Errorf("week start %q is neither monday nor sunday", s)
}

// String returns "monday" or "sunday".
func (w WeekStart) String() string {
	switch w {
	case Monday:
		return "monday"
	case Sunday:
		return "sunday"
	}
	return fmt.Sprintf("WeekStart(%d)", uint8(w))
}

// Options say how to open a store. The zero value, and nil, open or create a
// store with the defaults.
type Options struct {
	// IDs, Positions, TimeZone, WeekStart and DropStrings are fixed when the store
	// is created. On an existing store a zero field is not checked; any other
	// value that differs from the store's is ErrMismatch.

	// IDs is the kind of ids the store holds. Default placement.Branded.
	IDs placement.Kind
	// Positions says where the bits of branded and string ids stand. Default
	// Hashed; for number ids, which are their own positions, it must be 0.
	Positions Positions
	// TimeZone is the IANA name of the zone whose civil dates are the store's
	// days. Default "UTC".
	TimeZone string
	// WeekStart is the first day of a week. Default Monday.
	WeekStart WeekStart
	// DropStrings makes a store of string ids keep their hashes only: smaller,
	// but members can no longer be listed. Default false.
	DropStrings bool

	// SketchPrecision is that of the store's sketches, fixed by the first visit:
	// 1<<precision registers of a byte, a standard error of 1.04/√(1<<precision).
	// A store with visits checks it as it does the fields above. Range 10 (3.25 %)
	// to 16 (0.41 %), default 14 (0.81 %).
	SketchPrecision int

	// Create says what Open does about the file. Default CreateMissing.
	Create CreateMode
	// ReadOnly opens for reading; the file is never created or changed. A file
	// without write permission is opened so in any case. Default false.
	ReadOnly bool
	// LockTimeout is how long Open waits for another process to close the
	// store before it gives ErrInUse. Default 1 s; negative waits without end.
	LockTimeout time.Duration
	// FoldMarks is the number of unfolded operations that starts a fold.
	// Range 1 to 1<<24, default 1<<18 (about 10 MB of memory).
	FoldMarks int
	// FoldAge is the age of the oldest unfolded operation that starts a fold.
	// Default 5 minutes; negative folds by size only.
	FoldAge time.Duration
	// RememberEvery is the time between two runs of Remember in the background,
	// each of which takes in what changed on closed days since the one before.
	// Default 10 minutes; negative: only DB.Remember does it.
	RememberEvery time.Duration
	// NoFirstDays and NoRollups keep the first days of ids, and the unions of
	// closed periods, from being remembered: the file is smaller, and questions
	// about them read every day. What is there of them is removed by the next
	// Remember. Default false.
	NoFirstDays, NoRollups bool
	// Now tells the time, for Today and for the check of future days. Default
	// time.Now.
	Now func() time.Time
	// Logger receives what happens in the background. Default: nothing.
	Logger *slog.Logger

	logAfter int      // committed requests until there is a log; 0 is the default, negative at once
	mapped   int      // bytes of address space for the file; 0 is mapSize
	openLog  openFunc // opens the log's files, and the store's to settle it; tests fail and cut it
}

// CreateMode says what Open does where the file is missing or present.
type CreateMode uint8

const (
	// CreateMissing creates a store where there is none.
	CreateMissing CreateMode = iota
	// CreateNever gives ErrNotExist where there is none.
	CreateNever
	// CreateOnly gives ErrExist where the path is taken.
	CreateOnly
)

// Config is what a store was created with, and how it was opened.
type Config struct {
	Path          string
	IDs           placement.Kind
	Positions     Positions // 0 in a store of numbers
	TimeZone      *time.Location
	WeekStart     WeekStart
	DropStrings   bool
	FormatVersion int
	ReadOnly      bool

	SketchPrecision int // of its sketches, present or to come
}

// Bounds of the options.
const (
	defaultLockTimeout = time.Second
	defaultFoldMarks   = 1 << 18
	maxFoldMarks       = 1 << 24
	defaultFoldAge     = 5 * time.Minute
	defaultRemember    = 10 * time.Minute

	// defaultLogAfter is how many marks, or parts of MarkMany, a store commits before it
	// starts a log: one that is open for a mark or two would pay more for the files
	// than it saves. Many callers have one after their first commit; without it they
	// wait for the transactions of a fold.
	defaultLogAfter = 16

	// allocSize is by how much the file grows. bbolt's default of 16 MiB would
	// be the size of the smallest store.
	allocSize = 1 << 20
)

// withDefaults copies the options, checks them and fills in the defaults. What
// is fixed at creation stays zero where it was not given.
func withDefaults(opts *Options) (Options, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.IDs > placement.Number || o.Positions > Dense || o.WeekStart > Sunday || o.Create > CreateOnly {
		return o, fmt.Errorf("options: no such id kind, positions, week start or create mode: %d, %d, %d, %d", o.IDs, o.Positions, o.WeekStart, o.Create)
	}
	if o.FoldMarks < 0 || o.FoldMarks > maxFoldMarks {
		return o, fmt.Errorf("options: FoldMarks %d is outside 1 to %d", o.FoldMarks, maxFoldMarks)
	}
	if p := o.SketchPrecision; p != 0 && (p < hll.MinPrecision || p > hll.MaxPrecision) {
		return o, fmt.Errorf("options: SketchPrecision %d is outside %d to %d", p, hll.MinPrecision, hll.MaxPrecision)
	}
	if o.FoldMarks == 0 {
		o.FoldMarks = defaultFoldMarks
	}
	if o.FoldAge == 0 {
		o.FoldAge = defaultFoldAge
	}
	if o.RememberEvery == 0 {
		o.RememberEvery = defaultRemember
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = defaultLockTimeout
	}
	if o.logAfter == 0 {
		o.logAfter = defaultLogAfter
	}
	if o.openLog == nil {
		o.openLog = openOSFile
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
