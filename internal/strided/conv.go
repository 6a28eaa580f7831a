package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// convolution is a product of matrices: its rows are output channels, its
// columns places of the result, and it adds up over input channels and kernel.
type convolution struct {
	window
	sink       *sink
	x, w, bias array
	hasBias    bool
	packedBias packed
	in         [td.NumAxes]int // extents of x
	out        [td.NumAxes]int // extents of the result
	groups     int
	inputs     int // channels of a group
	outputs    int // channels of a group that it makes
	flatW      int // distance of the weights of a channel, if they have one
	isFlat     bool
	taps       int // of a kernel
	places     int // of the result, along D, H and W
	flatOut    bool
	lies       bool        // the weights are read as they lie
	coded      *codedLines // that the weights were made of, to be read instead; nil: the weights
	product                // of the weights and what lies under them
	cut        cuts        // of a group
	staged     int         // floats of scratch, after the product's, that the right side takes
}

func bindConv(op *Op) (Kernel, error) {
	k := newConvolution(op)
	var under factors = (*convUnder)(k)
	if s := newStage(k); s != nil {
		under, k.staged = s, s.floats
	}
	k.multiplyWith(op, under)
	return k, nil
}

// newConvolution binds all of a convolution but the product.
func newConvolution(op *Op) *convolution {
	y, x, w, p := &op.Operands[0], &op.Operands[1], &op.Operands[2], op.Params.(*td.Convolution)
	k := &convolution{
		window: window{p.Window}, sink: newSink(op),
		x: x.array(), w: w.array(), in: x.Dims, out: y.Dims,
		groups: p.Groups,
		inputs: w.Dims[axisC], outputs: w.Dims[axisN] / p.Groups,
		taps:   w.Dims[axisD] * w.Dims[axisH] * w.Dims[axisW],
		places: y.Dims[axisD] * y.Dims[axisH] * y.Dims[axisW],
	}
	if len(op.Operands) > 3 && op.Operands[3].Present() {
		k.bias, k.hasBias = op.Operands[3].array(), true
		if op.Operands[3].Dims[axisC] == y.Dims[axisC] {
			k.packedBias = op.Packs.addVector(&op.Operands[3])
		}
	}
	// The weights of an output channel are one row if their axes merge.
	flat := w.Dims
	flat[axisN] = 1
	weights := k.w
	merge(&flat, allAxes, &weights)
	// Memory has D outside C, the sum C outside D.
	if flat[axisW] == k.inputs*k.taps && (k.inputs == 1 || w.Dims[axisD] == 1) {
		k.isFlat, k.flatW = true, weights.strides[axisW]
	}
	// So are the places of the result, for everything that the sink touches.
	k.flatOut = flattenPlaces(k.sink, y.Dims)
	k.n = k.inputs * k.taps
	k.careful = op.Rules.careful(k.n)
	if a := k.sink.arrival; a != nil && k.n == 1 {
		a.port = 0 // one product is no sum
	}
	k.row = op.gemmRow(k.outputs, anyLines, k.n)
	if k.isFlat && k.flatW == sizeOf(w.Type) {
		k.coded = op.codedFor(2, k.row, &k.row.A, false, k.groups, k.outputs, k.n)
	}
	if _, direct := (*convWeights)(k).elem(); k.coded == nil && direct {
		k.lies = op.Packs.leaves(w)
	}
	lasts := k.coded == nil && !k.lies || fitsWhole(&k.row.A, k.groups, k.outputs, k.n)
	k.cut = newCuts(k.row, k.outputs, k.places, y.Dims[axisN]*k.groups, k.n, k.taps > 1, lasts)
	k.tileRows, k.tileCols = k.cut.tileRows, k.cut.tileCols
	return k
}

// multiplyWith binds the product with what lies under the weights.
func (k *convolution) multiplyWith(op *Op, under factors) {
	var weights factors = (*convWeights)(k)
	if k.coded != nil {
		weights = k.coded
	}
	k.product = newProduct(k.row, weights, under, k.n, k.careful, k.tileRows, k.tileCols)
	if k.coded != nil {
		k.decoded = k.coded.need(k.tileRows, k.row.Depth)
	}
	if k.coded != nil || k.lies {
		k.left.keepWhole(k.out[axisN]*k.cut.strips, k.groups, k.outputs, k.n)
	} else {
		k.left.packed = op.Packs.add(&op.Operands[2], packConv, &k.left, k.row.Depth, k.groups, k.outputs, k.n)
	}
	k.keep(true)
}

