package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

const (
	testBase  = 3 << 19
	testWidth = 19 // 8 containers
)

// randomSet makes a set with containers of every kind, empty and full ones among
// them, as rng has it.
func randomSet(rng *rand.Rand) *roaring.Bitmap {
	b := roaring.New()
	shape := rng.IntN(8) // one shape for all containers, or 7 for any
	for key := range uint64(1 << (testWidth - 16)) {
		base := testBase + key<<16
		s := shape
		if s == 7 {
			s = rng.IntN(7)
		}
		switch s {
		case 1: // a few
			for range 1 + rng.IntN(40) {
				b.Add(uint32(base + rng.Uint64N(1<<8*(1+rng.Uint64N(1<<8)))))
			}
		case 2: // an array
			for range 100 + rng.IntN(4000) {
				b.Add(uint32(base + rng.Uint64N(full)))
			}
		case 3: // a bitset
			for range 5000 + rng.IntN(30_000) {
				b.Add(uint32(base + rng.Uint64N(full)))
			}
		case 4: // runs
			for range 1 + rng.IntN(20) {
				from := rng.Uint64N(full)
				b.AddRange(base+from, base+min(from+1+rng.Uint64N(3000), full))
			}
		case 5: // full
			b.AddRange(base, base+full)
		case 6: // nearly full
			b.AddRange(base, base+full)
			for range 1 + rng.IntN(3) {
				b.Remove(uint32(base + rng.Uint64N(full)))
			}
		}
	}
	return b
}

// addTo adds a set to a union, as a list or as serialized bytes, and maybe with
// changes that make it what it is.
func addTo(t *testing.T, u *Union, set *roaring.Bitmap, rng *rand.Rand) {
	t.Helper()
	stored, c := set.Clone(), Changes{}
	if rng.IntN(2) == 0 {
		other := randomSet(rng)
		for i, v := range other.ToArray() {
			if i%97 > 20 {
				continue
			}
			if set.Contains(v) {
				stored.Remove(v)
				c.Set = append(c.Set, v)
			} else {
				stored.Add(v)
				c.Cleared = append(c.Cleared, v)
			}
		}
	}
	if stored.GetCardinality() <= 2000 && rng.IntN(2) == 0 {
		if !u.AddList(stored.ToArray(), c) {
			t.Fatal("a list is refused")
		}
		return
	}
	if rng.IntN(2) == 0 {
		stored.RunOptimize()
	}
	b, err := stored.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	if n := int(stored.GetCardinality()); !Valid(b, n) || Valid(b, n+1) {
		t.Fatal("validity")
	}
	if !u.AddPortable(b, int(stored.GetCardinality()), c) {
		t.Fatal("bytes are refused")
	}
}

// randomExpr makes an expression and the set that it is.
func randomExpr(t *testing.T, rng *rand.Rand, depth int) (*Expr, *roaring.Bitmap) {
	t.Helper()
	if depth == 0 || rng.IntN(4) == 0 {
		sources := rng.IntN(7)
		if rng.IntN(3) > 0 {
			sources = 1
		}
		u, union := new(Union), roaring.New()
		u.Begin(testBase, testWidth, sources)
		for range sources {
			set := randomSet(rng)
			addTo(t, u, set, rng)
			union.Or(set)
		}
		if u.Empty() != union.IsEmpty() {
			t.Fatalf("empty %t, %d positions", u.Empty(), union.GetCardinality())
		}
		return Leaf(u), union
	}
	if rng.IntN(4) == 0 {
		return randomAtLeast(t, rng)
	}
	x, a := randomExpr(t, rng, depth-1)
	y, b := randomExpr(t, rng, depth-1)
	switch op := Op(rng.IntN(4)); op {
	case And:
		return Combine(op, x, y), roaring.And(a, b)
	case Or:
		return Combine(op, x, y), roaring.Or(a, b)
	case Xor:
		return Combine(op, x, y), roaring.Xor(a, b)
	default:
		return Combine(op, x, y), roaring.AndNot(a, b)
	}
}

// randomAtLeast makes a comparison of random numbers.
func randomAtLeast(t *testing.T, rng *rand.Rand) (*Expr, *roaring.Bitmap) {
	t.Helper()
	n := 1 + rng.IntN(9)
	if rng.IntN(8) == 0 {
		n = 64
	}
	least := max(rng.Uint64()>>(64-n)>>rng.IntN(n)<<rng.IntN(3)&(1<<n-1), 1)
	numbers := make([]uint64, 1<<testWidth)
	unions := make([]*Union, n)
	for i := range unions {
		set := roaring.New()
		if rng.IntN(6) > 0 {
			set = randomSet(rng)
		}
		for _, pos := range set.ToArray() {
			numbers[pos-testBase] |= 1 << i
		}
		unions[i] = new(Union)
		unions[i].Begin(testBase, testWidth, 1)
		addTo(t, unions[i], set, rng)
	}
	want := roaring.New()
	for i, number := range numbers {
		if number >= least {
			want.Add(testBase + uint32(i))
		}
	}
	return AtLeast(least, n, func(i int) *Union { return unions[i] }), want
}

