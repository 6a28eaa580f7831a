package vec

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// A Planar is a pass of a planar engine over rows of fp16 numbers, NaN of which are read
// as another:
//
//	v   = (±a·Pre) op (±b), or ±a·Pre if there is no b
//	out = ReLU(v·scale + Bias)
//
// Each step is rounded to fp32. b is a row of numbers for each row, or one number for each.
type Planar struct {
	Op      PlanarOp
	A       []byte
	AApart  int    // bytes from a row to the next
	B       []byte // nil: it is one number for each row, or there is none
	BApart  int
	Scalars []float32 // of each row: b; nil: there is none
	Scales  []float32 // of each row; nil: Scale
	NegateA bool
	NegateB bool
	ReLU    bool

	None             float32 // what NaN is read as
	Pre, Scale, Bias float32
	Rows, Cols       int

	Halves []byte    // where the results go, without gaps; the others are nil
	Floats []float32 // likewise
}

// A PlanarOp is an operator.
type PlanarOp uint8

// The operators.
const (
	PlanarNone      PlanarOp = iota // there is no b
	PlanarAdd                       // a + b
	PlanarMul                       // a·b
	PlanarSquare                    // a²; there is no b
	PlanarSquareSum                 // (a + b)²
	numPlanarOps
)

// planarStep is the machine's form.
type planarStep struct {
	a       *byte
	aApart  int
	b       *byte
	bApart  int
	scalar  *float32 // nil: b are rows
	scale   *float32
	next    int // bytes from one scale to the next
	nextB   int // likewise, of scalars
	rows    int
	cols    int
	out     *byte
	size    int // bytes of a result
	op      int
	signA   uint32
	signB   uint32
	pre     float32
	bias    float32
	lo      float32
	zero    float32
	none    float32
	found   uint32  // NaN among the results
	nothing float32 // of scalars
}

// PlanarByMachine reports whether there is machine code for passes: without it, several
// passes that have some are faster.
func PlanarByMachine() bool { return fast }

// Run computes all rows, and reports whether no result is NaN: if one is, the results are
// of no use. It is for at most 1<<14 elements, since machine code cannot be preempted.
//
//go:noinline
func (p *Planar) Run() bool {
	if p.Rows <= 0 || p.Cols <= 0 {
		return true
	}
	if !fast {
		return p.plain()
	}
	if min(p.AApart, p.BApart) < 0 {
		panic("bug: rows go forward")
	}
	last := p.Rows - 1
	_ = p.A[last*p.AApart+2*p.Cols-1]
	s := planarStep{
		a: &p.A[0], aApart: p.AApart, scale: &p.Scale, rows: p.Rows, cols: p.Cols, op: int(p.Op),
		pre: p.Pre, bias: p.Bias, lo: float32(math.Inf(-1)), zero: none, none: p.None,
	}
	s.scalar = &s.nothing
	switch {
	case p.Op == PlanarNone || p.Op == PlanarSquare:
	case p.B != nil:
		_ = p.B[last*p.BApart+2*p.Cols-1]
		s.b, s.bApart, s.scalar = &p.B[0], p.BApart, nil
	default:
		_ = p.Scalars[last]
		s.scalar, s.nextB = &p.Scalars[0], 4
	}
	if p.Scales != nil {
		_ = p.Scales[last]
		s.scale, s.next = &p.Scales[0], 4
	}
	if p.NegateA {
		s.signA = 1 << 31
	}
	if p.NegateB {
		s.signB = 1 << 31
	}
	if p.ReLU {
		s.lo, s.zero = 0, 0
	}
	if p.Halves != nil {
		_ = p.Halves[2*p.Rows*p.Cols-1]
		s.out, s.size = &p.Halves[0], 2
	} else {
		_ = p.Floats[p.Rows*p.Cols-1]
		s.out, s.size = (*byte)(unsafe.Pointer(&p.Floats[0])), 4
	}
	callPlanar(&s)
	return s.found == 0
}

func (p *Planar) plain() bool {
	number := func(b []byte) float32 {
		v := half.Float(binary.LittleEndian.Uint16(b))
		if v != v {
			return p.None
		}
		return v
	}
	signed := func(v float32, negate bool) float32 {
		if negate {
			return -v
		}
		return v
	}
	numbers := true
	for r := range p.Rows {
		scale := p.Scale
		if p.Scales != nil {
			scale = p.Scales[r]
		}
		for c := range p.Cols {
			v := signed(float32(number(p.A[r*p.AApart+2*c:])*p.Pre), p.NegateA)
			var b float32
			switch {
			case p.B != nil:
				b = number(p.B[r*p.BApart+2*c:])
			case p.Scalars != nil:
				if b = p.Scalars[r]; b != b {
					b = p.None
				}
			}
			b = signed(b, p.NegateB)
			switch p.Op {
			case PlanarAdd:
				v += b
			case PlanarMul:
				v = float32(v * b)
			case PlanarSquare:
				v = float32(v * v)
			case PlanarSquareSum:
				v += b
				v = float32(v * v)
			}
			v = float32(v*scale) + p.Bias
			if p.ReLU && v <= 0 {
				v = 0
			}
			numbers = numbers && v == v
			if at := r*p.Cols + c; p.Halves != nil {
				binary.LittleEndian.PutUint16(p.Halves[2*at:], half.Bits(v))
			} else {
				p.Floats[at] = v
			}
		}
	}
	return numbers
}
