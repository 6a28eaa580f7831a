package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
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
	// productWeights is how many weights a task loads if there are more rows than a task multiplies at once (records env_mm_r2rb_m256_*
	// and _m512_*: 1 + K·N/2^19 tasks).
	productWeights = 1 << 19
	// productTasks is how many tasks a product may become: programs count them in 16 bits, and each takes its time.
	productTasks = 4096
)

// matMul is a product of matrices.
func (b *builder) matMul(l *anec.Layer, p *anec.MatMul) ([]*units.Op, *diag.Reason) {
	x, z := l.Bottoms[0], l.Bottoms[1]
	switch constantX, constantZ := isWeights(x), isWeights(z); {
	case constantX && constantZ:
		return nil, allConstant()
	case constantX:
		return b.constantTimes(l, p)
	case constantZ && z.Type.Dims[anec.N]*z.Type.Dims[anec.C] > 1:
		// Apple's compiler has a batch of constants as images, like live ones (record bmm_r3rb_m375_k128_n749_tx0_ty0_b2).
		ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.runtimeProduct(l, p) })
		if why == nil {
			return ops, nil
		}
		ops, constant := b.timesConstant(l)
		if constant != nil {
			return nil, neither(why, constant)
		}
		return ops, nil
	case constantZ:
		return b.timesConstant(l)
	}
	return b.runtimeProduct(l, p)
}

// linear is a product with the rows of a constant matrix, which becomes no convolution because of its size.
func (b *builder) linear(l *anec.Layer) ([]*units.Op, *diag.Reason) {
	if !isWeights(l.Bottoms[1]) {
		return nil, notConstant(l.Bottoms[1])
	}
	return b.timesConstant(l)
}

// isWeights reports whether the elements of a value are known now.
func isWeights(v *anec.Value) bool { return v.Const != nil || segment.IsDecoded(v) }

// matricesAt is where a value of fp16 matrices lies.
func (b *builder) matricesAt(v *anec.Value, perm anec.Perm) (matrices, *diag.Reason) {
	s, why := b.surface(v)
	if why := firstOf(why, halfOnly(v)); why != nil {
		return matrices{}, why
	}
	m, why := matricesOf(s, v.Type.Dims, perm)
	if why != nil {
		return m, about(v, why)
	}
	return m, nil
}

// operand is where the matrices of an operand lie, constants in their section, and whether with rows and columns exchanged: as
// the layer says, or the other way round if what lies there is a view that exchanges them.
func (b *builder) operand(v *anec.Value, transposed bool) (matrices, bool, *diag.Reason) {
	if isWeights(v) {
		s, why := b.constantSurface(v)
		if why != nil {
			return matrices{}, transposed, why
		}
		m, why := matricesOf(s, v.Type.Dims, anec.Identity)
		if why != nil {
			return m, transposed, about(v, why)
		}
		return m, transposed, nil
	}
	m, noRows := b.matricesAt(v, anec.Identity)
	if noRows == nil {
		return m, transposed, nil
	}
	at, why := b.layout(v)
	d := v.Type.Dims
	m = matrices{rows: d[anec.W], columns: d[anec.H], n: d[anec.N], c: d[anec.C]}
	if why != nil {
		return m, transposed, why
	}
	if d[anec.D] != 1 || d[anec.H] > 1 && at.strides[anec.H] != 2 || at.offset%b.RowAlign != 0 {
		return m, transposed, noRows // neither they nor columns are what registers can say
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
			why := diag.Decline(diag.NativeLayout, "lies with rows and columns exchanged, and has a stride that registers do not hold, in bytes")
			return m, transposed, about(v, why.Measure(multiplesOf(b.RowAlign), *axis.stride))
		}
		next = *axis.stride * *axis.count
	}
	m.Plane, m.Depth, m.Group = m.perC, m.perN, m.perN
	return m, !transposed, nil
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
func (b *builder) timesConstant(l *anec.Layer) ([]*units.Op, *diag.Reason) {
	factors, transposed, why := constantFactors(l)
	if why != nil {
		return nil, why
	}
	_, perm, _ := afterProduct(l)
	x, transposed, why1 := b.operand(l.Bottoms[0], transposed)
	y, why2 := b.matricesAt(l.Top(), perm)
	if why := firstOf(why1, why2); why != nil {
		return nil, why
	}
	if len(factors) == 1 {
		return b.eachBatch(x, y, transposed, factors[0].apart())
	}
	d := l.Bottoms[1].Type.Dims
	var ops []*units.Op
	for n := range y.n {
		for c := range y.c {
			f := factors[min(n, d[anec.N]-1)*d[anec.C]+min(c, d[anec.C]-1)]
			part, why := b.oneBatch(&x, &y, n, c, transposed, f.apart())
			if why != nil {
				return nil, why
			}
			ops = append(ops, part...)
		}
	}
	return ops, nil
}

