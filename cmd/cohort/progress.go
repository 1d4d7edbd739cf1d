package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how far an import has come: how many rows, how
// fast, and by the bytes of the input how long it will still take.
type progress struct {
	bar   *progressbar.ProgressBar // nil unless errors go to a terminal
	start time.Time
	shown time.Time
}

// progressEvery is how often progress is shown anew.
const progressEvery = 100 * time.Millisecond

// newProgress starts showing progress over some bytes, −1 where there is no
// telling how many they are.
func (a *app) newProgress(bytes int64) *progress {
	p := &progress{start: time.Now()}
	if a.quiet || !isTerminal(a.err) {
		return p
	}
	if bytes == 0 {
		bytes = -1 // the bar takes a size of 0 for a mistake
	}
	p.bar = progressbar.NewOptions64(bytes,
		progressbar.OptionSetWriter(a.err),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(progressEvery),
		progressbar.OptionSetWidth(30),
	)
	return p
}

// at shows that so many bytes, and rows of them, are done. That a terminal cannot
// show it is no reason to stop.
func (p *progress) at(bytes int64, rows uint64) {
	if p.bar == nil || time.Since(p.shown) < progressEvery {
		return
	}
	p.shown = time.Now()
	rate := float64(rows) / p.shown.Sub(p.start).Seconds()
	p.bar.Describe(fmt.Sprintf("%d rows, %.0f/s", rows, rate))
	_ = p.bar.Set64(bytes)
}

// bytes shows that so many bytes are done.
func (p *progress) bytes(done int64) {
	if p.bar == nil || time.Since(p.shown) < progressEvery {
		return
	}
	p.shown = time.Now()
	_ = p.bar.Set64(done) // as above
}

// done takes the bar off the terminal.
func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
