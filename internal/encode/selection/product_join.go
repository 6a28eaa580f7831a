package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Products that fusion wrote as convolutions, found again: their tasks bring rows on chip once for all of them.

// joinProducts finds a chain of convolutions of points between two permutations: a product with constant matrices, as
// fusion writes it. The last layer stands for all: a transpose, or a convolution that does it itself.
func (b *builder) joinProducts(l *anec.Layer) {
	for _, c := range b.productChain(l) {
		if c != l {
			b.joined[c] = true
		}
	}
}

// joinedAll reports whether the layers of a chain are computed along with the last.
func (b *builder) joinedAll(chain []*anec.Layer, last *anec.Layer) bool {
	for _, l := range chain {
		if l != last && !b.joined[l] {
			return false
		}
	}
	return true
}

// The permutations around products: rows become columns and back; and with x stored so already, they only come to lie
// as an image has them.
//
//	x[c,M,K] ─ [K,M,c] ─ convolutions ─ [N,M,c] ─ y[c,M,N]
//	x[c,K,M] ─ [K,c,M] ─ convolutions ─ [N,c,M] ─ y[c,M,N]
var (
	permRows   = segment.Exchange(anec.C, anec.W)
	permPlanes = segment.Exchange(anec.C, anec.H)
	permBack   = anec.Perm{anec.N, anec.D, anec.H, anec.W, anec.C}
)

// permOf is the permutation of axes that a layer is, if it is nothing else. What has one element along an axis is permuted by
// reading it otherwise.
func permOf(l *anec.Layer) (perm anec.Perm, ok bool) {
	if !l.Epilogue.Empty() {
		return perm, false
	}
	switch p := l.Params.(type) {
	case *anec.Transpose:
		return p.Perm, true
	case *anec.Reshape:
		from, to := l.Bottoms[0].Type.Dims, l.Top().Type.Dims
		if to[anec.N] != from[anec.N] || to[anec.D] != from[anec.D] {
			return perm, false
		}
		c, h, w := from[anec.C], from[anec.H], from[anec.W]
		switch moved := [3]int{to[anec.C], to[anec.H], to[anec.W]}; {
		case moved == [3]int{w, h, c} && h == 1 && (c == 1 || w == 1):
			return permRows, true
		case moved == [3]int{h, c, w} && (c == 1 || h == 1):
			return permPlanes, true
		case moved == [3]int{h, w, c} && (c == 1 || h*w == 1):
			return permBack, true
		}
	}
	return perm, false
}

// productChain is the convolutions of a product that ends with l, the last first, and then the first permutation; nil if
// there is none.
func (b *builder) productChain(l *anec.Layer) []*anec.Layer {
	v := l.Top()
	back, ok := permOf(l)
	switch {
	case ok:
		v = l.Bottoms[0]
	case l.Kind() == anec.KindConv && l.Epilogue.Transpose != nil:
		back = *l.Epilogue.Transpose
	default:
		return nil
	}
	var want anec.Perm // of the first
	switch back {
	case permRows:
		want = permRows
	case permBack:
		want = permPlanes
	default:
		return nil
	}
	var chain []*anec.Layer
	for {
		d := v.Def
		if d == nil || d != l && (!b.readOnce(v) || d.Epilogue.Transpose != nil) {
			return nil
		}
		if first, ok := permOf(d); ok {
			if first != want || len(chain) == 0 {
				return nil
			}
			return append(chain, d)
		}
		p, ok := d.Params.(*anec.Conv)
		if !ok || p.Window != anec.UnitWindow || p.Groups != 1 || p.Transposed || !isWeights(d.Bottoms[1]) {
			return nil
		}
		chain = append(chain, d)
		v = d.Bottoms[0]
	}
}

// productLayer is the last layer of a product that joinProducts found. What does not fit on chip goes layer by layer.
func (b *builder) productLayer(l *anec.Layer, chain []*anec.Layer) ([]*units.Op, *diag.Reason) {
	ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.productOf(l, chain) })
	if why == nil {
		return ops, nil
	}
	layers := slices.Clone(chain)
	slices.Reverse(layers)
	if layers[len(layers)-1] != l {
		layers = append(layers, l)
	}
	return b.layerByLayer(why, layers...)
}

