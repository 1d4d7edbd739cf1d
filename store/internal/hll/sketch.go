package hll

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/axiomhq/hyperloglog"
)

// Sketch is the state of one sketch. It is the caller's, and for one goroutine;
// bytes it was decoded from are not kept.
type Sketch struct {
	p    uint8
	keys []uint32 // sparse
	regs []uint8  // dense, or nil while sparse
}

// New returns the empty sketch of a precision.
func New(p uint8) *Sketch { return &Sketch{p: p} }

// Precision returns p: a dense sketch has 1<<p registers.
func (s *Sketch) Precision() uint8 { return s.p }

// Precisions, and their standard errors.
const (
	MinPrecision     = 10 // 3.25 %
	DefaultPrecision = 14 // 0.81 %
	MaxPrecision     = 16 // 0.41 %

	sparsePrecision = 25
	sparseSlots     = 1 << sparsePrecision
)

// StdError is the standard error of dense sketches, a fraction (Flajolet, Fusy,
// Gandouet and Meunier, HyperLogLog, AofA 2007).
func StdError(p uint8) float64 { return 1.04 / math.Sqrt(float64(uint32(1)<<p)) }

// sparseKey returns what a sparse sketch keeps of a hash.
func sparseKey(hash uint64, p uint8) uint32 {
	index := uint32(hash >> (64 - sparsePrecision))
	if index&(1<<(sparsePrecision-p)-1) != 0 {
		return index << 1
	}
	zeros := min(bits.LeadingZeros64(hash<<sparsePrecision), 64-sparsePrecision)
	return index<<7 | uint32(zeros+1)<<1 | 1
}

// denseOf returns the register of a sparse key, and the least it is.
func denseOf(key uint32, p uint8) (index uint32, rho uint8) {
	if key&1 == 1 {
		return key >> (32 - p), uint8(key>>1&63) + sparsePrecision - p
	}
	rest := key << (31 - sparsePrecision + p)
	return key >> (sparsePrecision + 1 - p), uint8(bits.LeadingZeros32(rest)) + 1
}

// register returns the register of a hash, and the least it is.
func register(hash uint64, p uint8) (index uint32, rho uint8) {
	zeros := min(bits.LeadingZeros64(hash<<p), 64-int(p))
	return uint32(hash >> (64 - p)), uint8(zeros + 1)
}

// Add adds hashes, and returns how many of them changed the sketch. Cost: the
// sorting of the hashes, and the length of a sparse sketch.
func (s *Sketch) Add(hashes []uint64) (changed uint64) {
	if s.regs != nil {
		for _, h := range hashes {
			if i, rho := register(h, s.p); rho > s.regs[i] {
				s.regs[i] = rho
				changed++
			}
		}
		return changed
	}
	add := make([]uint32, len(hashes))
	for i, h := range hashes {
		add[i] = sparseKey(h, s.p)
	}
	slices.Sort(add)
	before := len(s.keys)
	s.keys = unite(s.keys, slices.Compact(add))
	changed = uint64(len(s.keys) - before)
	s.densify()
	return changed
}

// Merge adds all that another sketch of the same precision holds.
func (s *Sketch) Merge(o *Sketch) {
	switch {
	case o.regs != nil:
		if s.regs == nil {
			s.toDense()
		}
		for i, rho := range o.regs {
			s.regs[i] = max(s.regs[i], rho)
		}
	case s.regs != nil:
		s.raise(o.keys)
	default:
		s.keys = unite(s.keys, o.keys)
		s.densify()
	}
}