// flattenPlaces makes one axis, W, of D, H and W in all that a sink touches, if
// each of its operands walks over them at one distance.
func flattenPlaces(s *sink, dims [td.NumAxes]int) bool {
	for _, a := range s.arrays() {
		if _, flat := a.placeStride(dims); !flat {
			return false
		}
	}
	for _, a := range s.arrays() {
		a.strides[axisW], _ = a.placeStride(dims)
	}
	return true
}

// placeStride is the one distance at which an array walks over the places along
// D, H and W, if there is one.
func (a *array) placeStride(dims [td.NumAxes]int) (stride int, flat bool) {
	span := 0
	for _, x := range [...]int{axisW, axisH, axisD} {
		switch {
		case dims[x] == 1:
		case span == 0:
			stride, span = a.strides[x], dims[x]
		case a.strides[x] != stride*span:
			return 0, false
		default:
			span *= dims[x]
		}
	}
	return stride, true
}

func (k *convolution) Tiles() (n, grain int) {
	return k.out[axisN] * k.groups * k.cut.strips * k.cut.sections, k.cut.grain
}

func (k *convolution) Need() Need {
	n := k.product.need()
	n.Float += k.staged + k.tileRows
	n.Int = k.tileCols
	return k.sink.need().Max(n)
}

func (k *convolution) Run(w *Scratch, lo, hi int) {
	w.begins()
	for t := lo; t < hi; t++ {
		rest := t
		row, end := k.cut.section(rest % k.cut.sections)
		rest /= k.cut.sections
		col, cols := k.cut.strip(rest % k.cut.strips)
		rest /= k.cut.strips
		group, n := rest%k.groups, rest/k.groups
		for ; row < end; row += k.tileRows {
			k.part(w, n, group, row, min(k.tileRows, end-row), col, cols)
		}
	}
}

// part computes a tile: some output channels of a group, at some places.
func (k *convolution) part(w *Scratch, n, group, row, rows, col, cols int) {
	left, right := &w.gemm.left, &w.gemm.right
	*left = lines{group: group, first: row, count: rows}
	*right = lines{at: index{axisN: n, axisC: group * k.inputs}, group: group, first: col, count: cols}
	i := index{axisN: n, axisC: group*k.outputs + row}
	var start []float32
	bias := k.biasOf(w, i[axisC], w.float[k.floats+k.staged:][:rows])
	if k.careful != nil { // the accumulator has it from the beginning
		bias, start = nil, bias
	}
	tile, stride := k.multiply(w, k.n, start)
	k.finish(w, tile, stride, bias, i)
}

// biasOf is the bias of output channels, from one on; nil: there is none. It is
// loaded to buf if it is not packed.
func (k *convolution) biasOf(w *Scratch, channel int, buf []float32) []float32 {
	switch {
	case k.packedBias.there:
		return k.packedBias.elements(w, channel, len(buf))
	case k.hasBias:
		k.bias.load(w, buf, index{axisC: channel}, axisC)
		return buf
	}
	return nil
}

// finish hands the tile on, by rows of the result, of which the first begins at i.
// The bias is added first, if it is not nil.
func (k *convolution) finish(w *Scratch, tile []float32, stride int, bias []float32, i index) {
	rows, first, cols := w.gemm.left.count, w.gemm.right.first, w.gemm.right.count
	if k.places == 1 { // rows of one place would be short
		buf := w.float[k.floats+k.staged:][:rows]
		for r := range buf {
			v := tile[r*stride]
			if bias != nil { // which may lie where the buffer does
				v += bias[r]
			}
			buf[r] = v
		}
		k.sink.put(w, buf, i, axisC)
		return
	}
	k.putPlaces(w, tile, stride, rows, cols, bias, i, first)
}

// putPlaces hands on places of the result, from place p on, of so many channels.
func (k *convolution) putPlaces(w *Scratch, tile []float32, stride, channels, count int, bias []float32, i index, p int) {
	if k.flatOut {
		i[axisW] = p
		k.sink.putTile(w, tile, stride, channels, count, bias, i, axisC)
		return
	}
	for at := 0; at < count; {
		k.resultPlace(&i, p+at)
		n := min(count-at, k.out[axisW]-i[axisW])
		k.sink.putTile(w, tile[at:], stride, channels, n, bias, i, axisC)
		at += n
	}
}

// resultPlace sets D, H and W to those of a place of the result.
func (k *convolution) resultPlace(i *index, p int) {
	i[axisW] = p % k.out[axisW]
	i[axisH] = p / k.out[axisW] % k.out[axisH]
	i[axisD] = p / k.out[axisW] / k.out[axisH]
}

// tap sets D, H and W to those of a tap of the kernel.
func (k *convolution) tap(i *index, t int) {
	i[axisW] = t % k.Kernel[2]
	i[axisH] = t / k.Kernel[2] % k.Kernel[1]
	i[axisD] = t / k.Kernel[2] / k.Kernel[1]
}

