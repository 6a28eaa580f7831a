package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Operations of the array and of the planar engine. What they read becomes dense
// arrays of floats, and what they compute is dense, too:
//
//	memory ─ load ─ source 1 ─┐
//	memory ─ load ─ source 2 ─┼─ unit ─ result ─ store ─ memory
//	memory ─ load ─ weights ──┘
//
// A bound operation is several kernels, one after the other. Where an element of
// the result is made of the same element of each source, one kernel does all of
// it, some elements at a time. The axes of the dense arrays are groups, channels,
// depth, rows and columns.

// A Unit is an operation to be bound, with its operands in their places. Operands
// have extent 1 where they broadcast.
type Unit struct {
	*units.Op

	Source1, Result Operand
	Source2         *Operand // of a gain: the offsets
	Gains           *Operand // of a gain
	Kept            *Operand // where source 1 stays on chip, too
	Apart           bool     // the result shares no memory with what is read

	Weights *Weights        // constant ones; nil: none
	Runtime *RuntimeWeights // those that are made at run time; nil: none
	Table   *Activation     // nil: none

	Rules *Rules
	Packs *Packs
	Gemm  *gemm.Row
}

// Buffers are the dense arrays of an operation under way. All threads that work
// on it share them.
type Buffers struct{ Source1, Source2, Result, Weights []float32 }

// RuntimeWeights are weights that another operation, or the caller, has put in
// memory: fp16 numbers.
type RuntimeWeights struct {
	Memory int
	First  []int // byte of the first weight of each output, all groups counted
	Stride int   // bytes from one weight to the next
}

// A BoundUnit is an operation that is bound: kernels, to be run one after the
// other.
type BoundUnit struct {
	Kernels []Kernel

	// First says that all of the sources is read before anything of the result is
	// written, Over that the result may lie on a source, element on element.
	First, Over bool

	// What it computes beside reading and writing: the steps, and those of a tile.
	Steps, PerTile float64
}

// BindUnit binds an operation. Its operands must lie inside their memories, and
// it must be one that units.Op.Check has nothing against.
func BindUnit(u *Unit) *BoundUnit {
	b := new(BoundUnit)
	if u.Kept != nil {
		b.add(newKeeper(u))
	}
	if u.Planar {
		b.bindPlanar(u)
	} else {
		b.bindArray(u)
	}
	return b
}

func (b *BoundUnit) add(k ...Kernel) { b.Kernels = append(b.Kernels, k...) }

// reading is what happens to a source as it is read.
func (u *Unit) reading(source int) passage {
	var p passage
	if source == 1 && u.ReLU1 || source == 2 && u.ReLU2 {
		p |= passReLU
	}
	if u.Rules == nil {
		return p
	}
	if u.Rules.NaNToInf {
		// Sums that stay on chip as those of a layer normalization do are its mean
		// and its variance, or lead to them.
		if p |= passNaN; u.WideResult && u.Reduction == units.ReduceSum {
			p |= passFinite
		}
	}
	if source == 1 && u.sums() && u.Rules.FlushArraySubnormals {
		p |= passFlush
	}
	return p
}

// sums reports whether an operation of the array goes through the accumulator and
// its port. A single input without weights is no sum, as rsqrt has it.
func (u *Unit) sums() bool {
	return !u.Planar && u.Operation == units.MultiplyAdd && !(u.single() && u.Unity)
}

// single reports whether an output is one product, in unicast, which convolutions
// have and no linear layer.
func (u *Unit) single() bool { return u.Unicast*u.Window.KH*u.Window.KW == 1 }

func (b *Buffers) source1() []float32 { return b.Source1 }
func (b *Buffers) source2() []float32 { return b.Source2 }

// sweepGrain is how many steps are worth a thread.
const sweepGrain = 1 << 14

// A sweep is a kernel of n tiles that have about so many steps each.
type sweep struct {
	n, steps int
	run      func(w *Scratch, lo, hi int)
	scratch  Need
}

func (k *sweep) Tiles() (n, grain int)      { return k.n, max(1, sweepGrain/max(1, k.steps)) }
func (k *sweep) Need() Need                 { return k.scratch }
func (k *sweep) Run(w *Scratch, lo, hi int) { k.run(w, lo, hi) }

