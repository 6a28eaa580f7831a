package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/depthwise"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// poolMax takes the greatest of windows along H and W, of fp16 numbers side by side, by
// package depthwise: a band of rows of a channel at a time. Padding is -infinity,
// which is never the greatest, unless there is nothing else.
type poolMax struct {
	bands
	window window
	x      array
	sink   *sink
	bounds depthwise.Bounds
	batch  int
	cols   int // of the result
}

// poolsMax reports whether a pooling is one.
func poolsMax(op *Op) bool {
	p, y, x := op.Params.(*td.Pooling), &op.Operands[0], &op.Operands[1]
	win := window{p.Window}
	if p.Kind != td.PoolMax || win.Kernel[0] != 1 || win.PadBefore[0] != 0 || win.Stride[2] > 2 ||
		x.Type != tensor.Float16 || x.pass != 0 || x.Dims[axisD] != 1 || y.Dims[axisD] != 1 || !bandsFit(&win, y.Dims[axisW]) {
		return false
	}
	s := newSink(op)
	_, ok := s.halfRows(y.Dims[axisH], y.Dims[axisW], s.out.strides[axisH])
	from := x.array()
	return ok && from.inRows(axisH) && win.Stride[2] <= win.reach(2, max(y.Dims[axisW], 1))
}

func bindPoolMax(op *Op) (Kernel, error) {
	y, x := &op.Operands[0], &op.Operands[1]
	k := &poolMax{window: window{op.Params.(*td.Pooling).Window}, x: x.array(), sink: newSink(op), batch: y.Dims[axisN], cols: y.Dims[axisW]}
	k.bounds, _ = k.sink.halfRows(y.Dims[axisH], y.Dims[axisW], k.sink.out.strides[axisH])
	k.bands = newBands(&k.window, &k.x, x.Dims[axisH], x.Dims[axisW], -infinity, y.Dims[axisC], y.Dims[axisH], y.Dims[axisW])
	return k, nil
}

func (k *poolMax) Tiles() (n, grain int) {
	if k.height == 0 || k.cols == 0 {
		return 0, 1
	}
	work := k.channels * k.perTile * k.cols * (len(k.shift) + 4)
	return k.batch * k.sets * k.tiles, max(1, 1<<16/work)
}

func (k *poolMax) Need() Need { return Need{Float: k.channels * k.area} }

func (k *poolMax) Run(w *Scratch, lo, hi int) {
	k.begin(w.float[:k.channels*k.area])
	for t := lo; t < hi; t++ {
		o, channels, rows := k.tile(t)
		from := index{axisN: o[axisN], axisC: o[axisC]}
		k.copyHalves(w, w.float[:channels*k.area], k.window.reach(1, rows), channels, from, k.window.under(1, o[axisH], 0))
		p := depthwise.Plane{Max: true, Step: k.step(), Rows: rows, Width: k.cols, Bias: depthwise.NoBias, Bounds: k.bounds}
		for c := range channels {
			p.Src = w.float[c*k.area:][:k.area]
			k.kernel.Halves(k.sink.out.memory(w)[k.sink.out.at(&o):], k.sink.out.strides[axisH], &p)
			o[axisC]++
		}
	}
}
