package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// samples are the figures of the rounds, in their order.
type samples []float64

func (s *samples) add(v float64) { *s = append(*s, v) }

// median returns the middle sample, the lower of two; 0 without any.
func (s samples) median() float64 {
	if len(s) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(s))[(len(s)-1)/2]
}

// over returns the ratios of two sides, round by round.
func (s samples) over(t samples) samples {
	r := make(samples, min(len(s), len(t)))
	for i := range r {
		r[i] = s[i] / t[i]
	}
	return r
}

// String writes the median, and the least and the greatest sample.
func (s samples) String() string {
	if len(s) < 2 {
		return figure(s.median())
	}
	return fmt.Sprintf("%s (%s–%s)", figure(s.median()), figure(slices.Min(s)), figure(slices.Max(s)))
}

// quantile returns the latency that a share q of them does not exceed. It sorts
// them.
func quantile(latencies []time.Duration, q float64) time.Duration {
	if len(latencies) == 0 {
		return 0
	}
	slices.Sort(latencies)
	return latencies[max(0, int(math.Ceil(q*float64(len(latencies))))-1)]
}

// figure writes a number with three digits that mean something, and thousands
// apart.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return thousands(int64(math.Round(v)))
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1 || a == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// thousands writes an integer in groups of three digits.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// micros writes a duration in microseconds.
func micros(d time.Duration) string { return figure(float64(d) / float64(time.Microsecond)) }