// compare works out some expressions in every way, and compares with roaring.
func compare(t *testing.T, e *Evaluator, exprs []*Expr, sets []*roaring.Bitmap) {
	t.Helper()
	for i, x := range exprs {
		if got, want := e.Count(x), sets[i].GetCardinality(); got != want {
			t.Fatalf("set %d: count %d, want %d", i, got, want)
		}
		out := e.Append(nil, x)
		got := roaring.New()
		if len(out) > 0 {
			if !Valid(out, int(sets[i].GetCardinality())) {
				t.Fatalf("set %d is written as what is no set", i)
			}
			if _, err := got.ReadFrom(bytes.NewReader(out)); err != nil {
				t.Fatal(err)
			}
		}
		if !got.Equals(sets[i]) {
			t.Fatalf("set %d: %d positions written, want %d", i, got.GetCardinality(), sets[i].GetCardinality())
		}
	}
	comparePrefixes(t, e, exprs, sets)
}

func comparePrefixes(t *testing.T, e *Evaluator, exprs []*Expr, sets []*roaring.Bitmap) {
	t.Helper()
	reached, sizes, lone := make([]uint64, len(sets)), make([]uint64, len(sets)), make([]uint64, len(sets))
	e.Prefixes(exprs, reached, sizes)
	e.Prefixes(exprs, lone, nil)
	prefix := sets[0].Clone()
	for k, s := range sets {
		prefix.And(s)
		if n := prefix.GetCardinality(); reached[k] != n || lone[k] != n || sizes[k] != s.GetCardinality() {
			t.Fatalf("step %d: reached %d and %d, want %d; size %d, want %d", k, reached[k], lone[k], n, sizes[k], s.GetCardinality())
		}
	}
}

// FuzzKernels compares expressions over sets of every kind with roaring's own
// operations.
func FuzzKernels(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed, uint8(seed))
	}
	e := new(Evaluator)
	f.Fuzz(func(t *testing.T, seed uint64, depth uint8) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var exprs []*Expr
		var sets []*roaring.Bitmap
		for range 1 + rng.IntN(4) {
			x, set := randomExpr(t, rng, int(depth%3))
			exprs, sets = append(exprs, x), append(sets, set)
		}
		compare(t, e, exprs, sets)
	})
}

// TestCounts compares the counts of whole bitsets, in each way there is, with bits
// looked at one by one.
func TestCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	for range 50 {
		room := make([]byte, 4*bitsetBytes+31)
		var sets [4]*bitset
		for i := range sets {
			sets[i] = (*bitset)(room[rng.IntN(8)+i*bitsetBytes:]) // nowhere aligned
		}
		for i := range room {
			room[i] = byte(rng.Uint32() & rng.Uint32() & rng.Uint32())
		}
		w, x, y, z := sets[0], sets[1], sets[2], sets[3]
		and, or := 0, 0
		for v := range full {
			v := uint16(v)
			and += one(w.has(v) && x.has(v))
			or += one(w.has(v) || x.has(v) || y.has(v) || z.has(v))
		}
		if a, b := countAnd(w, x), countAndWords(w, x); a != and || b != and {
			t.Fatalf("and: %d, %d, want %d", a, b, and)
		}
		if a, b := countOr4(w, x, y, z), countOr4Words(w, x, y, z); a != or || b != or {
			t.Fatalf("or: %d, %d, want %d", a, b, or)
		}
	}
}

// TestArrayInBitset compares the ways to find the positions of an array in a bitset,
// of arrays of all small lengths and of long ones, behind what was found before.
func TestArrayInBitset(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	for n := range 60 {
		var b bitset
		for i := range b {
			b[i] = byte(rng.Uint32() & rng.Uint32())
		}
		if n > 40 {
			n = rng.IntN(ArrayMax + 1)
		}
		var a []byte
		want := []byte("before")
		for v := range full {
			if left := n - len(a)/2; rng.IntN(full-v) < left {
				a = binary.LittleEndian.AppendUint16(a, uint16(v))
				if b.has(uint16(v)) {
					want = binary.LittleEndian.AppendUint16(want, uint16(v))
				}
			}
		}
		room := append(make([]byte, 0, 6+len(a)), "before"...)
		if got := b.keepArray(room, a); !bytes.Equal(got, want) {
			t.Fatalf("%d positions: kept %x, want %x", n, got, want)
		}
		if got := b.keepArrayWords(room, a); !bytes.Equal(got, want) {
			t.Fatalf("%d positions, one by one: kept %x, want %x", n, got, want)
		}
		count := (len(want) - 6) / 2
		if x, y := b.countArray(a), b.countArrayWords(a); x != count || y != count {
			t.Fatalf("%d positions: %d and %d, want %d", n, x, y, count)
		}
	}
}