// unite returns the union of two ascending lists, in one of its own.
func unite(a, b []uint32) []uint32 {
	out := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch x, y := a[0], b[0]; {
		case x < y:
			out, a = append(out, x), a[1:]
		case x > y:
			out, b = append(out, y), b[1:]
		default:
			out, a, b = append(out, x), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// densify makes a sparse sketch dense where that is shorter. What a sketch is
// depends on what it holds alone, not on how that came.
func (s *Sketch) densify() {
	if len(s.keys) < 1<<s.p/5 { // a key takes five bytes at most
		return
	}
	size, last := 0, uint32(0)
	for _, k := range s.keys {
		size += (bits.Len32((k-last)|1) + 6) / 7
		last = k
	}
	if size > 1<<s.p {
		s.toDense()
	}
}

func (s *Sketch) toDense() {
	s.regs = make([]uint8, 1<<s.p)
	s.raise(s.keys)
	s.keys = nil
}

// raise raises registers to what sparse keys say.
func (s *Sketch) raise(keys []uint32) {
	for _, k := range keys {
		i, rho := denseOf(k, s.p)
		s.regs[i] = max(s.regs[i], rho)
	}
}

// Holds reports whether adding the hash would change nothing.
func (s *Sketch) Holds(hash uint64) bool {
	if s.regs != nil {
		i, rho := register(hash, s.p)
		return s.regs[i] >= rho
	}
	_, ok := slices.BinarySearch(s.keys, sparseKey(hash, s.p))
	return ok
}

// Estimate returns the estimated number of distinct hashes. That of a sparse
// sketch is linear counting in 2^25 slots: exact at 0 and 1, and off by about n²
// in 2^26 at n.
func (s *Sketch) Estimate() uint64 {
	if s.regs == nil {
		return sparseEstimate(len(s.keys))
	}
	l := s.Library()
	return l.Estimate()
}

func sparseEstimate(keys int) uint64 {
	return uint64(-sparseSlots * math.Log1p(-float64(keys)/sparseSlots))
}

// Library returns the sketch as one of the library's.
func (s *Sketch) Library() *hyperloglog.Sketch {
	kind, data := s.Encode()
	b := []byte{2, s.p, 0, 2 - kind}
	if kind == Dense {
		b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	} else {
		last := uint32(0)
		if n := len(s.keys); n > 0 {
			last = s.keys[n-1]
		}
		for _, n := range []uint32{0, uint32(len(s.keys)), last, uint32(len(data))} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
	}
	l := new(hyperloglog.Sketch)
	if err := l.UnmarshalBinary(append(b, data...)); err != nil {
		panic("hll: a sketch that the library does not take: " + err.Error()) // Decode checks as it does
	}
	return l
}

// The kinds of an encoded sketch, which stand beside its data: of a sparse one its
// keys, unsigned varints, each the distance from the one before; of a dense one its
// registers, a byte each. They are the payloads of the library's own format, version
// 2, without its lengths.
const (
	Sparse = 1
	Dense  = 2
)

// Encode returns the kind and the data. Those of a dense sketch are its own registers.
func (s *Sketch) Encode() (kind byte, data []byte) {
	if s.regs != nil {
		return Dense, s.regs
	}
	data = make([]byte, 0, 4*len(s.keys))
	last := uint32(0)
	for _, k := range s.keys {
		data = binary.AppendUvarint(data, uint64(k-last))
		last = k
	}
	return Sparse, data
}

// Decode reads a sketch, or says that the data is none. It shares nothing
// with the data.
func Decode(p uint8, kind byte, data []byte) (*Sketch, bool) {
	s := &Sketch{p: p}
	top := 64 - p + 1
	switch {
	case kind == Dense && len(data) == 1<<p:
		s.regs = slices.Clone(data)
		return s, slices.Max(data) <= top
	case kind != Sparse || len(data) > 1<<p:
		return s, false
	}
	s.keys = make([]uint32, 0, len(data)/3+1)
	last := uint64(0)
	for len(data) > 0 {
		d, n := binary.Uvarint(data)
		if n <= 0 || d == 0 || n > 1 && data[n-1] == 0 || d > math.MaxUint32-last {
			return s, false
		}
		last += d
		if _, rho := denseOf(uint32(last), p); rho > top {
			return s, false
		}
		s.keys, data = append(s.keys, uint32(last)), data[n:]
	}
	return s, true
}

// HoldsEncoded is Holds of a sketch that was not decoded; one that is no sketch
// holds nothing.
func HoldsEncoded(p uint8, kind byte, data []byte, hash uint64) bool {
	if kind == Dense {
		i, rho := register(hash, p)
		return int(i) < len(data) && data[i] >= rho
	}
	want, last := uint64(sparseKey(hash, p)), uint64(0)
	for len(data) > 0 && last < want {
		d, n := binary.Uvarint(data)
		if n <= 0 {
			return false
		}
		last, data = last+d, data[n:]
	}
	return last == want
}
