package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
)

// channelwise is a convolution of which each channel of the result is made of
// one channel of x, along H and W. There is no matrix in it: a row of the result
// is computed many places at a time, tap by tap, from a copy of the rows of x
// that it meets, as float32 and with the padding.
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
	width    int   // of a row of x with its padding
	sorted   int   // floats from one place of the stride to the next, in a row of the copy
	row      int   // floats of a row of the copy
	shift    []int // by tap: how far it is from the place
	copyAt   int   // scratch: where the copy begins, after the weights
	resultAt int   // the rows of the result
	floats   int
}

const (
	maxTaps = 256
	maxCopy = 1 << 15 // floats of the copy of a tile
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
	k := &channelwise{convolution: newConvolution(op)}
	outH, outW := max(k.out[axisH], 1), max(k.out[axisW], 1)
	stride := k.Stride[2]
	k.width = k.reach(2, outW)
	k.sorted = (k.width + stride - 1) / stride
	k.row = k.sorted * min(stride, k.width)
	k.shift = make([]int, k.taps)
	for t := range k.shift {
		var i index
		k.tap(&i, t)
		column := i[axisW] * k.Dilation[2]
		k.shift[t] = i[axisH]*k.Dilation[1]*k.row + column%stride*k.sorted + column/stride
	}
	for k.perTile = outH; k.perTile > 1 && (k.reach(1, k.perTile)*k.row > maxCopy || k.perTile*outW > chunk); {
		k.perTile = (k.perTile + 1) / 2
	}
	k.tiles = tilesOf(outH, k.perTile)
	k.copyAt = maxTaps + k.width
	k.resultAt = k.copyAt + k.reach(1, k.perTile)*k.row
	k.floats = k.resultAt + k.perTile*outW
	return k, nil
}

func (k *channelwise) Tiles() (n, grain int) {
	if k.places == 0 {
		return 0, 1
	}
	work := k.perTile * k.out[axisW] * (k.taps + 4)
	return k.out[axisN] * k.out[axisC] * k.tiles, max(1, 1<<15/work)
}

func (k *channelwise) Need() Need { return k.sink.need().Max(Need{Float: k.floats}) }

func (k *channelwise) Run(w *Scratch, lo, hi int) {
	weights, row := w.float[:k.taps], w.float[maxTaps:][:k.width]
	area, result := w.float[k.copyAt:k.resultAt], w.float[k.resultAt:]
	outW := k.out[axisW]
	for t := lo; t < hi; t++ {
		first := t % k.tiles * k.perTile
		rows := min(k.perTile, k.out[axisH]-first)
		channel := t / k.tiles % k.out[axisC]
		o := index{axisN: t / k.tiles / k.out[axisC], axisC: channel}
		k.channel(w, weights, channel, 0)
		k.copyRows(w, area, row, index{axisN: o[axisN], axisC: channel / k.outputs}, first, rows)
		bias := row[:1]
		bias[0] = 0
		if k.hasBias {
			k.bias.load(w, bias, index{axisC: channel}, axisC)
		}
		for r := range rows {
			vec.Taps(result[r*outW:][:outW], area[r*k.Stride[1]*k.row:], weights, k.shift)
			if k.careful != nil {
				k.careful.reviewRow(result[r*outW:][:outW], area[r*k.Stride[1]*k.row:], weights, k.shift, bias[0])
			}
		}
		sums := result[:rows*outW]
		if k.hasBias {
			vec.Plus(sums, bias[0])
		}
		for p := 0; p < len(sums); p += chunk {
			k.putPlaces(w, sums[p:], 0, 1, min(chunk, len(sums)-p), nil, o, first*outW+p)
		}
	}
}

// copyRows makes the copy of what rows of the result meet.
func (k *channelwise) copyRows(w *Scratch, area, row []float32, i index, first, rows int) {
	stride := k.Stride[2]
	for r := range k.reach(1, rows) {
		dst := area[r*k.row:][:k.row]
		i[axisH] = k.under(1, first, 0) + r
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
