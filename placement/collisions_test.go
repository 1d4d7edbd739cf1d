package placement_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"cohort/placement"
)

// within reports whether got lies within a relative error of want.
func within(got, want, relative float64) bool {
	return math.Abs(got-want) <= relative*math.Abs(want)
}

// exactColliding is n − m(1 − (1 − 1/m)ⁿ), m = 2³², computed with 400 bits.
func exactColliding(n uint64) float64 {
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
	m := exact(placement.Placements)
	power, base := exact(1), exact(1)
	base.Sub(base, exact(0).Quo(exact(1), m))
	for k := n; k > 0; k >>= 1 {
		if k&1 == 1 {
			power.Mul(power, base)
		}
		base.Mul(base, base)
	}
	occupied := exact(1)
	occupied.Sub(occupied, power).Mul(occupied, m)
	colliding, _ := exact(0).Sub(exact(float64(n)), occupied).Float64()
	return colliding
}

func TestExpectedColliding(t *testing.T) {
	for _, n := range []float64{0, 1, -1, 0.5, math.Inf(-1)} {
		if got := placement.ExpectedColliding(n); got != 0 {
			t.Errorf("ExpectedColliding(%g) = %g, want 0", n, got)
		}
	}
	for _, n := range []uint64{
		2, 3, 4, 10, 100, 1000, 65_536, 1e5, 1e6, 1e7, 1e8,
		1<<28 - 1, 1 << 28, 1<<28 + 1, // where the series gives way to the sum
		1e9, 1 << 32, 5e9, 1e10, 1e12,
	} {
		want := exactColliding(n)
		if got := placement.ExpectedColliding(float64(n)); !within(got, want, 1e-13) {
			t.Errorf("ExpectedColliding(%d) = %.17g, want %.17g (off by %.1e)", n, got, want, got/want-1)
		}
	}
	if got, want := placement.ExpectedColliding(2), 1.0/placement.Placements; got != want {
		t.Errorf("ExpectedColliding(2) = %g, want 1/m = %g", got, want)
	}
	for _, test := range []struct {
		n    float64
		want string
	}{{1e6, "116"}, {1e7, "1.16e+04"}, {1e8, "1.16e+06"}} {
		if got := fmt.Sprintf("%.3g", placement.ExpectedColliding(test.n)); got != test.want {
			t.Errorf("ExpectedColliding(%g) = %s, want %s", test.n, got, test.want)
		}
	}
	if got := placement.ExpectedColliding(math.Inf(1)); !math.IsInf(got, 1) {
		t.Errorf("ExpectedColliding(+Inf) = %g", got)
	}
	if got := placement.ExpectedColliding(math.NaN()); !math.IsNaN(got) {
		t.Errorf("ExpectedColliding(NaN) = %g", got)
	}
}

func TestIDsBehind(t *testing.T) {
	for _, test := range []struct{ placements, want float64 }{
		{math.Inf(-1), 0}, {-1, 0}, {0, 0}, {1, 1},
		{placement.Placements, math.Inf(1)}, {placement.Placements + 1, math.Inf(1)}, {math.Inf(1), math.Inf(1)},
	} {
		if got := placement.IDsBehind(test.placements); got != test.want {
			t.Errorf("IDsBehind(%g) = %g, want %g", test.placements, got, test.want)
		}
	}
	for _, n := range []float64{1, 2, 3, 100, 1e4, 1e6, 1e7, 1e8, 1e9, 1 << 32, 1e10} {
		placements := n - placement.ExpectedColliding(n)
		if got := placement.IDsBehind(placements); !within(got, n, 1e-13) {
			t.Errorf("IDsBehind(%g) = %.17g, want %g", placements, got, n)
		}
	}
	// The last count with an answer: all placements but one.
	if got, want := placement.IDsBehind(placement.Placements-1), math.Ldexp(32*math.Ln2, 32); !within(got, want, 1e-9) {
		t.Errorf("IDsBehind(m-1) = %g, want m·ln m = %g", got, want)
	}
}

func TestExpectedFalseOverlap(t *testing.T) {
	for _, test := range []struct{ a, b, want float64 }{
		{0, 1e9, 0},
		{1, 1, 1.0 / (1 << 32)},
		{1e7, 1e7, 23283.06436538696},
		{1 << 32, 12345, 12345},
		{1 << 32, 1 << 32, 1 << 32},
	} {
		if got := placement.ExpectedFalseOverlap(test.a, test.b); !within(got, test.want, 1e-15) {
			t.Errorf("ExpectedFalseOverlap(%g, %g) = %.17g, want %.17g", test.a, test.b, got, test.want)
		}
		if a, b := placement.ExpectedFalseOverlap(test.a, test.b), placement.ExpectedFalseOverlap(test.b, test.a); !within(a, b, 1e-15) {
			t.Errorf("ExpectedFalseOverlap(%g, %g) is not symmetric", test.a, test.b)
		}
	}
}

