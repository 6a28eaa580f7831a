package strided

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/td"
)

// A pooler makes one value of a window; elements outside x are left out.
type pooler struct {
	start float64
	join  func(sum, v float64) float64
	end   func(sum, count float64) float64
}

// poolers is indexed by the pooling kind. The kinds that reduce channels, or
// give places, have no known meaning.
var poolers = map[td.PoolKind]pooler{
	td.PoolAvg: {0, plus, func(s, n float64) float64 { return s / max(n, 1) }},
	td.PoolMax: {math.Inf(-1), func(s, v float64) float64 { return max(s, v) }, nil},
	td.PoolMin: {math.Inf(1), func(s, v float64) float64 { return min(s, v) }, nil},
	td.PoolL1:  {0, func(s, v float64) float64 { return s + math.Abs(v) }, nil},
	td.PoolL2:  {0, plusSquare, func(s, _ float64) float64 { return math.Sqrt(s) }},
}

// pooling computes a row of windows at once, tap by tap.
type pooling struct {
	rowsOf
	window
	pooler
	kind     td.PoolKind
	sink     *sink
	x        array
	in       [td.NumAxes]int
	countPad bool
}

func bindPool(op *Op) (Kernel, error) {
	p := op.Params.(*td.Pooling)
	to, ok := poolers[p.Kind]
	if !ok {
		return nil, fmt.Errorf("what pooling kind %v computes is not known", p.Kind)
	}
	y, x := &op.Operands[0], &op.Operands[1]
	return &pooling{
		rowsOf: newRows(y.Dims, axisW), window: window{p.Window}, pooler: to, kind: p.Kind, sink: newSink(op),
		x: x.array(), in: x.Dims, countPad: p.CountPad,
	}, nil
}

func (k *pooling) Tiles() (n, grain int) {
	n, _ = k.rowsOf.Tiles()
	return n, max(1, int(1<<14/(float64(min(k.length, chunk)+1)*k.taps())))
}

// taps is the size of the window, which padding can make larger than an int.
func (k *pooling) taps() float64 {
	return float64(k.Kernel[0]) * float64(k.Kernel[1]) * float64(k.Kernel[2])
}

func (k *pooling) Need() Need { return k.sink.need().Max(Need{Float: chunk, Double: chunk}) }

func (k *pooling) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		sum, v := w.double[:n], w.float[:n]
		for j := range sum {
			sum[j] = k.start
		}
		d0, d1 := k.inside(0, i[axisD], k.in[axisD])
		h0, h1 := k.inside(1, i[axisH], k.in[axisH])
		for d := d0; d < d1; d++ {
			for h := h0; h < h1; h++ {
				k.addRow(w, sum, i, d, h)
			}
		}
		for j, s := range sum {
			if k.end != nil {
				count := k.taps()
				if !k.countPad {
					w0, w1 := k.inside(2, i[axisW]+j, k.in[axisW])
					count = float64((d1 - d0) * (h1 - h0) * (w1 - w0))
				}
				s = k.end(s, count)
			}
			v[j] = k.sink.round(s)
		}
		k.sink.put(w, v, i, axisW)
	}
}

// inside returns the taps of the window at place o that lie inside an extent.
func (win *window) inside(s, o, extent int) (lo, hi int) {
	first, step := win.under(s, o, 0), win.Dilation[s]
	if first < 0 {
		lo = (-first + step - 1) / step
	}
	if first < extent {
		hi = (extent-1-first)/step + 1
	}
	hi = min(hi, win.Kernel[s])
	return min(lo, hi), hi
}

// addRow joins what lies under the taps of one row of the windows.
func (k *pooling) addRow(w *Scratch, sum []float64, o index, d, h int) {
	i := o
	i[axisD], i[axisH], i[axisW] = k.under(0, o[axisD], d), k.under(1, o[axisH], h), 0
	row := w.float[:len(sum)]
	// Of the taps that are inside for any window of the row, the lowest is that
	// of the last window, the highest that of the first.
	first, _ := k.inside(2, o[axisW]+len(sum)-1, k.in[axisW])
	_, last := k.inside(2, o[axisW], k.in[axisW])
	for tap := first; tap < last; tap++ {
		if w.stop() {
			break
		}
		lo, hi := k.loadInside(w, row, &k.x, i, k.in[axisW], o[axisW], tap)
		k.joinRow(sum[lo:hi], row[lo:hi])
	}
}

// joinRow has loops of their own for what is frequent.
func (k *pooling) joinRow(sum []float64, row []float32) {
	sum = sum[:len(row)]
	switch k.kind {
	case td.PoolMax:
		for j, v := range row {
			sum[j] = max(sum[j], float64(v))
		}
	case td.PoolAvg:
		for j, v := range row {
			sum[j] += float64(v)
		}
	default:
		for j, v := range row {
			sum[j] = k.join(sum[j], float64(v))
		}
	}
}