// constantFactors are the matrices of a product with constants, for each n and c, and whether x is stored with rows and
// columns exchanged.
func constantFactors(l *anec.Layer) (factors []*factor, transposed bool, why *diag.Reason) {
	after, _, why1 := afterProduct(l)
	z := l.Bottoms[1]
	weights, why2 := halves(z)
	if why := firstOf(why1, why2); why != nil {
		return nil, transposed, why
	}
	bias, transposeZ := after.bias, true
	switch p := l.Params.(type) {
	case *anec.MatMul:
		transposed, transposeZ = p.TransposeX, p.TransposeZ
	case *anec.Linear:
		if given := segment.Bottom(l, 2); given != nil {
			if bias != nil {
				return nil, transposed, twoBiases()
			}
			bias = given
		}
		if p.Axis != anec.W {
			return nil, transposed, diag.Decline(diag.NativeAxes, "the product is along another axis than its tasks go").Measure(anec.W, p.Axis)
		}
	}
	d := z.Type.Dims
	n := d[anec.W]
	if transposeZ {
		n = d[anec.H]
	}
	if d[anec.D] != 1 {
		return nil, transposed, about(z, diag.Decline(diag.NativeDepth, "has depth").Measure(1, d[anec.D]))
	}
	var added []uint16
	if bias != nil {
		if added, why = halves(bias); why != nil {
			return nil, transposed, why
		}
		if want := (anec.Dims{1, 1, 1, 1, n}); bias.Type.Dims != want {
			return nil, transposed, about(bias, diag.Decline(diag.NativeConstant, "is a bias that has not one number for each column").Measure(want, bias.Type.Dims))
		}
	}
	count := d[anec.H] * d[anec.W]
	for i := range d[anec.N] * d[anec.C] {
		w := weights[i*count:][:count]
		if !transposeZ {
			w = transpose(w, count/n, n)
		}
		factors = append(factors, &factor{weights: w, inputs: count / n, outputs: n, after: after, bias: added})
	}
	return factors, transposed, nil
}

// columnBias declines a bias for each column of a product whose rows are the outputs of the kernel.
func columnBias(bias *anec.Value) *diag.Reason {
	return about(bias, diag.Decline(diag.NativeEpilogue, "is added to each column of a product whose kernel has the rows as outputs").In("Bias"))
}

// eachBatch multiplies every matrix of x with the same matrices. transposed says that x has its rows as columns.
func (b *builder) eachBatch(x, y matrices, transposed bool, factors []*factor) (ops []*units.Op, why *diag.Reason) {
	if !transposed {
		mergeRows(&x, &y)
	}
	if 2*y.n*y.c > productTasks {
		return nil, tooManyTasks(productTasks, 2*y.n*y.c)
	}
	for n := range y.n {
		for c := range y.c {
			part, why := b.oneBatch(&x, &y, n, c, transposed, factors)
			if why != nil {
				return nil, why
			}
			ops = append(ops, part...)
		}
	}
	return ops, nil
}

// oneBatch multiplies one matrix, as many rows at a time as registers can say.
func (b *builder) oneBatch(x, y *matrices, n, c int, transposed bool, factors []*factor) (ops []*units.Op, why *diag.Reason) {
	for first := 0; first < y.rows; first += productRows {
		r := rowBlock{to: y.part(n, c, first), rows: min(productRows, y.rows-first), columns: factors[0].inputs, transposed: transposed}
		if transposed {
			r.from = x.part(n, c, 0)
			r.from.Offset += 2 * first
		} else {
			r.from = x.part(n, c, first)
		}
		part, why := b.products(r, factors)
		if why != nil {
			return nil, why
		}
		ops = append(ops, part...)
	}
	return ops, nil
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

// transpose is a matrix of k rows and n columns with rows and columns exchanged.
func transpose(w []uint16, k, n int) []uint16 {
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
// A z that is stored with rows and columns exchanged is transposed first.
func (b *builder) constantTimes(l *anec.Layer, p *anec.MatMul) ([]*units.Op, *diag.Reason) {
	after, perm, why0 := afterProduct(l)
	x := l.Bottoms[0]
	weights, why1 := halves(x)
	z, transposeZ, why2 := b.operand(l.Bottoms[1], p.TransposeZ)
	y, why3 := b.matricesAt(l.Top(), perm)
	d := x.Type.Dims
	if why := firstOf(why0, why1, why2, why3); why != nil {
		return nil, why
	}
	if d[anec.D] != 1 {
		return nil, about(x, diag.Decline(diag.NativeDepth, "has depth").Measure(1, d[anec.D]))
	}
	if after.bias != nil {
		return nil, columnBias(after.bias)
	}
	m := y.rows
	k := len(weights) / (d[anec.N] * d[anec.C] * m)
	var factors []*factor
	for i := range d[anec.N] * d[anec.C] {
		w := weights[i*k*m:][:k*m]
		if p.TransposeX {
			w = transpose(w, k, m)
		}
		factors = append(factors, &factor{weights: w, inputs: k, outputs: m, after: after})
	}
	f := &liveProduct{builder: b, z: z, y: y, transposeZ: transposeZ, m: m, k: k, n: y.columns}
	for n := y.n - 1; n >= 0; n-- {
		for c := y.c - 1; c >= 0; c-- {
			o := b.Bypass(units.Size{W: f.n, H: 1, D: 1, C: k})
			var why *diag.Reason
			if o.Source1, why = f.imageOf(n, c, false); why != nil {
				return nil, why
			}
			factor := factors[min(n, d[anec.N]-1)*d[anec.C]+min(c, d[anec.C]-1)]
			o.Result = y.part(n, c, 0)
			o.Chip = units.Chip{Base: o.Source1.Chip.End(1)}
			if o.Chip.Base >= b.OnChip {
				return nil, noRoom("the live matrix of a product", b.OnChip, o.Chip.Base)
			}
			if why := b.multiply(o, factor, 0, m, b.MaxLanes/2); why != nil {
				return nil, why
			}
			f.ops = append(f.ops, o)
		}
	}
	return f.ops, nil
}
