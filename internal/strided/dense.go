package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Convolutions of version-7 tasks. What they read and write is dense float32, for
// such a task gathers its source and scatters its result itself; groups have
// weights of their own. Sums are those of conv: in the same blocks, by the same
// rules, with the same bits.

// Weights are constant weights as fp16 numbers, [group][output][input][y][x], and
// what happens to them as they are read.
type Weights struct {
	Values []uint16
	Read   kernel.Reading
}

// load reads weights from one on.
func (c *Weights) load(dst []float32, from int) {
	for j, h := range c.Values[from:][:len(dst)] {
		dst[j] = half.Float(h)
	}
	c.Read.Apply(dst)
}

// A Dense is a convolution that is bound.
type Dense struct {
	shape    kernel.ConvShape
	groups   int
	constant *Weights // nil: they are given with each run
	product
	places             int
	rowTiles, colTiles int // of a group
}

// DenseOperands are the arrays of a convolution: of all groups, one after the
// other. The weights are nil if they are constant, the bias if there is none.
type DenseOperands struct{ Source, Result, Weights, Bias []float32 }

// BindDense binds a convolution of so many groups. The row is nil if it is to be
// chosen, the weights if they are given with each run.
func BindDense(s kernel.ConvShape, groups int, r *Rules, row *gemm.Row, p *Packs, weights *Weights) *Dense {
	k := &Dense{shape: s, groups: groups, constant: weights, places: s.Hout * s.Wout}
	n := s.Weights()
	k.n, k.careful = n, r.careful(n)
	if s.Unicast {
		return k
	}
	if row == nil {
		row = gemm.For(s.Cout, k.places, n)
	}
	tileRows, tileCols := tileOf(row, s.Cout, k.places, groups, n)
	k.rowTiles, k.colTiles = tilesOf(s.Cout, tileRows), tilesOf(k.places, tileCols)
	k.product = newProduct(row, (*denseWeights)(k), (*denseUnder)(k), n, k.careful, tileRows, tileCols)
	if weights != nil {
		k.left.packed = p.addWeights(weights, &k.left, row.Depth, groups, s.Cout, n)
	}
	return k
}

// Tiles returns the number of tiles, and how many are worth a thread.
func (k *Dense) Tiles() (n, grain int) {
	work := k.places * k.n
	n = k.groups * k.shape.Cout
	if !k.shape.Unicast {
		work = k.tileRows * k.tileCols * k.n
		n = k.groups * k.rowTiles * k.colTiles
	}
	return n, max(1, 1<<15/max(work, 1))
}

// Need returns what scratch each thread needs.
func (k *Dense) Need() Need {
	if k.shape.Unicast {
		return Need{Float: k.n}
	}
	return k.product.need()
}

// Run computes the tiles [lo, hi).
func (k *Dense) Run(w *Scratch, o *DenseOperands, lo, hi int) {
	s := &k.shape
	image := s.Cin * s.Hin * s.Win
	for t := lo; t < hi; t++ {
		if s.Unicast {
			k.channel(w, o, t)
			continue
		}
		col, row := t%k.colTiles*k.tileCols, t/k.colTiles%k.rowTiles*k.tileRows
		g := t / k.colTiles / k.rowTiles
		w.gemm.image, w.gemm.weights = o.Source[g*image:][:image], o.Weights
		w.gemm.left = lines{group: g, first: row, count: min(k.tileRows, s.Cout-row)}
		w.gemm.right = lines{group: g, first: col, count: min(k.tileCols, k.places-col)}
		var start []float32
		if o.Bias != nil {
			start = o.Bias[g*s.Cout+row:][:w.gemm.left.count]
		}
		tile, stride := k.multiply(w, k.n, start)
		for r := range w.gemm.left.count {
			copy(o.Result[(g*s.Cout+row+r)*k.places+col:][:w.gemm.right.count], tile[r*stride:])
		}
	}
}

// denseWeights are the left factors: a line is the weights of an output channel.
type denseWeights Dense

func (k *denseWeights) byLine() bool { return true }

func (k *denseWeights) load(w *Scratch, dst []float32, pitch int, l *lines, from, d int) {
	for j := range l.count {
		k.constant.load(dst[j*pitch:][:d], k.first(l, j)+from)
	}
}

// first is the number of the first weight of line i of l.
func (k *denseWeights) first(l *lines, i int) int { return (l.group*k.shape.Cout + l.first + i) * k.n }

// elem: weights that are given are floats already.
func (k *denseWeights) elem() (gemm.Elem, bool) { return gemm.F32, k.constant == nil }

func (*denseWeights) prepare(_ *Scratch, _ *lines, _, d int, _ bool) int { return d }

func (k *denseWeights) source(w *Scratch, l *lines, from, d int) gemm.Source {
	return gemm.Source{Floats: w.gemm.weights[k.first(l, 0)+from:], Line: k.n, Step: 1, Lines: l.count, Depth: d}
}

// denseUnder are the right factors: a line is what the weights of a place meet.
type denseUnder Dense

func (k *denseUnder) byLine() bool { return false }

