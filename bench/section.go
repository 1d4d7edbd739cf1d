package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// section is one benchmark, chosen by name.
type section struct {
	name  string
	title string
	about string // what is measured and how, for the document
	run   func(ctx context.Context, b *bench, r *result) error
}

// sections lists the benchmarks in the order in which they run.
func sections() []section {
	return []section{marksSection, writesSection, importSection, formatsSection, positionsSection, sizeSection, openSection, questionsSection, kernelsSection, rememberedSection, reportsSection, memorySection, growthSection, casesSection, collisionsSection, sketchesSection, fieldsSection, peersSection}
}

func sectionNames() []string {
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	return names
}

// scale is how large the workloads are.
type scale struct {
	rounds int // how often everything that is compared runs, in turn

	ids    int // ids in a full day
	rows   int // rows of the import
	days   int // full days of the store that is opened
	back   int // full days of the reports
	people int // of the comparison with peers; 0 leaves it out

	marks    int   // marks of 64 concurrent callers in a round
	lone     int   // marks of a lone caller in a round
	many     int   // marks of MarkMany in a round
	perMark  int   // marks of the baseline in a round
	commits  int   // commits of 1,000 marks in the writes section
	daySizes []int // ids of the days whose size is taken, beside ids

	memorySizes, collisionSizes []int // ids
	growIDs, growDays           []int
	caseIDs                     []int // ids a day of the stores of the cases section
	caseDays                    int   // their days, at most
	claimSet                    int   // members of its set in Redis
	checkInPart                 int   // one in so many of 100 million people is stored; a power of two

	pages, visitors, visits, visitDays int // of the sketches section; visits a day
}

var (
	// fullScale is the sizes that the goals are about, and reproduces every row of
	// docs/benchmarks.md.
	fullScale = scale{
		rounds: 5,
		ids:    1_000_000, rows: 5_000_000, days: 380, back: 30,
		people: 1_000_000,
		marks:  64_000, lone: 2000, many: 500_000, perMark: 1024, commits: 100,
		daySizes:    []int{10_000, 100_000, 10_000_000},
		memorySizes: []int{1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}, collisionSizes: []int{100_000, 1_000_000, 10_000_000},
		growIDs: []int{10_000, 100_000, 1_000_000, 10_000_000}, growDays: []int{1, 7, 30, 90, 365},
		caseIDs: []int{100_000, 1_000_000}, caseDays: 1 << 30, claimSet: 10_000_000, checkInPart: 16,
		pages: 100_000, visitors: 1_000_000, visits: 2_000_000, visitDays: 30,
	}
	// middleScale takes minutes.
	middleScale = scale{
		rounds: 2,
		ids:    100_000, rows: 300_000, days: 30, back: 20,
		people: 100_000,
		marks:  16_000, lone: 500, many: 200_000, perMark: 512, commits: 20,
		daySizes:    []int{10_000, 1_000_000},
		memorySizes: []int{1000, 10_000, 100_000, 300_000}, collisionSizes: []int{100_000, 1_000_000},
		growIDs: []int{10_000, 100_000, 300_000}, growDays: []int{1, 7, 30, 90},
		caseIDs: []int{10_000, 100_000}, caseDays: 30, claimSet: 1_000_000, checkInPart: 1 << 10,
		pages: 20_000, visitors: 200_000, visits: 200_000, visitDays: 30,
	}
	smallScale = scale{
		rounds: 1,
		ids:    2000, rows: 6000, days: 6, back: 5,
		marks: 640, lone: 20, many: 5000, perMark: 64, commits: 5,
		daySizes:    []int{1000, 20_000},
		memorySizes: []int{1000, 5000}, collisionSizes: []int{50_000},
		growIDs: []int{1000, 3000}, growDays: []int{1, 7},
		caseIDs: []int{1000}, caseDays: 9, claimSet: 10_000, checkInPart: 1 << 14,
		pages: 500, visitors: 5000, visits: 5000, visitDays: 12,
	}
)

// bench is what a section runs with.
type bench struct {
	scale
	seed     uint64
	dir      string    // the section's own, removed when it ends
	log      io.Writer // progress
	profiles string    // directory for profiles of child processes, or ""
}

// path returns the path of a file in the section's directory.
func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// logf tells of progress.
func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(b.log, "  "+format+"\n", args...)
}

// interleave runs the sides in turn, as often as there are rounds.
func (b *bench) interleave(ctx context.Context, sides ...func(round int) error) error {
	for round := range b.rounds {
		start := time.Now()
		for _, side := range sides {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := side(round); err != nil {
				return fmt.Errorf("round %d: %w", round+1, err)
			}
		}
		b.logf("round %d of %d: %.1f s", round+1, b.rounds, time.Since(start).Seconds())
	}
	return nil
}

// checkf returns an error unless got is want: the figure that goes with it must
// not be reported.
func checkf[T comparable](got, want T, format string, args ...any) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("wrong answer: %s: got %v, want %v", fmt.Sprintf(format, args...), got, want)
}
