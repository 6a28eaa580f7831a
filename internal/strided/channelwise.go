package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/depthwise"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// channelwise is a convolution of which each channel of the result is made of
// one channel of x, along H and W. There is no matrix in it: the rows of a tile are
// computed by package depthwise, from a copy of the rows of x that they meet, as
// float32 and with the padding. A tile is a band of rows of a channel, or, if they
// are small, several channels.
//
// With a stride, the elements of a row are sorted by the place that meets them
// first, so that neighbouring places find theirs side by side; stride 2:
//
//	x     a b c d e f g        copy  a c e g . b d f
//	tap 0 ^   ^   ^            tap 0 ^ ^ ^
//	tap 1   ^   ^   ^          tap 1           ^ ^ ^
//	tap 2     ^   ^   ^        tap 2   ^ ^ ^
//
// The products of a place are added up in the order of the taps.
type channelwise struct {
	*convolution
	perTile  int   // rows of the result
	tiles    int   // of a channel
	channels int   // of a tile
	sets     int   // of channels
	width    int   // of a row of x with its padding
	sorted   int   // floats from one place of the stride to the next, in a row of the copy
	row      int   // floats of a row of the copy
	area     int   // floats of the copy of a channel
	shift    []int // by tap: how far it is from the place
	kernel   *depthwise.Taps

	halves bool // rows of x are fp16 numbers side by side, and sorted by nothing or into two parts

	stored bool // rows of the result are fp16 numbers side by side, and the epilogue is but bounds
	pitch  int  // if so: bytes from row to row
	bounds depthwise.Bounds

	// scratch
	biasAt, rowAt, copyAt, resultAt, floats int
}

const (
	maxTaps = 256
	maxCopy = 1 << 15 // floats of the copy of a row of the result
	copies  = 1 << 13 // floats of the copies of a tile, if it can be cut: what the first cache holds
)

func isChannelwise(op *Op) bool {
	y, x, w, p := &op.Operands[0], &op.Operands[1], &op.Operands[2], op.Params.(*td.Convolution)
	win := window{p.Window}
	taps := w.Dims[axisH] * w.Dims[axisW]
	return p.Groups > 1 && w.Dims[axisC] == 1 && w.Dims[axisD] == 1 && taps > 0 && taps <= maxTaps &&
		x.Dims[axisD] == 1 && y.Dims[axisD] == 1 && p.PadBefore[0] == 0 &&
		float64(win.reach(1, 1))*float64(win.reach(2, max(y.Dims[axisW], 1))) <= maxCopy // a row of the result
}

func bindChannelwise(op *Op) (Kernel, error) {
	k := &channelwise{convolution: newConvolution(op), bounds: depthwise.Unbounded}
	outH, outW := max(k.out[axisH], 1), max(k.out[axisW], 1)
	stride := k.Stride[2]
	k.width = k.reach(2, outW)
	k.sorted = (k.width + stride - 1) / stride
	k.row = k.sorted * min(stride, k.width)
	k.shift = make([]int, k.taps)
	for t := range k.shift {
		var i index
		k.tap(&i, t)
		k.shift[t] = i[axisH]*k.Dilation[1]*k.row + k.column(i[axisW]*k.Dilation[2])
	}
	k.kernel = depthwise.NewTaps(k.shift)
	k.halves = k.x.typ == tensor.Float16 && k.x.pass == 0 && k.x.inRows(axisH) && stride <= min(2, k.width)
	k.bindResult()

	for k.tiles = 1; ; k.tiles++ {
		k.perTile = tilesOf(outH, k.tiles)
		if k.area = k.reach(1, k.perTile) * k.row; k.area <= copies || k.perTile == 1 {
			break
		}
	}
	k.tiles = tilesOf(outH, k.perTile)
	const enough = 16 // tiles, to share among threads
	k.channels = max(1, min(copies/k.area, k.out[axisC]/enough))
	if k.tiles > 1 {
		k.channels = 1
	}
	k.sets = tilesOf(k.out[axisC], k.channels)

	k.biasAt = k.channels * k.taps
	k.rowAt = k.biasAt + k.channels
	k.copyAt = k.rowAt + k.width
	k.resultAt = k.copyAt + k.channels*k.area
	k.floats = k.resultAt
	if !k.stored {
		k.floats += k.perTile * outW
	}
	return k, nil
}

// column is where in a row of the copy an element is.
func (k *channelwise) column(x int) int { return x%k.Stride[2]*k.sorted + x/k.Stride[2] }

