package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
)

// Convolutions of dense arrays, which operations of the array engine are. Groups
// have weights of their own. Sums are those of a convolution: in the same blocks,
// by the same rules, with the same bits.

// Weights are constant weights: fp16 numbers, [group][output][input][y][x], and a
// bias for each [group][output], or none. They may change between runs, if they
// are packed again; or runs have others at the same time: Scratch.Weights.
type Weights struct {
	Values []uint16
	Bias   []float32
	Number int // among those of Scratch.Weights

	pass passage // what happens to values as they are read
}

// NewWeights makes weights of fp16 numbers, by the rules of a chip.
func NewWeights(values, bias []uint16, r *Rules) *Weights {
	c := &Weights{Values: values, pass: r.weights()}
	if bias != nil {
		c.Bias = make([]float32, len(bias))
		for i, h := range bias {
			c.Bias[i] = half.Float(h)
		}
		c.pass.apply(c.Bias)
	}
	return c
}

// weights is what happens to weights as the array reads them.
func (r *Rules) weights() (p passage) {
	if r != nil && r.NaNToInf {
		p |= passNaN
	}
	if r != nil && r.FlushArraySubnormals {
		p |= passFlush
	}
	return p
}

// load reads weights from one on.
func (c *Weights) load(dst []float32, from int) {
	for j, h := range c.Values[from:][:len(dst)] {
		dst[j] = half.Float(h)
	}
	c.pass.apply(dst)
}

// convShape is the shape of a convolution of one group.
type convShape struct {
	cin, hin, win    int
	cout, hout, wout int
	kh, kw           int
	sy, sx           int  // strides
	py, px           int  // padding before the first row and column
	inputs           int  // channels that one output reads
	unicast          bool // output o reads from channel o·inputs on, not from 0
}

// weights is the number of weights of one output.
func (s *convShape) weights() int { return s.inputs * s.kh * s.kw }

// isPointwise reports whether each place of the result meets the same place of the
// image and no other.
func (s *convShape) isPointwise() bool {
	return s.kh == 1 && s.kw == 1 && s.sy == 1 && s.sx == 1 && s.py == 0 && s.px == 0 && s.hin == s.hout && s.win == s.wout
}

// first is the first input channel of an output.
func (s *convShape) first(o int) int {
	if s.unicast {
		return o * s.inputs
	}
	return 0
}

// inside returns the range of columns of the result whose tap in kernel column k
// falls inside the image: the columns x with 0 ≤ x·sx + k - px < win.
func (s *convShape) inside(k int) (lo, hi int) {
	if d := s.px - k; d > 0 {
		lo = (d + s.sx - 1) / s.sx
	}
	if d := s.win - 1 + s.px - k; d >= 0 {
		hi = min(s.wout, d/s.sx+1)
	}
	return lo, hi
}

// A denseConv is a convolution that is bound.
type denseConv struct {
	product
	shape              convShape
	groups             int
	constant           *Weights // nil: they are given with each run
	places             int
	rowTiles, colTiles int         // of a group
	plane              *densePlane // of a channel by itself; nil: tap by tap

	moved *movedConv // nil: source and result are dense arrays
}

// newDense binds a convolution of so many groups. The row is nil if it is to be
// chosen, the weights if they are given with each run.
func newDense(s convShape, groups int, r *Rules, row *gemm.Row, p *Packs, weights *Weights) *denseConv {
	k := &denseConv{shape: s, groups: groups, constant: weights, places: s.hout * s.wout}
	n := s.weights()
	k.n, k.careful = n, r.careful(n)
	if s.unicast {
		k.plane = newDensePlane(&k.shape)
		return k
	}
	if row == nil {
		row = p.row(gemm.For(s.cout, anyLines, n))
	}
	tileRows, tileCols := stripTiles(row, s.cout, k.places, groups, n, true, true)
	k.rowTiles, k.colTiles = tilesOf(s.cout, tileRows), tilesOf(k.places, tileCols)
	k.product = newProduct(row, (*denseWeights)(k), (*denseUnder)(k), n, k.careful, tileRows, tileCols)
	if weights != nil {
		k.left.packed = p.addWeights(weights, &k.left, row.Depth, groups, s.cout, n)
	}
	k.keep(true)
	return k
}

func (k *denseConv) Tiles() (n, grain int) {
	if k.shape.unicast {
		return k.groups * k.shape.cout, max(1, 1<<15/max(k.places*k.n, 1))
	}
	strips := k.groups * k.colTiles
	return strips * k.rowTiles, stripGrain(strips, k.rowTiles, k.tileRows*k.tileCols*k.n)
}

