package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/depthwise"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/tensor"
)

// bands cut operations that compute each channel by itself, along H and W, into
// tiles: a band of rows of a channel, or, if they are small, several channels. What
// the rows of a tile meet of x is copied first, as float32 and with the padding.
//
// With a stride, the elements of a row are sorted by the place that meets them
// first, so that neighbouring places find theirs side by side; stride 2:
//
//	x     a b c d e f g        copy  a c e g . b d f
//	tap 0 ^   ^   ^            tap 0 ^ ^ ^
//	tap 1   ^   ^   ^          tap 1           ^ ^ ^
//	tap 2     ^   ^   ^        tap 2   ^ ^ ^
type bands struct {
	win     *window
	from    *array
	inH     int // extents of x
	inW     int
	outside float32 // what the padding is
	width   int     // of a row of x with its padding
	sorted  int     // floats from one place of the stride to the next, in a row of the copy
	row     int     // floats of a row of the copy
	shift   []int   // by tap: how far it is from the place
	kernel  *depthwise.Taps
	halves  bool // rows of x are fp16 numbers side by side, and sorted by nothing or into two parts

	count    int // channels of the result
	height   int // of the result
	perTile  int // rows of the result
	tiles    int // of a channel
	channels int // of a tile
	sets     int // of channels
	area     int // floats of the copy of a channel
}

const (
	maxTaps = 256
	maxCopy = 1 << 15 // floats of the copy of a row of the result
	copies  = 1 << 13 // floats of the copies of a tile, if it can be cut: what the first cache holds
)

// bandsFit reports whether what a row of a result meets is small enough to copy.
func bandsFit(win *window, width int) bool {
	taps := float64(win.Kernel[1]) * float64(win.Kernel[2])
	return taps > 0 && taps <= maxTaps && float64(win.reach(1, 1))*float64(win.reach(2, max(width, 1))) <= maxCopy
}

// newBands cuts a result of so many channels, rows and columns.
func newBands(win *window, x *array, inH, inW int, outside float32, channels, height, width int) bands {
	b := bands{win: win, from: x, inH: inH, inW: inW, outside: outside, count: channels, height: height}
	stride := win.Stride[2]
	b.width = win.reach(2, max(width, 1))
	b.sorted = (b.width + stride - 1) / stride
	b.row = b.sorted * min(stride, b.width)
	b.shift = make([]int, win.Kernel[1]*win.Kernel[2])
	for t := range b.shift {
		b.shift[t] = t/win.Kernel[2]*win.Dilation[1]*b.row + b.column(t%win.Kernel[2]*win.Dilation[2])
	}
	b.kernel = depthwise.NewTaps(b.shift)
	b.halves = x.typ == tensor.Float16 && x.pass == 0 && x.inRows(axisH) && x.strides[axisC] >= 0 && stride <= min(2, b.width)

	height = max(height, 1)
	for b.tiles = 1; ; b.tiles++ {
		b.perTile = tilesOf(height, b.tiles)
		if b.area = win.reach(1, b.perTile) * b.row; b.area <= copies || b.perTile == 1 {
			break
		}
	}
	b.tiles = tilesOf(height, b.perTile)
	const enough = 16 // tiles, to share among threads
	b.channels = max(1, min(copies/b.area, channels/enough))
	if b.tiles > 1 {
		b.channels = 1
	}
	b.sets = tilesOf(channels, b.channels)
	return b
}

// column is where in a row of the copy an element is.
func (b *bands) column(x int) int { return x%b.win.Stride[2]*b.sorted + x/b.win.Stride[2] }

// tile returns where tile t begins, and how many channels and rows it has.
func (b *bands) tile(t int) (o index, channels, rows int) {
	o[axisH] = t % b.tiles * b.perTile
	o[axisC] = t / b.tiles % b.sets * b.channels
	o[axisN] = t / b.tiles / b.sets
	return o, min(b.channels, b.count-o[axisC]), min(b.perTile, b.height-o[axisH])
}

// step is how many floats further the next row of the result finds what it meets.
func (b *bands) step() int { return b.win.Stride[1] * b.row }

// begin makes room for copies of rows that lie as fp16 numbers, of which nobody
// writes the padding.
func (b *bands) begin(areas []float32) {
	if b.halves {
		repeat(areas, b.outside)
	}
}

// copyHalves makes the copies of what so many rows of x, from row top on, are in so
// many channels, from i on: of rows of fp16 numbers, all at once.
func (b *bands) copyHalves(w *Scratch, areas []float32, rows, channels int, i index, top int) {
	from, to := min(max(-top, 0), rows), max(min(rows, b.inH-top), 0)
	if b.tiles > 1 { // where there was something in another band
		for c := range channels {
			area := areas[c*b.area:][:rows*b.row]
			repeat(area[:from*b.row], b.outside)
			repeat(area[max(from, to)*b.row:], b.outside)
		}
	}
	before := b.win.PadBefore[2]
	skip := max(0, -before) // elements that no place meets
	cols := min(b.inW, b.width-before) - skip
	if from >= to || cols <= 0 {
		return
	}
	i[axisH], i[axisW] = top+from, skip
	at := before + skip
	w.rows = half.Rows{
		Dst: areas, At: from*b.row + b.column(at), DstApart: b.row,
		Src: b.from.memory(w)[b.from.at(&i):], SrcApart: b.from.strides[axisH], Count: to - from, Cols: cols,
		More: channels - 1, DstPlane: b.area, SrcPlane: b.from.strides[axisC],
	}
	if b.win.Stride[2] > 1 {
		w.rows.Split = b.column(at+1) - b.column(at)
	}
	w.rows.Convert()
}

// halfRows reports whether a kernel can write the result of so many rows: fp16
// numbers side by side, with nothing to be done to them but to keep them between
// bounds. Rows are so many bytes apart.
func (s *sink) halfRows(height, width, pitch int) (b depthwise.Bounds, ok bool) {
	b, ok = depthwise.Between(s.fast.lo, s.fast.hi)
	return b, ok && s.fast.is && s.fast.other == nil && s.fast.function == nil && s.out.interleave == 1 && s.out.strides[axisW] == 2 && (pitch >= 2*width || height <= 1)
}