// denseDims are the extents of a dense array.
type denseDims struct {
	groups int
	units.Size
}

// rows is the number of rows along W.
func (d denseDims) rows() int { return d.groups * d.C * d.D * d.H }

// place is where row i begins in an operand.
func (d denseDims) place(i int) (at index) {
	at[axisH] = i % d.H
	i /= d.H
	at[axisD] = i % d.D
	i /= d.D
	at[axisC], at[axisN] = i%d.C, i/d.C
	return at
}

// newLoader reads an operand into a dense array.
func newLoader(o *Operand, p passage, d denseDims, to func(*Buffers) []float32) Kernel {
	from := newMover(o, p, d)
	return &sweep{from.elements(), 1, func(w *Scratch, lo, hi int) {
		dst := to(w.Dense)
		inBlocks(lo, hi, func(lo, hi int) { from.read(w, dst[lo:hi], lo) })
	}, from.need()}
}

// source1 is what reads source 1, in the order of its dense array.
func (u *Unit) source1() *mover { return u.source1By(denseOrder) }

// source1By is source1 in another order of axes.
func (u *Unit) source1By(order [td.NumAxes]int) *mover {
	return newMoverBy(&u.Source1, u.reading(1), denseDims{u.Groups, u.In}, order)
}

// newKeeper copies source 1 to where it is kept. What is repeated is kept once.
func newKeeper(u *Unit) Kernel {
	to, from := u.Kept.array(), u.Source1.array()
	dims := u.Source1.Dims
	d := denseDims{dims[axisN], units.Size{W: dims[axisW], H: dims[axisH], D: dims[axisD], C: dims[axisC]}}
	return &sweep{d.rows(), d.W, func(w *Scratch, lo, hi int) {
		for i := lo; i < hi; i++ {
			at := d.place(i)
			moveRow(w, &to, at, &from, at, axisW, d.W)
		}
	}, Need{}}
}

// newStorer rounds the result and writes it.
func newStorer(u *Unit) Kernel {
	to := u.result()
	return &sweep{to.elements(), 1, func(w *Scratch, lo, hi int) {
		inBlocks(lo, hi, func(lo, hi int) { to.write(w, w.Dense.Result[lo:hi], lo) })
	}, to.need()}
}

// result is what rounds the result and writes it.
func (u *Unit) result() *mover { return u.resultBy(denseOrder) }

// resultBy is result in another order of axes.
func (u *Unit) resultBy(order [td.NumAxes]int) *mover {
	var p passage
	switch r := u.Rules; {
	case !u.Result.Type.IsFloat():
		p |= passByte
	case r != nil:
		if r.NaNToInf {
			p |= passNaN
		}
		if !r.RoundHalfEven {
			p |= passAway
		}
	}
	return newMoverBy(&u.Result, p, denseDims{u.Groups, u.ResultSize()}, order)
}

// newWeightLoader reads weights that are made at run time.
func newWeightLoader(r *RuntimeWeights, count int, p passage) Kernel {
	lanes := r.lanes()
	return &sweep{len(r.First) / lanes, count * lanes, func(w *Scratch, lo, hi int) {
		for o := lo * lanes; o < hi*lanes; o += lanes {
			rows := w.Dense.Weights[o*count:][:lanes*count]
			if lanes == 1 {
				readRow(w, rows, w.Memory[r.Memory], r.First[o], r.Stride)
			} else {
				half.Transpose(w.decoded, 2*count, w.Memory[r.Memory][r.First[o]:], r.Stride, count, lanes)
				if p&^passFlush == passNaN {
					half.FloatsFlushed(rows, w.decoded, p&passFlush != 0)
					continue
				}
				half.Floats(rows, w.decoded)
			}
			p.apply(rows)
		}
	}, Need{Decoded: 2 * max(min(count, moveBlock), lanes*count)}}
}

// lanes is how many outputs lie side by side, all over: 8, or 1.
func (r *RuntimeWeights) lanes() int {
	const lanes = 8
	if r.Stride <= 0 || len(r.First)%lanes != 0 {
		return 1
	}
	for o, first := range r.First {
		if first != r.First[o/lanes*lanes]+2*(o%lanes) {
			return 1
		}
	}
	return lanes
}