func (k *denseConv) Need() Need {
	if k.shape.unicast {
		n := Need{Float: k.n}
		if k.plane != nil {
			n.Float += k.plane.floats
		}
		return k.moved.add(n)
	}
	return k.moved.add(k.product.need())
}

func (k *denseConv) Run(w *Scratch, lo, hi int) {
	s := &k.shape
	image := s.cin * s.hin * s.win
	bias := k.bias(w)
	w.begins()
	if k.plane != nil { // nobody writes the padding
		k.plane.clearPadding(w.float[k.n:][:k.plane.floats])
	}
	for t := lo; t < hi; t++ {
		if s.unicast {
			if out := k.channel(w, bias, t); k.moved != nil {
				k.moved.put(w, out, t*k.places)
			}
			continue
		}
		row, col := t%k.rowTiles*k.tileRows, t/k.rowTiles%k.colTiles*k.tileCols
		g := t / k.colTiles / k.rowTiles
		if k.moved == nil || k.moved.from == nil {
			w.gemm.image = w.Dense.Source1[g*image:][:image]
		}
		w.gemm.weights = w.Dense.Weights
		w.gemm.left = lines{group: g, first: row, count: min(k.tileRows, s.cout-row)}
		w.gemm.right = lines{at: index{axisN: g}, group: g, first: col, count: min(k.tileCols, k.places-col)}
		var start []float32
		if bias != nil {
			start = bias[g*s.cout+row:][:w.gemm.left.count]
		}
		tile, stride := k.multiply(w, k.n, start)
		if k.moved != nil {
			k.moved.putTile(w, tile, stride, w.gemm.left.count, w.gemm.right.count, (g*s.cout+row)*k.places+col, k.places)
			continue
		}
		for r := range w.gemm.left.count {
			copy(w.Dense.Result[(g*s.cout+row+r)*k.places+col:][:w.gemm.right.count], tile[r*stride:])
		}
	}
}

// bias is that of all outputs, nil if there is none.
func (k *denseConv) bias(w *Scratch) []float32 {
	if k.constant == nil {
		return nil
	}
	return k.constant.of(w).Bias
}

// of is the weights that a run has in the place of these.
func (c *Weights) of(w *Scratch) *Weights {
	if w.Weights == nil {
		return c
	}
	return w.Weights[c.Number]
}

// denseWeights are the left factors: a line is the weights of an output channel.
type denseWeights denseConv

func (k *denseWeights) byLine() bool { return true }

func (k *denseWeights) load(w *Scratch, dst []float32, pitch int, l *lines, from, d int) {
	weights := k.constant.of(w)
	for j := range l.count {
		weights.load(dst[j*pitch:][:d], k.first(l, j)+from)
	}
}

// first is the number of the first weight of line i of l.
func (k *denseWeights) first(l *lines, i int) int { return (l.group*k.shape.cout + l.first + i) * k.n }

// elem: weights that are given are floats already.
func (k *denseWeights) elem() (gemm.Elem, bool) { return gemm.F32, k.constant == nil }

func (*denseWeights) prepare(_ *Scratch, _ *lines, _, d int, _ bool) int { return d }

func (k *denseWeights) source(w *Scratch, l *lines, from, d int) gemm.Source {
	return gemm.Source{Floats: w.gemm.weights[k.first(l, 0)+from:], Line: k.n, Step: 1, Lines: l.count, Depth: d}
}

// denseUnder are the right factors: a line is what the weights of a place meet.
type denseUnder denseConv

func (k *denseUnder) byLine() bool { return false }

func (k *denseUnder) load(w *Scratch, dst []float32, pitch int, l *lines, from, d int) {
	s := &k.shape
	taps, plane := s.kh*s.kw, s.hin*s.win
	for j := range d {
		i, tap := (from+j)/taps, (from+j)%taps
		under(dst[j*pitch:][:l.count], w.gemm.image[i*plane:][:plane], s, tap/s.kw, tap%s.kw, l.first)
	}
}

// elem: where each place meets itself, a channel of the image is a step.
func (k *denseUnder) elem() (gemm.Elem, bool) { return gemm.F32, k.shape.isPointwise() }

func (*denseUnder) prepare(_ *Scratch, _ *lines, _, d int, _ bool) int { return d }

func (k *denseUnder) source(w *Scratch, l *lines, from, d int) gemm.Source {
	return gemm.Source{Floats: w.gemm.image[from*k.places+l.first:], Line: 1, Step: k.places, Lines: l.count, Depth: d}
}