// bindResult finds out whether the kernel can write the result.
func (k *channelwise) bindResult() {
	q, y := &k.sink.fast, &k.sink.out
	bounds, plain := depthwise.Between(q.lo, q.hi)
	if k.pitch = 2 * k.out[axisW]; !k.flatOut {
		k.pitch = y.strides[axisH]
	}
	if !q.is || q.other != nil || !plain || y.interleave > 1 || y.strides[axisW] != 2 || k.pitch < 2*k.out[axisW] && k.out[axisH] > 1 {
		return
	}
	k.stored, k.bounds = true, bounds
}

func (k *channelwise) Tiles() (n, grain int) {
	if k.places == 0 {
		return 0, 1
	}
	work := k.channels * k.perTile * k.out[axisW] * (k.taps + 4)
	return k.out[axisN] * k.sets * k.tiles, max(1, 1<<16/work)
}

func (k *channelwise) Need() Need { return k.sink.need().Max(Need{Float: k.floats}) }

func (k *channelwise) Run(w *Scratch, lo, hi int) {
	if k.halves { // of which nobody writes the padding
		clear(w.float[k.copyAt:k.resultAt])
	}
	for t := lo; t < hi; t++ {
		first := t % k.tiles * k.perTile
		channel := t / k.tiles % k.sets * k.channels
		o := index{axisN: t / k.tiles / k.sets, axisC: channel}
		channels := min(k.channels, k.out[axisC]-channel)
		k.tile(w, o, channels, first, min(k.perTile, k.out[axisH]-first))
	}
}

// tile computes rows of channels, from o on.
func (k *channelwise) tile(w *Scratch, o index, channels, first, rows int) {
	weights, bias := w.float[:channels*k.taps], w.float[k.biasAt:][:channels]
	k.loadWeights(w, weights, o[axisC], channels)
	if k.hasBias {
		k.bias.load(w, bias, index{axisC: o[axisC]}, axisC)
	}
	for c := range channels {
		area := w.float[k.copyAt+c*k.area:][:k.reach(1, rows)*k.row]
		k.copyRows(w, area, index{axisN: o[axisN], axisC: (o[axisC] + c) / k.outputs}, first)
	}
	p := depthwise.Plane{Step: k.Stride[1] * k.row, Rows: rows, Width: k.out[axisW], Bounds: k.bounds}
	for c := range channels {
		p.Src, p.Weights, p.Bias = w.float[k.copyAt+c*k.area:][:k.area], weights[c*k.taps:][:k.taps], depthwise.NoBias
		if k.hasBias {
			p.Bias = bias[c]
		}
		if k.stored {
			i := index{axisN: o[axisN], axisC: o[axisC] + c}
			if k.flatOut {
				i[axisW] = first * k.out[axisW]
			} else {
				i[axisH] = first
			}
			k.kernel.Halves(k.sink.out.memory(w)[k.sink.out.at(&i):], k.pitch, &p)
			continue
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

// copyRows makes the copy of what rows of the result meet, from the first on. i is
// the channel of x.
func (k *channelwise) copyRows(w *Scratch, area []float32, i index, first int) {
	top := k.under(1, first, 0) // the row of x that the copy begins with
	if k.halves {
		k.copyHalves(w, area, i, top)
		return
	}
	stride, row := k.Stride[2], w.float[k.rowAt:][:k.width]
	for r := range len(area) / k.row {
		dst := area[r*k.row:][:k.row]
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

// copyHalves is copyRows of rows of fp16 numbers, all at once.
func (k *channelwise) copyHalves(w *Scratch, area []float32, i index, top int) {
	rows := len(area) / k.row
	from, to := min(max(-top, 0), rows), max(min(rows, k.in[axisH]-top), 0)
	clear(area[:from*k.row])
	clear(area[max(from, to)*k.row:])
	before := k.PadBefore[2]
	skip := max(0, -before) // elements that no place meets
	cols := min(k.in[axisW], k.width-before) - skip
	if from >= to || cols <= 0 {
		return
	}
	i[axisH], i[axisW] = top+from, skip
	at := before + skip
	w.rows = half.Rows{
		Dst: area, At: from*k.row + k.column(at), DstApart: k.row,
		Src: k.x.memory(w)[k.x.at(&i):], SrcApart: k.x.strides[axisH], Count: to - from, Cols: cols,
	}
	if k.Stride[2] > 1 {
		w.rows.Split = k.column(at+1) - k.column(at)
	}
	w.rows.Convert()
}
