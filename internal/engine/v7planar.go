package engine

import (
	"github.com/espalier-ane/espalier/internal/kernel"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// The planar engine (h13 4.4): x = source 1·pre-scale, negated or not; y =
// source 2, negated or not; v = operator(x, y)·scale + bias. Types 5 and 6 then
// reduce v over the plane of each channel, and give f(v·final + epsilon).

// A planarUnit is a task of the planar engine.
type planarUnit struct {
	typ     uint32
	op      kernel.Planar
	second  operand // source 2; of type 4, the offsets
	gain    operand // of type 4
	total   int     // elements before a reduction
	planes  int     // G·C
	reduces bool
	reduce  kernel.Reduction
}

// planar binds a planar task. It returns the size of the result and the
// operands read beside source 1.
func (b *binder) planar(in, out size) (unit, size, []*operand, error) {
	for _, pair := range []struct {
		in, out int
		field   *td.Field
	}{
		{in.c, out.c, td.V7Cout}, {in.d, out.d, td.V7Dout}, {in.h, out.h, td.V7Hout}, {in.w, out.w, td.V7Wout},
	} {
		if pair.in != pair.out {
			return nil, out, nil, b.refuse(pair.field, "a planar task has an input and an output of one size, here %d", pair.in)
		}
	}
	n := &b.p.numerics
	u := &planarUnit{
		typ: b.value(td.V7TaskType),
		op: kernel.Planar{
			PreScale:            b.float(td.V7PEPreScale),
			Negate1:             b.flag(td.V7PENegate1),
			Negate2:             b.value(td.V7PESource2Sign) == 3,
			Op:                  kernel.PlanarOp(b.value(td.V7PEOperator)),
			Scale:               b.float(td.V7PEScale),
			Bias:                b.float(td.V7PEBias),
			Abs:                 b.value(td.V7PECondition) == 1,
			ReLU:                b.flag(td.V7PEReLU),
			IndeterminateToZero: n.IndeterminateToZero,
		},
		reduce: kernel.Reduction{
			Op:                  kernel.ReduceOp(b.value(td.V7PEReduction)),
			Scale:               b.float(td.V7PEFinalScale),
			Epsilon:             b.float(td.V7PEEpsilon),
			Func:                kernel.FinalFunc(b.value(td.V7PEFinal)),
			IndeterminateToZero: n.IndeterminateToZero,
		},
		planes:  in.groups * in.c,
		total:   in.groups * in.c * in.d * in.h * in.w,
		reduces: isReduction(b),
	}
	var err error
	var others []*operand
	switch u.typ {
	case td.TypePlanarGain:
		others, err = b.gain(u, in)
	case td.TypePlanarBinary, td.TypePlanarReduce2:
		u.second, err = b.source2(in)
		others = []*operand{&u.second}
	}
	if err != nil {
		return nil, out, nil, err
	}
	if isReduction(b) {
		out.d, out.h, out.w = 1, 1, 1
	}
	return u, out, others, nil
}

// gain binds source 2 of a gain task: an image of two rows of single elements,
// the offsets above the gains (h13 4.1).
func (b *binder) gain(u *planarUnit, in size) ([]*operand, error) {
	both, err := b.source2(size{in.groups, in.c, 1, 2, 1})
	if err != nil {
		return nil, err
	}
	if b.flag(td.V7Broadcast2H) {
		return nil, b.refuse(td.V7Broadcast2H, "source 2 has two rows, offsets and gains")
	}
	row := func(h int) operand {
		o := both
		for _, v := range []*kernel.View{&o.view, &o.stored} {
			v.Offset += v.Along(kernel.H, h)
			v.Dims[kernel.H] = 1
		}
		o.region = viewRegion(&o.stored)
		return o
	}
	u.second, u.gain = row(0), row(1)
	return []*operand{&u.second, &u.gain}, nil
}

func (u *planarUnit) weightElements() int64 { return 0 }

func (u *planarUnit) work() (steps, perTile float64) {
	return float64(u.total), float64(u.total / u.planes)
}

func (u *planarUnit) passes() bool { return false }

func (u *planarUnit) sweeps() (list []sweep) {
	n, plane := u.total, u.total/u.planes
	to := (*Context).resultBuffer
	if u.reduces {
		to = (*Context).sourceBuffer // reduced from there
	}
	switch u.typ {
	case td.TypePlanarBinary, td.TypePlanarReduce2:
		list = append(list, u.second.gather((*Context).secondBuffer), sweep{n, 1, func(c *Context, _ *strided.Scratch, lo, hi int) {
			kernel.PlanarTwo(to(c), c.source1, c.source2, &u.op, lo, hi)
		}})
	case td.TypePlanarGain:
		gains := func(c *Context) []float32 { return c.source2[u.planes:] }
		list = append(list, u.second.gather((*Context).secondBuffer), u.gain.gather(gains), sweep{u.planes, plane, func(c *Context, _ *strided.Scratch, lo, hi int) {
			kernel.PlanarGain(to(c), c.source1, c.source2, gains(c), plane, &u.op, lo, hi)
		}})
	default:
		list = append(list, sweep{n, 1, func(c *Context, _ *strided.Scratch, lo, hi int) {
			kernel.PlanarOne(to(c), c.source1, &u.op, lo, hi)
		}})
	}
	if u.reduces {
		list = append(list, sweep{u.planes, plane, func(c *Context, _ *strided.Scratch, lo, hi int) {
			kernel.ReducePlane(c.result, c.source1, plane, &u.reduce, lo, hi)
		}})
	}
	return list
}
