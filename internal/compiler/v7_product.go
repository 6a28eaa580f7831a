package compiler

import (
	"math/bits"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Products of matrices: with constants, one or several after each other, and of two live ones.

// matMul is a product of matrices.
func (b *v7build) matMul(l *anec.Layer, p *anec.MatMul) ([]*v7op, bool) {
	x, z, y := l.Bottoms[0], l.Bottoms[1], l.Top()
	if x.Const != nil || p.TransposeX {
		return nil, false
	}
	if z.Const == nil {
		return b.runtimeProduct(l, p)
	}
	after, ok := b.after(l)
	weights, plain := halves(z)
	dx, dy, dz := x.Type.Dims, y.Type.Dims, z.Type.Dims
	if !ok || !plain || dx[anec.N] != 1 || dx[anec.C] != 1 || dz[anec.N] != 1 || dz[anec.C] != 1 {
		return nil, false
	}
	k, n := dx[anec.W], dy[anec.W]
	if !p.TransposeZ {
		weights = transposed(weights, k, n)
	}
	var bias []uint16
	if after.bias != nil {
		if bias, ok = halves(after.bias); !ok || after.bias.Type.Dims != (anec.Dims{1, 1, 1, 1, n}) {
			return nil, false
		}
	}
	return b.products(x, y, []v7factor{{weights: weights, inputs: k, outputs: n, after: after, bias: bias}})
}

// A v7factor is a constant matrix, [outputs][inputs], and what is done with the product.
type v7factor struct {
	weights         []uint16
	inputs, outputs int
	after           v7after
	bias            []uint16
}

// products multiplies the rows of x with matrices, one after the other. A copy brings the rows, as columns, on chip; a
// convolution of points makes each product; the last leaves with rows and columns exchanged again.
//
//	x[M,K] ─ copy ─ [K,1,M] on chip ─ convolution ─ [N,1,M] ─ y[M,N]
//
// Where results are larger than sources, rows lie in a square of which the array has more at hand, and a last copy brings
// them back:
//
//	x[8·8,K] ─ copy ─ [K,8,8] ─ convolution ─ [N,8,8] on chip, as [8·8,1,N] ─ copy ─ y[64,N]
func (b *v7build) products(x, y *anec.Value, factors []v7factor) ([]*v7op, bool) {
	dx := x.Type.Dims
	rows := dx[anec.C] * dx[anec.H]
	mx, ok1 := b.surface(x)
	my, ok2 := b.surface(y)
	if !ok1 || !ok2 || dx[anec.N] != 1 {
		return nil, false
	}
	from, size, ok1 := rowsAsChannels(*mx, dx)
	to, _, ok2 := rowsAsChannels(*my, y.Type.Dims)
	if !ok1 || !ok2 || size.w < 16 {
		return nil, false
	}
	grows := false
	for _, f := range factors {
		grows = grows || f.outputs > f.inputs
	}
	if side := v7side(rows); (grows || len(factors) > 1) && side > 0 {
		return b.squareProducts(from, to, size, side, factors)
	}
	if len(factors) > 1 {
		return nil, false
	}
	f := &factors[0]
	chip := v7chip{channel: v7align(2*rows, 16)}
	if chip.channel%0x80 == 0 {
		chip.channel += 0x10
	}
	chip.row = f.inputs * chip.channel
	chip.depth = chip.row
	if 2*chip.row >= v7chipBytes {
		return nil, false
	}
	turn := newBypass(size).exchanged()
	turn.chip = chip
	turn.source1 = v7source{memory: from, chip: arrayChip(chip.end(1), size)}
	turn.result = b.backed(v7align(2*rows, 64), f.inputs)

	o := newBypass(v7size{w: rows, h: 1, d: 1, c: f.inputs})
	o.source1 = v7source{memory: turn.result, chip: chip}
	o.result = to
	o.chip = v7chip{base: chip.end(1)}
	o.exchange = true
	return []*v7op{turn, o}, b.multiply(o, f, 16)
}

// v7side is the side of the square that so many rows make, a multiple of 8; 0 if they make none.
func v7side(rows int) int {
	for side := 8; side*side <= rows; side += 8 {
		if side*side == rows {
			return side
		}
	}
	return 0
}

// multiply makes a task the product with a matrix.
func (b *v7build) multiply(o *v7op, f *v7factor, most int) bool {
	o.out.c, o.unicast = f.outputs, 0
	k := td.Kernel{
		Groups: 1, Outputs: f.outputs, Inputs: f.inputs, Height: 1, Width: 1, StrideY: 1, StrideX: 1,
		Format: td.KernelFP16, Lanes: v7lanes(f.outputs, most), Engines: v7engines(f.outputs),
	}
	return b.weigh(o, k, td.Weights{Values: f.weights}, &f.after, f.bias)
}

// squareProducts is products of rows that lie in a square.
func (b *v7build) squareProducts(from, to *v7surface, size v7size, side int, factors []v7factor) ([]*v7op, bool) {
	rows := side * side
	in := v7size{w: size.w, h: side, d: 1, c: side}
	source := *from
	source.row, source.plane = side*from.plane, from.plane
	resident := func(base, channels int) v7chip {
		c := v7chip{base: base, channel: v7align(2*side, 16)}
		c.depth = channels * c.channel
		c.row = c.depth + 0x30
		return c
	}
	last := factors[len(factors)-1]
	// What a product reads lies behind what it makes, by turns.
	far := rows * v7align(2*last.outputs, 16)
	if len(factors) > 1 {
		far = resident(0, factors[0].outputs).end(side)
	}
	if len(factors) > 2 || 2*far >= v7chipBytes {
		return nil, false
	}
	turn := newBypass(in).exchanged()
	turn.chip = resident(far, size.w)
	turn.source1 = v7source{memory: &source, chip: arrayChip(turn.chip.end(side), in)}
	turn.source1.chip.channel = 0x40
	turn.source1.chip.depth = side * 0x40
	turn.source1.chip.group, turn.source1.chip.row = side*0x40, side*0x40+0x20
	turn.result = b.backed(v7align(2*side, 64), size.w)
	turn.result.plane = turn.result.row * side
	turn.result.depth = turn.result.plane * size.w
	turn.result.group = turn.result.depth
	b.scratch += v7align(turn.result.depth, 0x4000) - v7align(turn.result.row*size.w, 0x4000)
	ops := []*v7op{turn}
	at := turn.chip
	for i := range factors {
		f := &factors[i]
		o := newBypass(v7size{w: side, h: side, d: 1, c: f.inputs})
		o.source1 = v7source{chip: at}
		if i == 0 {
			o.source1.memory = turn.result
		}
		base := 0
		if at.base == 0 {
			base = far
		}
		most := 16
		if i+1 < len(factors) {
			at, most = resident(base, f.outputs), 32
			o.chip = at
		} else {
			// The last lies with its channels side by side: [row of the square][column][channel].
			line := v7align(2*f.outputs, 16)
			o.exchange = true
			o.chip = v7chip{base: base, channel: line, row: side * line, depth: rows * line}
			at = o.chip
		}
		if !b.multiply(o, f, most) {
			return nil, false
		}
		ops = append(ops, o)
	}
	line := v7size{w: last.outputs, h: 1, d: 1, c: rows}
	back := newBypass(line)
	back.source1 = v7source{chip: v7chip{base: at.base, channel: at.channel, row: at.depth, depth: at.depth}}
	back.result = to
	back.chip = v7chip{base: back.source1.chip.end(1)}
	return append(ops, back), true
}

// joinProducts finds a chain of convolutions of points between two transposes that exchange C and W: a product with
// constant matrices, as fusion writes it. The last layer stands for all: a transpose, or a convolution that does it itself.
func (b *v7build) joinProducts(l *anec.Layer) {
	chain, ok := b.productChain(l)
	if !ok {
		return
	}
	for _, c := range chain {
		if c != l {
			b.joined[c] = true
		}
	}
}

// joinedAll reports whether the layers of a chain are computed along with the last.
func (b *v7build) joinedAll(chain []*anec.Layer, last *anec.Layer) bool {
	for _, l := range chain {
		if l != last && !b.joined[l] {
			return false
		}
	}
	return true
}

// productChain is the convolutions of a product that ends with l, the last first, and then the first transpose.
func (b *v7build) productChain(l *anec.Layer) ([]*anec.Layer, bool) {
	turn := exchange(anec.C, anec.W)
	v := l.Top()
	switch p := l.Params.(type) {
	case *anec.Conv:
		if l.Epilogue.Transpose == nil || *l.Epilogue.Transpose != turn {
			return nil, false
		}
	case *anec.Transpose:
		if v = l.Bottoms[0]; p.Perm != turn || !l.Epilogue.Empty() {
			return nil, false
		}
	default:
		return nil, false
	}
	if l.Top().Type.Dims[anec.C] != 1 {
		return nil, false
	}
	var chain []*anec.Layer
	for {
		d := v.Def
		if d == nil || d != l && (len(v.Uses) != 1 || b.graph.IsOutput(v) || d.Epilogue.Transpose != nil) {
			return nil, false
		}
		switch p := d.Params.(type) {
		case *anec.Conv:
			w := d.Bottoms[1]
			if p.Window != anec.UnitWindow || p.Groups != 1 || p.Transposed || w.Const == nil {
				return nil, false
			}
		case *anec.Transpose:
			return append(chain, d), p.Perm == turn && len(chain) > 0 && d.Epilogue.Empty()
		default:
			return nil, false
		}
		chain = append(chain, d)
		v = d.Bottoms[0]
	}
}

// productLayer is the last layer of a product that joinProducts found. What does not fit on chip goes layer by layer.
func (b *v7build) productLayer(l *anec.Layer) ([]*v7op, bool) {
	chain, ok := b.productChain(l)
	if !ok {
		return nil, false
	}
	if ops, ok := b.attempt(func() ([]*v7op, bool) { return b.productOf(l, chain) }); ok {
		return ops, true
	}
	var ops []*v7op
	for i := len(chain) - 1; i >= 0; i-- {
		if chain[i] == l {
			continue
		}
		part, ok := b.attempt(func() ([]*v7op, bool) { return b.plain(chain[i]) })
		if !ok {
			return nil, false
		}
		ops = append(ops, part...)
	}
	last, ok := b.plain(l)
	return append(ops, last...), ok
}

// attempt selects tasks, and takes back constants and memory of what does not succeed.
func (b *v7build) attempt(selection func() ([]*v7op, bool)) ([]*v7op, bool) {
	constants, scratch, placed := len(b.constants.data), b.scratch, len(b.placed)
	ops, ok := selection()
	if !ok {
		for _, v := range b.placed[placed:] {
			delete(b.surfaces, v)
		}
		b.constants.data, b.scratch, b.placed = b.constants.data[:constants], scratch, b.placed[:placed]
	}
	return ops, ok
}

func (b *v7build) productOf(l *anec.Layer, chain []*anec.Layer) ([]*v7op, bool) {
	factors, ok := factorsOf(chain)
	if !ok {
		return nil, false
	}
	return b.products(chain[len(chain)-1].Bottoms[0], l.Top(), factors)
}

// factorsOf are the matrices of a chain, the first first.
func factorsOf(chain []*anec.Layer) (factors []v7factor, ok bool) {
	for i := len(chain) - 2; i >= 0; i-- {
		c := chain[i]
		after, simple := afterButTranspose(c)
		weights, plain := halves(c.Bottoms[1])
		d := c.Bottoms[1].Type.Dims
		f := v7factor{weights: weights, inputs: d[anec.C], outputs: d[anec.N], after: after}
		if !simple || !plain {
			return nil, false
		}
		bias := after.bias
		if given := (&emission{Layer: c}).bottom(2); given != nil {
			if bias != nil {
				return nil, false
			}
			bias = given
		}
		if bias != nil {
			if f.bias, plain = halves(bias); !plain || len(f.bias) != f.outputs {
				return nil, false
			}
		}
		factors = append(factors, f)
	}
	return factors, true
}

// joinWithProduct finds x op product(x), all of which stays on chip.
func (b *v7build) joinWithProduct(x, z *anec.Value) bool {
	chain, ok := b.productChain(z.Def)
	if !ok || len(chain) != 2 || chain[1].Bottoms[0] != x || len(z.Uses) != 1 || b.graph.IsOutput(z) {
		return false
	}
	d := x.Type.Dims
	if d[anec.N]*d[anec.C] != 1 || d[anec.W] < 16 || 3*d[anec.H]*(2*d[anec.W]+0x20)+0x20*d[anec.W] > v7chipBytes/2 {
		return false
	}
	b.joined[z.Def] = true
	for _, c := range chain {
		b.joined[c] = true
	}
	return true
}

// withProduct is x op product(x): x comes on chip once, rows above each other, and is read from there twice.
//
//	x[M,K] ─ copy ─ [1,M,K] on chip ─┬─ copy ─ [K,1,M] ─ convolution ─ [1,M,K]─┐
//	                                 └──────────────────────────────────────── op ─ y
func (b *v7build) withProduct(l *anec.Layer, kind td.EWKind, x *anec.Value, product *anec.Layer) ([]*v7op, bool) {
	chain, ok := b.productChain(product)
	mx, ok1 := b.surface(x)
	o, ok2 := b.planarLayer(l, td.TypePlanarBinary)
	factors, ok3 := factorsOf(chain)
	if !ok || !ok1 || !ok2 || !ok3 {
		return nil, false
	}
	f := &factors[0]
	size := o.in
	rows, inputs := size.h, size.w
	load := newBypass(size)
	load.chip = residentChip(0, size)
	end := load.chip.end(rows)
	load.source1 = v7source{memory: mx, chip: arrayChip(end, size)}

	turn := newBypass(v7size{w: inputs, h: 1, d: 1, c: rows}).exchanged()
	turn.source1 = v7source{chip: v7chip{channel: load.chip.row, row: load.chip.depth, depth: load.chip.depth}}
	turn.chip = v7chip{base: end, channel: v7align(2*rows, 16)}
	if turn.chip.channel%0x80 == 0 {
		turn.chip.channel += 0x10
	}
	turn.chip.depth = inputs * turn.chip.channel
	turn.chip.row = turn.chip.depth

	multiply := newBypass(v7size{w: rows, h: 1, d: 1, c: inputs})
	multiply.source1 = v7source{chip: turn.chip}
	multiply.exchange = true
	result := residentChip(turn.chip.end(1), size) // of the planar engine's view: [1,M,N]
	multiply.chip = v7chip{base: result.base, channel: result.row, row: rows * result.row, depth: rows * result.row}
	if !b.multiply(multiply, f, 16) {
		return nil, false
	}
	o.source1 = v7source{chip: load.chip}
	second := result
	second.channel, second.depth = multiply.chip.row, multiply.chip.row
	o.source2 = &v7source{chip: second}
	o.operator, o.negate2 = planarOperators[kind], kind == td.EWSub
	o.chip = v7chip{base: result.end(rows)}
	return []*v7op{load, turn, multiply, o}, true
}

// transposed is a matrix of k rows and n columns with rows and columns exchanged.
func transposed(w []uint16, k, n int) []uint16 {
	t := make([]uint16, len(w))
	for i := range k {
		for j := range n {
			t[j*k+i] = w[i*n+j]
		}
	}
	return t
}

// runtimeProduct is a product of two live matrices: z is the image, K channels of N columns, and the rows of x are the
// kernel. Up to 16 rows are streams as they lie. More are stored anew first, such that the rows of an engine lie side by
// side; and a z that is stored transposed is turned on its way in.
//
//	x[M,K] ─ copy, rows side by side ─ kernel ─┐
//	z[K,N] ─────────────────────────── image ──┴─ convolution ─ [M,1,N] ─ y[M,N]
func (b *v7build) runtimeProduct(l *anec.Layer, p *anec.MatMul) ([]*v7op, bool) {
	x, z, y := l.Bottoms[0], l.Bottoms[1], l.Top()
	after, ok := b.after(l)
	dx, dz, dy := x.Type.Dims, z.Type.Dims, y.Type.Dims
	one := func(d anec.Dims) bool { return d[anec.N] == 1 && d[anec.C] == 1 }
	if !ok || after.bias != nil || after.offset != 0 || after.act != nil || !one(dx) || !one(dz) {
		return nil, false
	}
	m, k, n := dx[anec.H], dx[anec.W], dy[anec.W]
	mx, ok1 := b.surface(x)
	mz, ok2 := b.surface(z)
	my, ok3 := b.surface(y)
	lanes := m / 16
	if m <= 16 {
		lanes = 1
	} else if m%16 != 0 || lanes&(lanes-1) != 0 || lanes > 8 {
		return nil, false
	}
	if !ok1 || !ok2 || !ok3 || k*lanes*2%64 != 0 {
		return nil, false
	}
	rows, rowSize, _ := rowsAsChannels(*mx, dx)
	image, imageSize, _ := rowsAsChannels(*mz, dz)
	result, _, _ := rowsAsChannels(*my, dy)
	kernel := &v7kernel{base: rows.base, runtime: true, producer: -1}
	var ops []*v7op
	stride, start := rows.plane, rows.offset
	if lanes > 1 {
		stride = 2 * k * lanes
		store := newPlanar(td.TypePlanarUnary, rowSize)
		chip := v7chip{channel: v7align(2*k, 16)}
		chip.depth = m * chip.channel
		chip.row, chip.group = chip.depth, chip.depth
		store.source1 = v7source{memory: rows, chip: chip}
		store.chip = v7chip{base: chip.end(1)}
		start = b.scratch
		total := 16 * stride
		store.result = &v7surface{base: hwx.BaseScratch, offset: start, row: stride, plane: stride, depth: total, group: total, interleave: lanes}
		b.scratch += v7align(total, 0x4000)
		kernel.base, kernel.producer = hwx.BaseScratch, b.tasks
		ops = append(ops, store)
		if chip.end(1) >= v7chipBytes {
			return nil, false
		}
	}
	for e := range min(m, 16) {
		kernel.offsets = append(kernel.offsets, start+e*stride)
		kernel.sizes = append(kernel.sizes, stride)
	}

	o := newBypass(v7size{w: n, h: 1, d: 1, c: k})
	o.out.c, o.unicast, o.unity, o.operation = m, 0, false, v7MultiplyAdd
	o.kernel, o.engines, o.lanesLog2 = kernel, v7engines(m), bits.Len(uint(lanes))-1
	o.post = tensor.ToF16(after.scale)
	o.result = result
	chip := v7chip{channel: v7align(2*n, 16)}
	if p.TransposeZ {
		if chip.channel%0x80 == 0 {
			chip.channel += 0x10
		}
		turn := newBypass(imageSize).exchanged()
		chip.depth = k * chip.channel
		chip.row = chip.depth
		turn.chip = chip
		turn.source1 = v7source{memory: image, chip: arrayChip(chip.end(1), imageSize)}
		ops = append(ops, turn)
		o.source1 = v7source{chip: chip}
	} else {
		chip.depth = k * chip.channel
		chip.row, chip.group = chip.depth, chip.depth
		o.source1 = v7source{memory: image, chip: chip}
	}
	o.chip = v7chip{base: chip.end(1)}
	return append(ops, o), chip.end(1) < v7chipBytes
}

// windowsMeet reports whether every window has an element of the image along an axis: the chip knows no other.
func windowsMeet(w *anec.Window, axis, in, out int) bool {
	return w.PadBefore[axis] < w.Kernel[axis] && (out-1)*w.Stride[axis]-w.PadBefore[axis] < in
}