// productOf is the product of a chain.
func (b *builder) productOf(l *anec.Layer, chain []*anec.Layer) ([]*units.Op, *diag.Reason) {
	factors, why := factorsOf(chain)
	if why != nil {
		return nil, why
	}
	x, why1 := b.matricesAt(chain[len(chain)-1].Bottoms[0], anec.Identity)
	y, why2 := b.matricesAt(l.Top(), anec.Identity)
	if why := firstOf(why1, why2); why != nil {
		return nil, why
	}
	first, _ := permOf(chain[len(chain)-1])
	return b.eachBatch(x, y, first == permPlanes, factors)
}

// factorsOf are the matrices of a chain, the first first.
func factorsOf(chain []*anec.Layer) (factors []*factor, why *diag.Reason) {
	for i := len(chain) - 2; i >= 0; i-- {
		c := chain[i]
		after, why1 := afterButTranspose(c)
		weights, why2 := halves(c.Bottoms[1])
		if why := firstOf(why1, why2); why != nil {
			return nil, within(c, why)
		}
		d := c.Bottoms[1].Type.Dims
		f := &factor{weights: weights, inputs: d[anec.C], outputs: d[anec.N], after: after}
		bias := after.bias
		if given := segment.Bottom(c, 2); given != nil {
			if bias != nil {
				return nil, within(c, twoBiases())
			}
			bias = given
		}
		if bias != nil {
			if f.bias, why = halves(bias); why != nil {
				return nil, within(c, why)
			}
			if len(f.bias) != f.outputs {
				return nil, within(c, biasElements(bias, f.outputs, len(f.bias)))
			}
		}
		factors = append(factors, f.apart()...)
	}
	return factors, nil
}

// productParts is the products of one x with the parts of a matrix that legalization took apart, which a concatenation puts
// together. The array loads kernels of any size: it has the whole matrix, and rows come on chip once.
//
//	x ─┬─ product with rows 0 to 255 ─────┐
//	   └─ product with rows 256 to 511 ───┴─ concatenation along W ─ y
//
// nil if there are none.
func (b *builder) productParts(l *anec.Layer) []*anec.Layer {
	p, ok := l.Params.(*anec.Concat)
	if !ok || p.Axis != anec.W || !plainConcat(l, p) || len(l.Bottoms) < 2 {
		return nil
	}
	var parts []*anec.Layer
	for _, v := range l.Bottoms {
		d := v.Def
		if d == nil || !b.readOnce(v) || d.Kind() != anec.KindMatMul && d.Kind() != anec.KindLinear {
			return nil
		}
		z := d.Bottoms[1]
		if d.Bottoms[0] != l.Bottoms[0].Def.Bottoms[0] || isWeights(d.Bottoms[0]) || !isWeights(z) || z.Type.Dims[anec.N]*z.Type.Dims[anec.C] != 1 {
			return nil
		}
		parts = append(parts, d)
	}
	return parts
}

// joinProductParts finds such products.
func (b *builder) joinProductParts(l *anec.Layer) {
	for _, part := range b.productParts(l) {
		b.joined[part] = true
	}
}

// partsLayer is the concatenation of products that joinProductParts found.
func (b *builder) partsLayer(l *anec.Layer, parts []*anec.Layer) ([]*units.Op, *diag.Reason) {
	ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.wholeProduct(l, parts) })
	if why == nil {
		return ops, nil
	}
	return b.layerByLayer(why, append(parts, l)...)
}

