package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/tensor"
)

// Products with constant matrices, one or several after each other: convolutions of points, for which rows become columns.
//
//	x[M,K] ─ copy ─ [K,1,M] on chip ─ convolution ─ [N,1,M] ─ y[M,N]
//
// The last leaves with rows and columns exchanged again. What does not fit on chip lies in scratch memory.

const (
	// productRows is how many rows go through a product at once. Registers can say 32767 columns.
	productRows = 8192
	// productWeights is how many weights a task loads if there are more rows than rowsAtOnce (records env_mm_r2rb_m256_*
	// and _m512_*: 1 + K·N/2^19 tasks).
	productWeights = 1 << 19
	// productTasks is how many tasks a product may become: programs count them in 16 bits, and each takes its time.
	productTasks = 4096
)

// matMul is a product of matrices.
func (b *builder) matMul(l *anec.Layer, p *anec.MatMul) ([]*units.Op, bool) {
	x, z := l.Bottoms[0], l.Bottoms[1]
	switch constantX, constantZ := isWeights(x), isWeights(z); {
	case constantX && constantZ:
		return nil, false
	case constantX:
		return b.constantTimes(l, p)
	case constantZ && z.Type.Dims[anec.N]*z.Type.Dims[anec.C] > 1:
		// Apple's compiler has a batch of constants as images, like live ones (record bmm_r3rb_m375_k128_n749_tx0_ty0_b2).
		if ops, ok := b.attempt(func() ([]*units.Op, bool) { return b.runtimeProduct(l, p) }); ok {
			return ops, true
		}
		return b.timesConstant(l)
	case constantZ:
		return b.timesConstant(l)
	}
	return b.runtimeProduct(l, p)
}

// linear is a product with the rows of a constant matrix, which becomes no convolution because of its size.
func (b *builder) linear(l *anec.Layer) ([]*units.Op, bool) {
	if !isWeights(l.Bottoms[1]) {
		return nil, false
	}
	return b.timesConstant(l)
}

// isWeights reports whether the elements of a value are known now.
func isWeights(v *anec.Value) bool { return v.Const != nil || segment.IsDecoded(v) }

// matricesAt is where a value of fp16 matrices lies.
func (b *builder) matricesAt(v *anec.Value, perm anec.Perm) (matrices, bool) {
	s, ok := b.surface(v)
	if !ok || v.Type.DType != tensor.Float16 {
		return matrices{}, false
	}
	return matricesOf(s, v.Type.Dims, perm)
}

// operand is where the matrices of an operand lie, constants in their section, and whether with rows and columns exchanged: as
// the layer says, or the other way round if what lies there is a view that exchanges them.
func (b *builder) operand(v *anec.Value, turned bool) (matrices, bool, bool) {
	if isWeights(v) {
		s, ok := b.constantSurface(v)
		if !ok {
			return matrices{}, turned, false
		}
		m, ok := matricesOf(s, v.Type.Dims, anec.Identity)
		return m, turned, ok
	}
	if m, ok := b.matricesAt(v, anec.Identity); ok {
		return m, turned, true
	}
	at, ok := b.layout(v)
	d := v.Type.Dims
	m := matrices{rows: d[anec.W], columns: d[anec.H], n: d[anec.N], c: d[anec.C]}
	if !ok || d[anec.D] != 1 || d[anec.H] > 1 && at.strides[anec.H] != 2 || at.offset%b.RowAlign != 0 {
		return m, turned, false
	}
	m.Base, m.Offset = at.base, at.offset
	next := b.RowBytes(m.columns)
	for _, axis := range []struct{ count, stride, of *int }{
		{&m.rows, &m.Row, &at.strides[anec.W]}, {&m.c, &m.perC, &at.strides[anec.C]}, {&m.n, &m.perN, &at.strides[anec.N]},
	} {
		if *axis.stride = next; *axis.count > 1 {
			*axis.stride = *axis.of
		}
		if *axis.stride <= 0 || *axis.stride%b.RowAlign != 0 {
			return m, turned, false
		}
		next = *axis.stride * *axis.count
	}
	m.Plane, m.Depth, m.Group = m.perC, m.perN, m.perN
	return m, !turned, true
}

// A factor is a constant matrix, [outputs][inputs], and what is done with the product. Its tasks are made once and serve
// every batch.
type factor struct {
	weights         []uint16
	inputs, outputs int
	diagonal        bool // weights has one number for each channel
	after           after
	bias            []uint16
	tasks           map[int]units.Op // by the first output
}

// apart makes two factors of one whose product is scaled and then has something added, which are not known to go together:
// the second multiplies nothing and adds.
func (f *factor) apart() []*factor {
	if tensor.ToF16(f.after.scale) == units.One || f.bias == nil && f.after.offset == 0 {
		return []*factor{f}
	}
	second := &factor{weights: slices.Repeat([]uint16{units.One}, f.outputs), inputs: f.outputs, outputs: f.outputs, diagonal: true, after: f.after, bias: f.bias}
	second.after.scale = 1
	f.after, f.bias = after{scale: f.after.scale}, nil
	return []*factor{f, second}
}

// timesConstant is x·z with a constant z, or one for each matrix of x.
func (b *builder) timesConstant(l *anec.Layer) ([]*units.Op, bool) {
	factors, turned, ok := constantFactors(l)
	if !ok {
		return nil, false
	}
	_, perm, _ := afterProduct(l)
	x, turned, ok1 := b.operand(l.Bottoms[0], turned)
	y, ok2 := b.matricesAt(l.Top(), perm)
	if !ok1 || !ok2 {
		return nil, false
	}
	if len(factors) == 1 {
		return b.eachBatch(x, y, turned, factors[0].apart())
	}
	d := l.Bottoms[1].Type.Dims
	var ops []*units.Op
	for n := range y.n {
		for c := range y.c {
			f := factors[min(n, d[anec.N]-1)*d[anec.C]+min(c, d[anec.C]-1)]
			part, ok := b.oneBatch(&x, &y, n, c, turned, f.apart())
			if !ok {
				return nil, false
			}
			ops = append(ops, part...)
		}
	}
	return ops, true
}

