package strided

import "github.com/espalier-ane/espalier/td"

// The index of an extreme element: the first of equals, or the first NaN.

func argumentInts(op *Op) bool { return integersBut(op, 1) }

// argument finds it along an axis, for a stretch of results at once.
type argument struct {
	rowsOf
	sink         indexSink
	x            array
	order        keying
	along, count int
}

func newArgumentSink(op *Op) indexSink { return indexSink{newSink(op), argumentInts(op)} }

func newArgument(op *Op, along int, descending bool) *argument {
	y, x := &op.Operands[0], &op.Operands[1]
	k := &argument{
		sink: newArgumentSink(op), x: x.array(), order: keyingOf(x, descending, nanFirst), along: along, count: x.Dims[along],
	}
	space := y.Dims
	k.rowsOf = newRows(space, rowAxis(space, allAxes&^(1<<along), &k.sink.out))
	return k
}

func bindGlobalArgument(op *Op) (Kernel, error) {
	p := op.Params.(*td.GlobalArgMinMax)
	return newArgument(op, int(p.Axis), p.Type == td.Max), nil
}

func bindArgument(op *Op) (Kernel, error) {
	p := op.Params.(*td.ArgMinMax)
	if p.Mode.Spatial() {
		return newWindowArgument(op, p), nil
	}
	return newArgument(op, axisC, p.Mode.Extreme() == td.Max), nil
}

func (k *argument) Tiles() (n, grain int) {
	n, _ = k.rowsOf.Tiles()
	return n, max(1, 1<<13/max(1, min(k.length, chunk)*k.count))
}

func (k *argument) Need() Need {
	n := k.sink.need()
	n.Int += 3 * chunk
	return n
}

func (k *argument) Run(w *Scratch, lo, hi int) {
	buf := w.int[k.sink.need().Int:]
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		best, row, at := buf[:n], buf[chunk:][:n], buf[2*chunk:][:n]
		k.x.loadKeys(w, best, i, k.axis, k.order)
		clear(at)
		place := i
		for p := 1; p < k.count; p++ {
			if w.stop() {
				break
			}
			place[k.along] = p
			k.x.loadKeys(w, row, place, k.axis, k.order)
			for j, key := range row {
				if key < best[j] {
					best[j], at[j] = key, int64(p)
				}
			}
		}
		k.sink.putIndices(w, at, i, k.axis)
	}
}

// windowArgument finds it in windows; taps outside x are left out.
type windowArgument struct {
	rowsOf
	window
	sink  indexSink
	x     array
	in    [td.NumAxes]int
	order keying
}

func newWindowArgument(op *Op, p *td.ArgMinMax) *windowArgument {
	return &windowArgument{
		rowsOf: newRows(op.Operands[0].Dims, axisW), window: window{p.Window}, sink: newArgumentSink(op),
		x: op.Operands[1].array(), in: op.Operands[1].Dims, order: keyingOf(&op.Operands[1], p.Mode.Extreme() == td.Max, nanFirst),
	}
}

func (k *windowArgument) Tiles() (n, grain int) {
	n, _ = k.rowsOf.Tiles()
	taps := float64(k.Kernel[0]) * float64(k.Kernel[1]) * float64(k.Kernel[2])
	return n, max(1, int(1<<13/(float64(min(k.length, chunk)+1)*taps)))
}

func (k *windowArgument) Need() Need {
	n := k.sink.need()
	n.Int += chunk
	return n
}

func (k *windowArgument) Run(w *Scratch, lo, hi int) {
	buf := w.int[k.sink.need().Int:]
	src := k.x.memory(w)
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		at := buf[:n]
		place := i
		for j := range at {
			place[axisW] = i[axisW] + j
			at[j] = k.find(w, src, place)
		}
		k.sink.putIndices(w, at, i, axisW)
	}
}

// find returns the tap of the window at o, counted row by row.
func (k *windowArgument) find(w *Scratch, src []byte, o index) (at int64) {
	d0, d1 := k.inside(0, o[axisD], k.in[axisD])
	h0, h1 := k.inside(1, o[axisH], k.in[axisH])
	w0, w1 := k.inside(2, o[axisW], k.in[axisW])
	best, found := int64(0), false
	i := o
	for d := d0; d < d1; d++ {
		i[axisD] = k.under(0, o[axisD], d)
		for h := h0; h < h1; h++ {
			if w.stop() {
				break
			}
			i[axisH] = k.under(1, o[axisH], h)
			for tap := w0; tap < w1; tap++ {
				i[axisW] = k.under(2, o[axisW], tap)
				if key := k.order.key(k.x.typ, src, k.x.at(&i)); !found || key < best {
					best, found = key, true
					at = (int64(d)*int64(k.Kernel[1])+int64(h))*int64(k.Kernel[2]) + int64(tap)
				}
			}
		}
	}
	return at
}