func (b *builder) wholeProduct(l *anec.Layer, parts []*anec.Layer) ([]*units.Op, *diag.Reason) {
	var whole *factor
	var transposed bool
	for i, part := range parts {
		factors, other, why := constantFactors(part)
		if why := firstOf(why, withoutTranspose(part)); why != nil {
			return nil, within(part, why)
		}
		f := factors[0]
		if i == 0 {
			whole, transposed = f, other
			continue
		}
		a, o := &f.after, &whole.after
		sameAct := a.act == o.act || a.act != nil && o.act != nil && *a.act == *o.act
		if other != transposed || f.inputs != whole.inputs || a.scale != o.scale || a.offset != o.offset || !sameAct || (f.bias == nil) != (whole.bias == nil) {
			return nil, diag.Decline(diag.NativeOperand, "products of one value that are concatenated differ in more than their matrices")
		}
		whole.weights = append(whole.weights, f.weights...)
		whole.bias = append(whole.bias, f.bias...)
		whole.outputs += f.outputs
	}
	x, transposed, why1 := b.operand(parts[0].Bottoms[0], transposed)
	y, why2 := b.matricesAt(l.Top(), anec.Identity)
	if why := firstOf(why1, why2); why != nil {
		return nil, why
	}
	if whole.outputs != y.columns {
		return nil, diag.Decline(diag.NativeOperand, "the matrices of products that are concatenated have not the columns of the result").Measure(y.columns, whole.outputs)
	}
	return b.eachBatch(x, y, transposed, whole.apart())
}

// joinWithProduct finds x op product(x), all of which stays on chip.
func (b *builder) joinWithProduct(x, z *anec.Value) bool {
	chain := b.productChain(z.Def)
	if len(chain) != 2 || !isTranspose(chain[1], permRows) || chain[1].Bottoms[0] != x || !b.readOnce(z) {
		return false
	}
	d := x.Type.Dims
	if d[anec.N]*d[anec.C] != 1 || d[anec.W] < 16 || 3*d[anec.H]*(2*d[anec.W]+0x20)+0x20*d[anec.W] > b.OnChip/2 {
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
func (b *builder) withProduct(l *anec.Layer, kind td.EWKind, x *anec.Value, product *anec.Layer) ([]*units.Op, *diag.Reason) {
	chain := b.productChain(product)
	mx, why1 := b.surface(x)
	o, why2 := b.planarLayer(l, td.TypePlanarBinary)
	factors, why3 := factorsOf(chain)
	if why := firstOf(why1, why2, why3); why != nil {
		return nil, why
	}
	if len(factors) != 1 {
		return nil, diag.Decline(diag.NativeEpilogue, "the product is scaled and then has something added, which is a task of its own")
	}
	f := factors[0]
	size := o.In
	rows, inputs := size.H, size.W
	load := b.Bypass(size)
	load.Chip = b.ResidentChip(0, size)
	end := load.Chip.End(rows)
	load.Source1 = units.Source{Memory: mx, Chip: b.ArrayChip(end, size)}

	exchange := b.Exchanged(b.Bypass(units.Size{W: inputs, H: 1, D: 1, C: rows}))
	exchange.Source1 = units.Source{Chip: units.Chip{Channel: load.Chip.Row, Row: load.Chip.Depth, Depth: load.Chip.Depth}}
	exchange.Chip = units.Chip{Base: end, Channel: b.ChannelBytes(rows)}
	if exchange.Chip.Channel%0x80 == 0 {
		exchange.Chip.Channel += 0x10
	}
	exchange.Chip.Depth = inputs * exchange.Chip.Channel
	exchange.Chip.Row = exchange.Chip.Depth

	multiply := b.Bypass(units.Size{W: rows, H: 1, D: 1, C: inputs})
	multiply.Source1 = units.Source{Chip: exchange.Chip}
	multiply.Exchange = true
	result := b.ResidentChip(exchange.Chip.End(1), size) // of the planar engine's view: [1,M,N]
	multiply.Chip = units.Chip{Base: result.Base, Channel: result.Row, Row: rows * result.Row, Depth: rows * result.Row}
	if why := b.multiply(multiply, f, 0, f.outputs, b.MaxLanes/2); why != nil {
		return nil, why
	}
	o.Source1 = units.Source{Chip: load.Chip}
	second := result
	second.Channel, second.Depth = multiply.Chip.Row, multiply.Chip.Row
	o.Source2 = &units.Source{Chip: second}
	o.Operator, o.Negate2 = planarOperators[kind], kind == td.EWSub
	o.Chip = units.Chip{Base: result.End(rows)}
	return []*units.Op{load, exchange, multiply, o}, nil
}

func isTranspose(l *anec.Layer, perm anec.Perm) bool {
	p, ok := l.Params.(*anec.Transpose)
	return ok && p.Perm == perm
}
