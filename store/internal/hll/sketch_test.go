package hll

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cohort/placement"

	"github.com/axiomhq/hyperloglog"
)

// FuzzDecodeSketch reads any bytes as a sketch: what is taken the library takes
// too, with the same estimate, and encodes to the same bytes.
func FuzzDecodeSketch(f *testing.F) {
	f.Add(uint8(14), byte(Sparse), []byte{1, 2, 3})
	f.Add(uint8(10), byte(Dense), make([]byte, 1<<10))
	f.Add(uint8(14), byte(Sparse), []byte{0x80, 0})
	f.Fuzz(func(t *testing.T, p uint8, kind byte, data []byte) {
		p = MinPrecision + p%(MaxPrecision-MinPrecision+1)
		s, ok := Decode(p, kind, data)
		if !ok {
			return
		}
		if k, d := s.Encode(); k != kind || !slices.Equal(d, data) {
			t.Fatalf("kind %d % x encodes to kind %d % x", kind, data, k, d)
		}
		if got, want := s.Estimate(), s.Library().Estimate(); got != want {
			t.Fatalf("estimate %d, the library's %d", got, want)
		}
		for range 3 {
			h := rand.Uint64()
			if got, want := HoldsEncoded(p, kind, data, h), s.Holds(h); got != want {
				t.Fatalf("holds %x: %v undecoded, %v decoded", h, got, want)
			}
		}
	})
}

// TestSketchIsTheLibrarys adds and merges hashes in random portions, some with
// long runs of zeros, and compares the state with the library's each time.
func TestSketchIsTheLibrarys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	hash := func() uint64 {
		h := r.Uint64()
		if r.IntN(4) == 0 {
			h &= 1<<r.IntN(64) - 1 | 0xfff<<52
		}
		if r.IntN(50) == 0 {
			h = 0
		}
		return h
	}
	for _, p := range []uint8{MinPrecision, 12, DefaultPrecision} {
		for _, most := range []int{1, 30, 5 << p / 16} {
			lib, err := hyperloglog.NewSketch(p, true)
			if err != nil {
				t.Fatal(err)
			}
			s, other := &Sketch{p: p}, &Sketch{p: p}
			for range 8 {
				hashes := make([]uint64, r.IntN(most+1))
				for i := range hashes {
					hashes[i] = hash()
					lib.InsertHash(hashes[i])
				}
				if len(hashes) < 300 && r.IntN(2) == 0 {
					for _, h := range hashes {
						held := s.Holds(h)
						if changed := s.Add([]uint64{h}); held != (changed == 0) {
							t.Fatalf("p %d: holds %x: %v, adding it changed %d", p, h, held, changed)
						}
					}
				} else {
					part := &Sketch{p: p}
					part.Add(hashes)
					before := part.Estimate()
					s.Merge(part)
					if part.Estimate() != before {
						t.Fatal("merging changed its source")
					}
				}
				other.Add(hashes)
				compareSketches(t, s, lib)
			}
			compareSketches(t, other, lib)
		}
	}
}

func compareSketches(t *testing.T, s *Sketch, lib *hyperloglog.Sketch) {
	t.Helper()
	if got, want := s.Estimate(), lib.Estimate(); got != want {
		t.Fatalf("p %d: estimate %d, the library's %d", s.p, got, want)
	}
	want, err := lib.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Library().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("p %d: the state is not the library's", s.p)
	}
	kind, data := s.Encode()
	back, ok := Decode(s.p, kind, data)
	if !ok || !slices.Equal(back.keys, s.keys) || !slices.Equal(back.regs, s.regs) {
		t.Fatalf("p %d: decoding gives another sketch", s.p)
	}
}

// TestSketchErrors compares the estimates of 200 sets of 1 to a million consecutive
// ids with their sizes, as sketches of precision 14 promise: it is the hash of ids
// and the sketches together that are tested. The sets grow from one another within
// each of ten runs of ids.
func TestSketchErrors(t *testing.T) {
	const runs, sizes, most = 10, 20, 1_000_000
	var squares, worst float64
	exact := 0
	for run := range runs {
		s := &Sketch{p: DefaultPrecision}
		if got := s.Estimate(); got != 0 {
			t.Errorf("the empty set is estimated at %d", got)
		}
		n := 0
		for i := range sizes {
			size := int(math.Round(math.Pow(most, float64(i)/(sizes-1))))
			var hashes []uint64
			for ; n < size; n++ {
				hashes = append(hashes, placement.MixSnowflake(uint64(run)<<50+uint64(n)<<12).Hash())
			}
			s.Add(hashes)
			e := math.Abs(float64(s.Estimate())/float64(size) - 1)
			squares += e * e
			worst = max(worst, e)
			if size == 1 && e == 0 {
				exact++
			}
		}
	}
	if rms := math.Sqrt(squares / (runs * sizes)); rms > 0.01 || worst > 0.035 || exact != runs {
		t.Errorf("root mean square error %.4f, worst %.4f, exact at 1: %d of %d", rms, worst, exact, runs)
	}
}
