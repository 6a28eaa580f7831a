package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// A planarPass is the planar engine in one pass over memory: rows of fp16 numbers that lie
// side by side, with rows of a second source or one number of it for each row. Rows with a
// result that is NaN are left to others, who know what rules say.
type planarPass struct {
	vec.Planar
	a, b   *mover // b is nil if there is none, or gains
	single bool   // b has one number for each row
	row    int    // elements
	plane  int    // gains: elements of a channel
	apart  bool   // results may be written before it is known whether one is NaN
}

// newPlanarPass is nil if there is no way to do it so.
func newPlanarPass(u *Unit, p *planar, order [td.NumAxes]int) *planarPass {
	if !vec.PlanarByMachine() || p.abs {
		return nil
	}
	k := &planarPass{a: u.source1By(order), apart: u.Apart, Planar: vec.Planar{
		NegateA: p.negate1, NegateB: p.negate2, ReLU: p.relu, Pre: p.preScale, Scale: p.scale, Bias: p.bias,
	}}
	if !k.takes(k.a) {
		return nil
	}
	if k.None = infinity; k.a.pass&passFinite != 0 {
		k.None = half.Max
	}
	switch {
	case u.Gains != nil:
		k.plane = u.In.D * u.In.H * u.In.W
		k.Op, k.single, k.row = vec.PlanarAdd, true, k.plane
		if p.scale != 1 || k.a.axes[0].step != 2 || k.a.axes[0].n%k.plane != 0 {
			return nil
		}
		return k
	case u.Source2 != nil:
		switch p.operator {
		case units.PlanarAdd:
			k.Op = vec.PlanarAdd
		case units.PlanarMultiply:
			k.Op = vec.PlanarMul
		case units.PlanarSquare:
			k.Op = vec.PlanarSquareSum
		default:
			return nil
		}
		k.b = newMoverBy(u.Source2, u.reading(2), denseDims{u.Groups, u.In}, order)
		if !k.takes(k.b) || k.a.pass != k.b.pass {
			return nil
		}
		if k.a.axes[0].step == 0 && p.preScale == 1 { // which is which does not matter
			k.a, k.b = k.b, k.a
			k.NegateA, k.NegateB = k.NegateB, k.NegateA
		}
		k.single = k.b.axes[0].step == 0
		k.row = min(k.a.axes[0].n, k.b.axes[0].n)
	default:
		if k.row = k.a.axes[0].n; p.operator == units.PlanarSquare {
			k.Op = vec.PlanarSquare
		}
	}
	const short = 16
	if k.a.axes[0].step != 2 || k.row < short {
		return nil
	}
	return k
}

// newCopyPass is the pass of a copy, with ReLU or without, nil if there is more to it.
func newCopyPass(u *Unit, out *arrayOutput, order [td.NumAxes]int) *planarPass {
	p := planar{preScale: 1, scale: 1, bias: float32(math.Copysign(0, -1))} // which changes nothing
	if out != nil {
		if p.relu = out.relu; *out != (arrayOutput{scale: 1, relu: out.relu}) {
			return nil
		}
	}
	return newPlanarPass(u, &p, order)
}

// takes reports whether an operand may be read so.
func (k *planarPass) takes(m *mover) bool {
	return m.halves && m.pass&^passFinite == passNaN && (m.axes[0].step == 2 || m.axes[0].step == 0)
}

// rowsAt is where a row begins, how many bytes the next is from it, and for how many
// that holds. Rows have so many elements.
func (m *mover) rowsAt(at, row int) (off, apart, count int) {
	in, next := &m.axes[0], &m.axes[1]
	r, first := at/in.n, at%in.n
	if off = m.row(r) + first*in.step; in.n == row {
		apart, count = next.step, next.n-r%next.n
	} else {
		apart, count = row*in.step, (in.n-first)/row
	}
	if apart < 0 {
		return off, 0, 1
	}
	return off, apart, count
}

// next prepares some of the elements from lo to hi, and returns how many.
func (k *planarPass) next(w *Scratch, p *vec.Planar, lo, hi int) int {
	*p = k.Planar
	first := lo % k.row
	rows := 1
	if p.Cols = min(hi-lo, k.row-first); p.Cols == k.row {
		rows = (hi - lo) / k.row
	}
	offA, apartA, n := k.a.rowsAt(lo-first, k.row)
	rows = min(rows, n)
	p.A, p.AApart = k.a.memory(w)[offA+2*first:], apartA
	switch {
	case k.plane > 0:
		c, all := lo/k.plane, k.a.dims.groups*k.a.dims.C
		p.Scalars, p.Scales = w.Dense.Source2[c:all], w.Dense.Source2[all+c:]
	case k.b != nil:
		off, apart, n := k.b.rowsAt(lo-first, k.row)
		rows = min(rows, n)
		if !k.single {
			p.B, p.BApart = k.b.memory(w)[off+2*first:], apart
			break
		}
		p.Scalars = w.float[:rows]
		readRow(w, p.Scalars, k.b.memory(w), off, apart)
	}
	p.Rows = rows
	return rows * p.Cols
}

// elements makes elements of the result, at most moveBlock: those that it cannot, others
// do.
func (k *planarPass) elements(w *Scratch, to *mover, lo, hi int, slowly func(lo, hi int)) {
	p := &w.planar
	for lo < hi {
		n := k.next(w, p, lo, hi)
		if k.apart && to.axes[0].step == 2 {
			if off, side := to.part(lo, n); side == n { // all of it lies side by side
				if p.Halves = to.memory(w)[off:]; !p.Run() {
					slowly(lo, lo+n)
				}
				lo += n
				continue
			}
		}
		p.Halves = w.decoded
		if p.Run() {
			to.put(w, w.decoded[:2*n], lo)
		} else {
			slowly(lo, lo+n)
		}
		lo += n
	}
}

// floats likewise makes floats.
func (k *planarPass) floats(w *Scratch, dst []float32, lo, hi int, slowly func(lo, hi int)) {
	p := &w.planar
	for lo < hi {
		n := k.next(w, p, lo, hi)
		p.Floats = dst
		if !p.Run() {
			slowly(lo, lo+n)
		}
		dst, lo = dst[n:], lo+n
	}
}