// TestManySteps has more steps than the marks have levels.
func TestManySteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	all := roaring.New()
	for range 5000 {
		all.Add(testBase + rng.Uint32N(1<<testWidth))
	}
	var exprs []*Expr
	var sets []*roaring.Bitmap
	var row *Expr
	both := all.Clone()
	for i := range 300 {
		set := all.Clone()
		set.Remove(all.ToArray()[7*i])
		if i%50 == 49 { // a bitset among them
			set.AddRange(testBase, testBase+full/2)
		}
		u := new(Union)
		u.Begin(testBase, testWidth, 1)
		addTo(t, u, set, rng)
		x := Leaf(u)
		exprs, sets = append(exprs, x), append(sets, set)
		if both.And(set); row == nil {
			row = x
		} else {
			row = Combine(And, row, x)
		}
	}
	e := new(Evaluator)
	comparePrefixes(t, e, exprs, sets)
	if got, want := e.Count(row), both.GetCardinality(); got != want {
		t.Errorf("count %d, want %d", got, want)
	}
	if got, want := e.Count(Combine(AndNot, exprs[0], row)), roaring.AndNot(sets[0], both).GetCardinality(); got != want {
		t.Errorf("difference: count %d, want %d", got, want)
	}
}

// FuzzUnion gives a union bytes of any kind, with changes that fit or do not: all
// that is asked is that nothing panics.
func FuzzUnion(f *testing.F) {
	for seed := range uint64(20) {
		set := randomSet(rand.New(rand.NewPCG(seed, 4)))
		set.RunOptimize()
		b, err := set.ToBytes()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 2000)], uint32(set.GetCardinality()), uint32(testBase+7*seed), uint32(testBase))
	}
	e := new(Evaluator)
	f.Fuzz(func(t *testing.T, b []byte, card, set, cleared uint32) {
		for _, c := range []Changes{{}, {Set: []uint32{set}}, {Set: []uint32{set}, Cleared: []uint32{cleared}}} {
			u, v := new(Union), new(Union)
			u.Begin(testBase, testWidth, 2)
			v.Begin(testBase, testWidth, 1)
			if !u.AddPortable(b, int(card), c) || !v.AddPortable(b, int(card), Changes{}) || !u.AddList([]uint32{testBase, testBase + 70_000}, Changes{}) {
				continue
			}
			x, y := Leaf(u), Leaf(v)
			for op := range AndNot + 1 {
				z := Combine(op, x, y)
				_ = e.Count(z)
				_ = e.Append(nil, z)
			}
			reached := make([]uint64, 2)
			e.Prefixes([]*Expr{x, y}, reached, nil)
			Valid(b, int(card))
		}
	})
}

// BenchmarkCount counts on containers of 15 positions and on bitsets, beside
// roaring on the same bytes.
func BenchmarkCount(b *testing.B) {
	for _, density := range []struct {
		name string
		of   uint32 // one in so many
		days int
	}{{"thin", 4300, 30}, {"dense", 5, 30}} {
		width := uint(24)
		if density.of < 100 {
			width = 19
		}
		rng := rand.New(rand.NewPCG(1, 1))
		days := make([][]byte, density.days)
		for i := range days {
			set := roaring.New()
			for range 1 << width / density.of {
				set.Add(rng.Uint32N(1 << width))
			}
			days[i], _ = set.ToBytes() // into memory
		}
		for _, k := range []int{2, 7, 30} {
			b.Run(fmt.Sprintf("%s/or/%d/kernel", density.name, k), func(b *testing.B) {
				e, u := new(Evaluator), new(Union)
				for b.Loop() {
					u.Begin(0, width, k)
					for _, d := range days[:k] {
						u.AddPortable(d, cardOf(d), Changes{})
					}
					e.Count(Leaf(u))
				}
			})
			b.Run(fmt.Sprintf("%s/or/%d/roaring", density.name, k), func(b *testing.B) {
				for b.Loop() {
					maps := make([]*roaring.Bitmap, k)
					for i := range maps {
						maps[i] = roaring.New()
						_, _ = maps[i].FromUnsafeBytes(days[i]) // made above
					}
					_ = roaring.FastOr(maps...).GetCardinality()
				}
			})
		}
	}
}

func cardOf(b []byte) (n int) {
	p, _ := ParsePortable(b)
	for i := range p.N {
		n += p.Card(i)
	}
	return n
}