// Ids thrown at few placements collide, and are estimated back, as computed: the
// mean over many rounds lies within five standard errors.
func TestCollisionsSimulated(t *testing.T) {
	const rounds = 2000
	r := newRand(t)
	for _, test := range []struct{ m, n int }{
		{1 << 10, 40}, {1 << 10, 63}, {1 << 10, 64}, {1 << 10, 500}, {1 << 10, 1024}, {1 << 10, 3000}, {37, 20},
	} {
		var colliding, behind moments
		for range rounds {
			occupied := make([]bool, test.m)
			count := 0
			for range test.n {
				if p := r.IntN(test.m); !occupied[p] {
					occupied[p] = true
					count++
				}
			}
			colliding.add(float64(test.n - count))
			behind.add(placement.IDsBehindOf(float64(count), float64(test.m)))
		}
		want := placement.ExpectedCollidingOf(float64(test.n), float64(test.m))
		if got, e := colliding.mean(), colliding.standardError(); math.Abs(got-want) > 5*e {
			t.Errorf("m %d, n %d: %g ids collide (± %.2g), expected %g", test.m, test.n, got, e, want)
		}
		// The estimate is biased by (exp(n/m) − n/m − 1)/2 ids (Whang et al.), here
		// less than 1 %.
		if got, e := behind.mean(), behind.standardError(); math.Abs(got-float64(test.n)) > 5*e+0.01*float64(test.n) {
			t.Errorf("m %d, n %d: estimated %g ids (± %.2g)", test.m, test.n, got, e)
		}
	}
}

// Two sets without a common member share as many placements as computed.
func TestFalseOverlapSimulated(t *testing.T) {
	const n = 1 << 20
	r := newRand(t)
	draw := func() []uint32 {
		set := make([]uint32, n)
		for i := range set {
			set[i] = placement.MixSnowflake(r.Uint64() >> 1).Placement()
		}
		slices.Sort(set)
		return slices.Compact(set)
	}
	a, b := draw(), draw()
	shared := 0
	for _, p := range a {
		if _, ok := slices.BinarySearch(b, p); ok {
			shared++
		}
	}
	// About Poisson, so the variance is the mean: 256.
	want := placement.ExpectedFalseOverlap(float64(len(a)), float64(len(b)))
	if math.Abs(float64(shared)-want) > 6*math.Sqrt(want) {
		t.Errorf("sets of %d and %d share %d placements, expected %.0f", len(a), len(b), shared, want)
	}
}

// Snowflakes made as a clock makes them (milliseconds << 22 | worker << 12 |
// sequence) collide no more often than independent ones would.
func TestSnowflakesSpread(t *testing.T) {
	const n = 1 << 21
	for _, test := range []struct {
		name string
		next func(r *rand.Rand, i uint64) uint64
	}{
		{"sparse", func(r *rand.Rand, i uint64) uint64 {
			return (274557032793636864>>22+i*7919+r.Uint64N(7919))<<22 | r.Uint64N(4)<<12
		}},
		{"busy", func(r *rand.Rand, i uint64) uint64 {
			return (274557032793636864>>22+i/512)<<22 | (i/64%8)<<12 | i%64
		}},
		{"random", func(r *rand.Rand, i uint64) uint64 { return r.Uint64() >> 1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRand(t)
			set := make([]uint32, n)
			for i := range set {
				set[i] = placement.MixSnowflake(test.next(r, uint64(i))).Placement()
			}
			slices.Sort(set)
			got := float64(n - len(slices.Compact(set)))
			want := placement.ExpectedColliding(n)
			t.Logf("%.0f ids collide, expected %.0f", got, want)
			if got > want+6*math.Sqrt(want) {
				t.Errorf("%.0f ids collide, expected %.0f", got, want)
			}
		})
	}
}

// moments gathers the mean and the spread of a sample.
type moments struct{ n, sum, squares float64 }

func (s *moments) add(x float64) { s.n++; s.sum += x; s.squares += x * x }

func (s *moments) mean() float64 { return s.sum / s.n }

func (s *moments) standardError() float64 {
	variance := s.squares/s.n - s.mean()*s.mean()
	return math.Sqrt(max(variance, 0) / s.n)
}