// constantFactors are the matrices of a product with constants, for each n and c, and whether x is stored with rows and
// columns exchanged.
func constantFactors(l *anec.Layer) (factors []*factor, turned, ok bool) {
	after, _, simple := afterProduct(l)
	z := l.Bottoms[1]
	weights, plain := halves(z)
	bias, turnZ := after.bias, true
	switch p := l.Params.(type) {
	case *anec.MatMul:
		turned, turnZ = p.TransposeX, p.TransposeZ
	case *anec.Linear:
		if given := segment.Bottom(l, 2); given != nil {
			simple = simple && bias == nil
			bias = given
		}
		simple = simple && p.Axis == anec.W
	}
	d := z.Type.Dims
	n := d[anec.W]
	if turnZ {
		n = d[anec.H]
	}
	if !simple || !plain || d[anec.D] != 1 {
		return nil, false, false
	}
	var added []uint16
	if bias != nil {
		if added, ok = halves(bias); !ok || bias.Type.Dims != (anec.Dims{1, 1, 1, 1, n}) {
			return nil, false, false
		}
	}
	count := d[anec.H] * d[anec.W]
	for i := range d[anec.N] * d[anec.C] {
		w := weights[i*count:][:count]
		if !turnZ {
			w = transposed(w, count/n, n)
		}
		factors = append(factors, &factor{weights: w, inputs: count / n, outputs: n, after: after, bias: added})
	}
	return factors, turned, true
}

// eachBatch multiplies every matrix of x with the same matrices. turned says that x has its rows as columns.
func (b *builder) eachBatch(x, y matrices, turned bool, factors []*factor) (ops []*units.Op, ok bool) {
	if !turned {
		mergeRows(&x, &y)
	}
	if 2*y.n*y.c > productTasks {
		return nil, false
	}
	for n := range y.n {
		for c := range y.c {
			part, ok := b.oneBatch(&x, &y, n, c, turned, factors)
			if !ok {
				return nil, false
			}
			ops = append(ops, part...)
		}
	}
	return ops, true
}

// oneBatch multiplies one matrix, as many rows at a time as registers can say.
func (b *builder) oneBatch(x, y *matrices, n, c int, turned bool, factors []*factor) (ops []*units.Op, ok bool) {
	for first := 0; first < y.rows; first += productRows {
		r := rowBlock{to: y.part(n, c, first), rows: min(productRows, y.rows-first), columns: factors[0].inputs, turned: turned}
		if turned {
			r.from = x.part(n, c, 0)
			r.from.Offset += 2 * first
		} else {
			r.from = x.part(n, c, first)
		}
		part, ok := b.products(r, factors)
		if !ok {
			return nil, false
		}
		ops = append(ops, part...)
	}
	return ops, true
}

// mergeRows makes one matrix of those of a batch, where rows follow each other in both tensors.
func mergeRows(x, y *matrices) {
	if x.c > 1 && x.c == y.c && x.perC == x.rows*x.Row && y.perC == y.rows*y.Row {
		for _, m := range []*matrices{x, y} {
			m.rows, m.c = m.rows*m.c, 1
		}
	}
	if x.c == 1 && x.n > 1 && x.n == y.n && x.perN == x.rows*x.Row && y.perN == y.rows*y.Row {
		for _, m := range []*matrices{x, y} {
			m.rows, m.n = m.rows*m.n, 1
		}
	}
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

// constantTimes is x·z with a constant x, whose rows are the kernel of the image z.
//
//	z[K,N] ─ image ─ convolution ─ [M,1,N] ─ y[M,N]
//
// A z that is stored with rows and columns exchanged is turned first.
func (b *builder) constantTimes(l *anec.Layer, p *anec.MatMul) ([]*units.Op, bool) {
	after, perm, ok := afterProduct(l)
	x := l.Bottoms[0]
	weights, plain := halves(x)
	z, turnZ, ok1 := b.operand(l.Bottoms[1], p.TransposeZ)
	y, ok2 := b.matricesAt(l.Top(), perm)
	d := x.Type.Dims
	if !ok || !plain || !ok1 || !ok2 || d[anec.D] != 1 || after.bias != nil {
		return nil, false
	}
	m := y.rows
	k := len(weights) / (d[anec.N] * d[anec.C] * m)
	var factors []*factor
	for i := range d[anec.N] * d[anec.C] {
		w := weights[i*k*m:][:k*m]
		if p.TransposeX {
			w = transposed(w, k, m)
		}
		factors = append(factors, &factor{weights: w, inputs: k, outputs: m, after: after})
	}
	f := &liveProduct{builder: b, z: z, y: y, turnZ: turnZ, m: m, k: k, n: y.columns}
	for n := y.n - 1; n >= 0; n-- {
		for c := y.c - 1; c >= 0; c-- {
			o := b.Bypass(units.Size{W: f.n, H: 1, D: 1, C: k})
			if o.Source1, ok = f.imageOf(n, c, false); !ok {
				return nil, false
			}
			factor := factors[min(n, d[anec.N]-1)*d[anec.C]+min(c, d[anec.C]-1)]
			o.Result = y.part(n, c, 0)
			o.Chip = units.Chip{Base: o.Source1.Chip.End(1)}
			if o.Chip.Base >= b.OnChip || !b.multiply(o, factor, 0, m, 16) {
				return nil, false
			}
			f.ops = append(f.ops, o)
		}
	}
	return f.ops, true
}