// convWeights are the left factors: a line is the weights of an output channel.
type convWeights convolution

func (k *convWeights) byLine() bool { return true }

func (k *convWeights) load(w *Scratch, dst []float32, pitch int, l *lines, from, d int) {
	for j := range l.count {
		(*convolution)(k).channel(w, dst[j*pitch:][:d], l.group*k.outputs+l.first+j, from)
	}
}

// elem: fp16 weights that are one row for each channel.
func (k *convWeights) elem() (gemm.Elem, bool) {
	apart := k.w.strides[axisN]
	return gemm.F16, k.isFlat && k.w.typ == tensor.Float16 && k.w.pass == 0 && apart >= 0 && apart%2 == 0 && k.flatW >= 0 && k.flatW%2 == 0
}

func (*convWeights) prepare(_ *Scratch, _ *lines, _, d int, _ bool) int { return d }

func (k *convWeights) source(w *Scratch, l *lines, from, d int) gemm.Source {
	at := k.w.at(&index{axisN: l.group*k.outputs + l.first}) + from*k.flatW
	return gemm.Source{
		Elem: gemm.F16, Bytes: k.w.memory(w)[at:], Line: k.w.strides[axisN] / 2, Step: k.flatW / 2, Lines: l.count, Depth: d,
	}
}

// channel reads weights of an output channel.
func (k *convolution) channel(w *Scratch, dst []float32, channel, from int) {
	i := index{axisN: channel}
	if k.isFlat {
		k.w.read(dst, k.w.memory(w), k.w.at(&i)+from*k.flatW, k.flatW)
		return
	}
	if k.taps == 1 {
		i[axisC] = from
		k.w.load(w, dst, i, axisC)
		return
	}
	for len(dst) > 0 {
		var tap int
		i[axisC], tap = from/k.taps, from%k.taps
		k.tap(&i, tap)
		n := min(len(dst), k.Kernel[2]-i[axisW])
		k.w.load(w, dst[:n], i, axisW)
		dst = dst[n:]
		from += n
	}
}

// convUnder are the right factors, read tap by tap: a line is what the weights
// of a place meet.
type convUnder convolution

func (k *convUnder) byLine() bool { return false }

func (k *convUnder) load(w *Scratch, dst []float32, pitch int, l *lines, from, d int) {
	for j := range d {
		k.loadTap(w, dst[j*pitch:][:l.count], l, from+j)
	}
}

// loadTap reads, for places of the result, what lies under one tap of the kernel.
func (k *convUnder) loadTap(w *Scratch, dst []float32, l *lines, from int) {
	c := (*convolution)(k)
	var tap, o index
	c.tap(&tap, from%k.taps)
	i := l.at
	i[axisC] += from / k.taps
	for p := l.first; len(dst) > 0; {
		c.resultPlace(&o, p)
		n := min(len(dst), k.out[axisW]-o[axisW])
		i[axisD] = k.under(0, o[axisD], tap[axisD])
		i[axisH] = k.under(1, o[axisH], tap[axisH])
		if i[axisD] < 0 || i[axisD] >= k.in[axisD] || i[axisH] < 0 || i[axisH] >= k.in[axisH] {
			clear(dst[:n])
		} else {
			i[axisW] = 0
			lo, hi := k.loadInside(w, dst[:n], &k.x, i, k.in[axisW], o[axisW], tap[axisW])
			clear(dst[:lo])
			clear(dst[hi:n])
		}
		dst = dst[n:]
		p += n
	}
}

// A window walks over D, H and W.
type window struct{ td.Window }

// under returns where tap t of the window at place o lies, along spatial axis s.
func (win *window) under(s, o, t int) int {
	return o*win.Stride[s] + t*win.Dilation[s] - win.PadBefore[s]
}

// loadInside reads along W what lies under one tap of the windows from place o
// on, and returns for which of them, from lo to hi, there is something. i is the
// beginning of the row.
func (win *window) loadInside(w *Scratch, dst []float32, x *array, i index, width, o, tap int) (lo, hi int) {
	at, step := win.under(2, o, tap), win.Stride[2]
	if at < 0 {
		lo = min(len(dst), (-at+step-1)/step)
	}
	hi = lo
	if first := at + lo*step; first < width {
		hi = min(len(dst), lo+(width-1-first)/step+1)
	}
	if lo < hi {
		i[axisW] = at + lo*step
		x.read(dst[lo:hi], x.memory(w), x.at(&i), step*x.strides[axisW])
	}
	return lo, hi
}