// under reads, for places of the result from the first on, what lies under one
// tap of the kernel in one channel. Outside the image that is 0.
func under(dst, in []float32, s *convShape, ky, kx, first int) {
	for len(dst) > 0 {
		y, x := first/s.wout, first%s.wout
		n := min(len(dst), s.wout-x)
		row := dst[:n]
		dst, first = dst[n:], first+n
		lo, hi := s.inside(kx)
		lo, hi = min(max(lo-x, 0), n), min(hi-x, n)
		from := y*s.sy + ky - s.py
		if from < 0 || from >= s.hin || lo >= hi {
			clear(row)
			continue
		}
		clear(row[:lo])
		clear(row[hi:])
		at := from*s.win + (x+lo)*s.sx + kx - s.px
		if s.sx == 1 {
			copy(row[lo:hi], in[at:])
			continue
		}
		for p := lo; p < hi; p++ {
			row[p] = in[at]
			at += s.sx
		}
	}
}

// channel computes a channel of the result that has inputs of its own, tap by tap. It
// returns the result.
func (k *denseConv) channel(w *Scratch, biases []float32, t int) (out []float32) {
	s := &k.shape
	weights := w.float[:k.n]
	if k.constant != nil {
		k.constant.of(w).load(weights, t*k.n)
	} else {
		copy(weights, w.Dense.Weights[t*k.n:])
	}
	var bias float32
	if biases != nil {
		bias = biases[t]
	}
	plane := s.hin * s.win
	g, c := t/s.cout, t%s.cout
	var src []float32
	first := (g*s.cin + c*s.inputs) * plane
	if k.moved != nil && k.moved.plane != nil && k.plane.takes(weights) {
		area := w.float[k.n:][:k.plane.floats]
		out = k.moved.result(w, plane, k.places)
		k.moved.plane.read(w, k.plane, area, g, c)
		if k.plane.sums(out, area, weights, bias); k.careful == nil || k.moved.plane.whole && !k.careful.asksChannel(out, area, weights, bias) {
			return out
		}
	}
	if k.moved != nil {
		src, out = k.moved.channel(w, first, s.inputs*plane, k.places)
	} else {
		src, out = w.Dense.Source1[first:][:s.inputs*plane], w.Dense.Result[t*k.places:][:k.places]
	}
	if k.plane != nil && k.plane.takes(weights) {
		k.plane.run(out, w.float[k.n:][:k.plane.floats], src, weights, bias)
	} else {
		k.addTaps(out, src, weights, bias)
	}
	if k.careful != nil && k.careful.asksChannel(out, src, weights, bias) {
		for p := range out {
			out[p] = k.again(src, weights, bias, p)
		}
	}
	return out
}

// addTaps adds the products of all weights, one after the other.
func (k *denseConv) addTaps(out, src, weights []float32, bias float32) {
	s := &k.shape
	plane := s.hin * s.win
	clear(out)
	for i, v := range weights {
		ky, kx := i/s.kw%s.kh, i%s.kw
		addTap(out, src[i/s.kw/s.kh*plane:][:plane], s, ky, kx, v)
	}
	if bias != 0 {
		vec.Plus(out, bias)
	}
}

// addTap adds the products of one weight to all places of a channel.
func addTap(out, in []float32, s *convShape, ky, kx int, weight float32) {
	x0, x1 := s.inside(kx)
	if x0 >= x1 {
		return
	}
	for y := range s.hout {
		from := y*s.sy + ky - s.py
		if from < 0 || from >= s.hin {
			continue
		}
		row := out[y*s.wout+x0 : y*s.wout+x1]
		under := in[from*s.win+x0*s.sx+kx-s.px:]
		if s.sx == 1 {
			under = under[:len(row)]
			for x := range row {
				row[x] += float32(weight * under[x])
			}
			continue
		}
		for x := range row {
			row[x] += float32(weight * under[x*s.sx])
		}
	}
}

// asksChannel reports whether the sums of a channel must be added up again.
func (c *careful) asksChannel(out, src, weights []float32, bias float32) bool {
	if c.lanes > 0 {
		return true
	}
	if c.limit != 0 {
		var sum float32
		for _, v := range weights {
			sum += max(v, -v)
		}
		if !(sum*greatest(src)+max(bias, -bias) < c.limit) {
			return true
		}
	}
	return c.toZero && vec.HasNaN(out)
}

// again is the sum of a place, product by product.
func (k *denseConv) again(src, weights []float32, bias float32, place int) float32 {
	s := &k.shape
	row, column := place/s.wout*s.sy-s.py, place%s.wout*s.sx-s.px
	var sum partial
	for i, v := range weights {
		h, w := row+i/s.kw%s.kh, column+i%s.kw
		var x float32 // outside the image
		if h >= 0 && h < s.hin && w >= 0 && w < s.win {
			x = src[(i/s.kw/s.kh*s.hin+h)*s.win+w]
		}
		k.careful.add(&sum, bias, i, v, x)
	}
	return k.careful.total(&sum, bias)
}
