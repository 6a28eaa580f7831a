package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/depthwise"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
)

// channelwise is a convolution of which each channel of the result is made of
// one channel of x, along H and W. There is no matrix in it: a band of rows is
// computed by package depthwise, the products of a place added up in the order of
// the taps.
type channelwise struct {
	*convolution
	bands

	stored bool // the kernel writes the result
	pitch  int  // if so: bytes from row to row
	bounds depthwise.Bounds

	biasAt, rowAt, copyAt, resultAt, end int // scratch: after the weights
}

func isChannelwise(op *Op) bool {
	y, x, w, p := &op.Operands[0], &op.Operands[1], &op.Operands[2], op.Params.(*td.Convolution)
	return p.Groups > 1 && w.Dims[axisC] == 1 && w.Dims[axisD] == 1 &&
		x.Dims[axisD] == 1 && y.Dims[axisD] == 1 && p.PadBefore[0] == 0 && bandsFit(&window{p.Window}, y.Dims[axisW])
}

func bindChannelwise(op *Op) (Kernel, error) {
	k := &channelwise{convolution: newConvolution(op), bounds: depthwise.Unbounded}
	height, width := k.out[axisH], k.out[axisW]
	k.bands = newBands(&k.window, &k.x, k.in[axisH], k.in[axisW], 0, k.out[axisC], height, width)
	if k.pitch = 2 * width; !k.flatOut {
		k.pitch = k.sink.out.strides[axisH]
	}
	if b, ok := k.sink.halfRows(height, width, k.pitch); ok && k.careful == nil && k.sink.out.strides[axisC] >= 0 {
		k.stored, k.bounds = true, b
	}
	k.biasAt = k.channels * k.taps
	k.rowAt = k.biasAt + k.channels
	k.copyAt = k.rowAt + k.bands.width
	k.resultAt = k.copyAt + k.channels*k.area
	k.end = k.resultAt
	if !k.stored {
		k.end += k.perTile * width
	}
	return k, nil
}

func (k *channelwise) Tiles() (n, grain int) {
	if k.places == 0 {
		return 0, 1
	}
	work := k.channels * k.perTile * k.out[axisW] * (k.taps + 4)
	return k.out[axisN] * k.sets * k.bands.tiles, max(1, 1<<16/work)
}

func (k *channelwise) Need() Need { return k.sink.need().Max(Need{Float: k.end}) }

func (k *channelwise) Run(w *Scratch, lo, hi int) {
	k.begin(w.float[k.copyAt:k.resultAt])
	for t := lo; t < hi; t++ {
		k.run(w, t)
	}
}

// run computes a tile.
func (k *channelwise) run(w *Scratch, t int) {
	o, channels, rows := k.tile(t)
	first := o[axisH]
	weights, bias := w.float[:channels*k.taps], w.float[k.biasAt:][:channels]
	k.loadWeights(w, weights, o[axisC], channels)
	if k.hasBias {
		k.bias.load(w, bias, index{axisC: o[axisC]}, axisC)
	}
	areas, met, top := w.float[k.copyAt:][:channels*k.area], k.reach(1, rows), k.under(1, first, 0)
	if k.halves && k.outputs == 1 {
		k.copyHalves(w, areas, met, channels, index{axisN: o[axisN], axisC: o[axisC]}, top)
	} else {
		for c := range channels {
			k.copyRows(w, areas[c*k.area:][:met*k.bands.row], index{axisN: o[axisN], axisC: (o[axisC] + c) / k.outputs}, top)
		}
	}
	p := depthwise.Plane{Step: k.step(), Rows: rows, Width: k.out[axisW], Bounds: k.bounds}
	if k.stored {
		p.Src, p.Weights, p.Bias = areas, weights, depthwise.NoBias
		if !k.hasBias {
			bias = nil
		}
		i := index{axisN: o[axisN], axisC: o[axisC]}
		if k.flatOut {
			i[axisW] = first * k.out[axisW]
		} else {
			i[axisH] = first
		}
		k.kernel.HalvesOf(channels, k.sink.out.memory(w)[k.sink.out.at(&i):], k.pitch, k.sink.out.strides[axisC], k.area, &p, bias)
		return
	}
	for c := range channels {
		p.Src, p.Weights, p.Bias = w.float[k.copyAt+c*k.area:][:k.area], weights[c*k.taps:][:k.taps], depthwise.NoBias
		if k.hasBias {
			p.Bias = bias[c]
		}
		k.put(w, &p, index{axisN: o[axisN], axisC: o[axisC] + c}, first)
	}
}

// put computes rows of a channel and hands them on.
func (k *channelwise) put(w *Scratch, p *depthwise.Plane, o index, first int) {
	sums := w.float[k.resultAt:][:p.Rows*p.Width]
	bias := p.Bias
	if k.careful != nil { // it looks at the sums without the bias
		p.Bias = depthwise.NoBias
	}
	k.kernel.Floats(sums, p.Width, p)
	if k.careful != nil {
		for r := range p.Rows {
			k.careful.reviewRow(sums[r*p.Width:][:p.Width], p.Src[r*p.Step:], p.Weights, k.shift, bias)
		}
		vec.Plus(sums, bias)
	}
	for at := 0; at < len(sums); at += chunk {
		k.putPlaces(w, sums[at:], 0, 1, min(chunk, len(sums)-at), nil, o, first*p.Width+at)
	}
}

// loadWeights reads those of channels.
func (k *channelwise) loadWeights(w *Scratch, dst []float32, channel, channels int) {
	if k.isFlat && k.w.strides[axisN] == k.taps*k.flatW {
		k.w.read(dst, k.w.memory(w), k.w.at(&index{axisN: channel}), k.flatW)
		return
	}
	for c := range channels {
		k.channel(w, dst[c*k.taps:][:k.taps], channel+c, 0)
	}
}

// copyRows makes the copy of what rows of the result meet, from row top of x on. i is
// the channel of x.
func (k *channelwise) copyRows(w *Scratch, area []float32, i index, top int) {
	if k.halves {
		k.copyHalves(w, area, len(area)/k.bands.row, 1, i, top)
		return
	}
	stride, row := k.Stride[2], w.float[k.rowAt:][:k.bands.width]
	for r := range len(area) / k.bands.row {
		dst := area[r*k.bands.row:][:k.bands.row]
		i[axisH] = top + r
		if stride == 1 {
			k.loadRow(w, dst, i)
			continue
		}
		k.loadRow(w, row, i)
		for s := range min(stride, len(row)) {
			to := dst[s*k.sorted:][:k.sorted]
			n := 0
			for at := s; at < len(row); at += stride {
				to[n] = row[at]
				n++
			}
		}
	}
}