func (k *denseUnder) load(w *Scratch, dst []float32, pitch int, l *lines, from, d int) {
	s := &k.shape
	taps, plane := s.Kh*s.Kw, s.Hin*s.Win
	for j := range d {
		i, tap := (from+j)/taps, (from+j)%taps
		under(dst[j*pitch:][:l.count], w.gemm.image[i*plane:][:plane], s, tap/s.Kw, tap%s.Kw, l.first)
	}
}

// elem: where each place meets itself, a channel of the image is a step.
func (k *denseUnder) elem() (gemm.Elem, bool) { return gemm.F32, k.shape.IsPointwise() }

func (*denseUnder) prepare(_ *Scratch, _ *lines, _, d int, _ bool) int { return d }

func (k *denseUnder) source(w *Scratch, l *lines, from, d int) gemm.Source {
	return gemm.Source{Floats: w.gemm.image[from*k.places+l.first:], Line: 1, Step: k.places, Lines: l.count, Depth: d}
}

// under reads, for places of the result from the first on, what lies under one
// tap of the kernel in one channel. Outside the image that is 0.
func under(dst, in []float32, s *kernel.ConvShape, ky, kx, first int) {
	for len(dst) > 0 {
		y, x := first/s.Wout, first%s.Wout
		n := min(len(dst), s.Wout-x)
		row := dst[:n]
		dst, first = dst[n:], first+n
		lo, hi := s.Inside(kx)
		lo, hi = min(max(lo-x, 0), n), min(hi-x, n)
		from := y*s.Sy + ky - s.Py
		if from < 0 || from >= s.Hin || lo >= hi {
			clear(row)
			continue
		}
		clear(row[:lo])
		clear(row[hi:])
		at := from*s.Win + (x+lo)*s.Sx + kx - s.Px
		if s.Sx == 1 {
			copy(row[lo:hi], in[at:])
			continue
		}
		for p := lo; p < hi; p++ {
			row[p] = in[at]
			at += s.Sx
		}
	}
}

// channel computes a channel of the result that has inputs of its own, tap by tap.
func (k *Dense) channel(w *Scratch, o *DenseOperands, t int) {
	s := &k.shape
	weights := w.float[:k.n]
	if k.constant != nil {
		k.constant.load(weights, t*k.n)
	} else {
		copy(weights, o.Weights[t*k.n:])
	}
	var bias float32
	if o.Bias != nil {
		bias = o.Bias[t]
	}
	plane := s.Hin * s.Win
	g, c := t/s.Cout, t%s.Cout
	src := o.Source[(g*s.Cin+c*s.Inputs)*plane:][:s.Inputs*plane]
	out := o.Result[t*k.places:][:k.places]
	clear(out)
	for i, v := range weights {
		ky, kx := i/s.Kw%s.Kh, i%s.Kw
		addTap(out, src[i/s.Kw/s.Kh*plane:][:plane], s, ky, kx, v)
	}
	if bias != 0 {
		for p := range out {
			out[p] += bias
		}
	}
	if k.careful != nil && k.careful.asksChannel(out, src, weights, bias) {
		for p := range out {
			out[p] = k.again(src, weights, bias, p)
		}
	}
}

// addTap adds the products of one weight to all places of a channel.
func addTap(out, in []float32, s *kernel.ConvShape, ky, kx int, weight float32) {
	x0, x1 := s.Inside(kx)
	if x0 >= x1 {
		return
	}
	for y := range s.Hout {
		from := y*s.Sy + ky - s.Py
		if from < 0 || from >= s.Hin {
			continue
		}
		row := out[y*s.Wout+x0 : y*s.Wout+x1]
		under := in[from*s.Win+x0*s.Sx+kx-s.Px:]
		if s.Sx == 1 {
			under = under[:len(row)]
			for x := range row {
				row[x] += float32(weight * under[x])
			}
			continue
		}
		for x := range row {
			row[x] += float32(weight * under[x*s.Sx])
		}
	}
}

// asksChannel reports whether the sums of a channel must be added up again.
func (c *careful) asksChannel(out, src, weights []float32, bias float32) bool {
	if c.Lanes > 0 {
		return true
	}
	if c.Limit != 0 {
		var sum float32
		for _, v := range weights {
			sum += max(v, -v)
		}
		if !(sum*greatest(src)+max(bias, -bias) < c.Limit) {
			return true
		}
	}
	if c.Settle {
		for _, v := range out {
			if v != v {
				return true
			}
		}
	}
	return false
}

// again is the sum of a place, product by product.
func (k *Dense) again(src, weights []float32, bias float32, place int) float32 {
	s := &k.shape
	row, column := place/s.Wout*s.Sy-s.Py, place%s.Wout*s.Sx-s.Px
	var sum kernel.Partial
	for i, v := range weights {
		h, w := row+i/s.Kw%s.Kh, column+i%s.Kw
		var x float32 // outside the image
		if h >= 0 && h < s.Hin && w >= 0 && w < s.Win {
			x = src[(i/s.Kw/s.Kh*s.Hin+h)*s.Win+w]
		}
		k.careful.Add(&sum, bias, i, v, x)
	}
	return k.careful.Total(&sum, bias)
}
