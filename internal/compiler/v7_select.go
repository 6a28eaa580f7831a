package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// selectV7 selects the tasks of a layer, in the words of H13's own encoding; false if they are not certain. A layer that
// moves nothing has none.
func selectV7(l *anec.Layer, b *v7build) ([]*v7op, bool) {
	if !pointwise[l.Kind()] && !moving[l.Kind()] {
		for _, v := range append(l.Reads(), l.Tops...) {
			if v.Type.Dims[anec.D] != 1 && v.Const == nil {
				return nil, false
			}
		}
	}
	if chain, ok := b.productChain(l); ok && b.joinedAll(chain, l) {
		return b.productLayer(l)
	}
	if parts, ok := b.productParts(l); ok && b.joinedAll(parts, l) {
		return b.partsLayer(l, parts)
	}
	if layers, ok := b.headsOf(l); ok && b.joinedAll(layers, l) {
		return b.attentionLayer(l, layers)
	}
	return b.attempt(func() ([]*v7op, bool) { return b.plain(l) })
}

// pointwise are the kinds that work on each element by itself: to them depth is another batch.
var pointwise = map[anec.Kind]bool{
	anec.KindElementWise: true, anec.KindNeuron: true, anec.KindCopy: true, anec.KindTypeCast: true, anec.KindGOC: true, anec.KindSelect: true,
	// To these it is an axis as any other.
	anec.KindPooling: true, anec.KindReduction: true, anec.KindSoftmax: true, anec.KindLayerNorm: true, anec.KindInstanceNorm: true, anec.KindL2Norm: true,
}

// plain selects the tasks of a layer by itself.
func (b *v7build) plain(l *anec.Layer) ([]*v7op, bool) {
	switch p := l.Params.(type) {
	case *anec.ElementWise:
		return b.elementWise(l, p)
	case *anec.Neuron:
		return b.neuronLayer(l, p)
	case *anec.Copy:
		if ops, ok := b.copyLayer(l); ok {
			return ops, true
		}
		return b.carry(l)
	case *anec.TypeCast:
		return b.cast(l)
	case *anec.GOC:
		return b.gainOffset(l, p)
	case *anec.Select:
		return b.selection(l)
	case *anec.Pooling:
		if ops, ok := b.attempt(func() ([]*v7op, bool) { return b.pooling(l, p) }); ok {
			return ops, true
		}
		return b.windows(l, p)
	case *anec.Transpose, *anec.InputView, *anec.Reshape, *anec.Broadcast:
		return b.view(l)
	case *anec.Concat:
		return b.concat(l, p)
	case *anec.Padding:
		return b.padding(l, p)
	case *anec.Tile:
		return b.tile(l, p)
	case *anec.Gather:
		return b.gathered(l, p)
	case *anec.PixelShuffle:
		return b.rearrange(l, p.Factors, anec.C, true, true)
	case *anec.PixelUnshuffle:
		return b.rearrange(l, p.Factors, anec.C, false, true)
	case *anec.ChannelToSpace:
		return b.rearrange(l, p.Factors, anec.C, true, false)
	case *anec.SpaceToChannel:
		return b.rearrange(l, p.Factors, anec.C, false, false)
	case *anec.BatchToSpace:
		return b.rearrange(l, p.Factors, anec.N, true, false)
	case *anec.SpaceToBatch:
		return b.rearrange(l, p.Factors, anec.N, false, false)
	case *anec.Reduction:
		return b.reduction(l, p)
	case *anec.Softmax:
		return b.softmax(l, p)
	case *anec.LayerNorm:
		return b.layerNorm(l, p)
	case *anec.InstanceNorm:
		return b.instanceNorm(l, p)
	case *anec.L2Norm:
		return b.l2Norm(l, p)
	case *anec.Conv:
		if !isWeights(l.Bottoms[1]) {
			return b.liveConv(l, p)
		}
		return b.conv(l, p)
	case *anec.DeQuant:
		return decodedWeights(l)
	case *anec.MatMul:
		return b.matMul(l, p)
	case *anec.Linear:
		return b.linear(l)
	case *anec.SDPA:
		return b.attention(l, p)
	}
	return nil, false
}

// A v7after is what a layer does with its result, as far as one task can: act(v*scale + offset), or a bias for each
// channel.
type v7after struct {
	scale, offset float32
	bias          *anec.Value
	act           *anec.Activation
}

// after reads a layer's epilogue; false if it is not of this form.
func (b *v7build) after(l *anec.Layer) (v7after, bool) {
	a, ok := afterButTranspose(l)
	return a, ok && l.Epilogue.Transpose == nil
}

func afterButTranspose(l *anec.Layer) (v7after, bool) {
	a := v7after{scale: 1}
	e := &l.Epilogue
	if e.Texture != nil || e.Broadcast != (anec.Dims{}) || e.Quant != nil || l.OutputType != tensor.Invalid {
		return a, false
	}
	if e.Pre != nil {
		if e.GOC != nil || e.Post != nil || len(e.Steps) > 0 {
			return a, false
		}
		a.act = e.Pre
		return a, true
	}
	if g := e.GOC; g != nil {
		if !a.multiply(g.Gain) || !a.add(g.Offset) {
			return a, false
		}
	}
	a.act = e.Post
	for i := range e.Steps {
		if !a.step(&e.Steps[i]) {
			return a, false
		}
	}
	return a, true
}

func (a *v7after) multiply(v *anec.Value) bool {
	if v == nil {
		return true
	}
	s, ok := scalarHalf(v)
	if !ok || a.offset != 0 || a.bias != nil || a.act != nil {
		return false
	}
	a.scale = tensor.RoundF16(a.scale * tensor.F16(s))
	return true
}

func (a *v7after) add(v *anec.Value) bool {
	if v == nil {
		return true
	}
	if a.offset != 0 || a.bias != nil || a.act != nil {
		return false
	}
	if s, ok := scalarHalf(v); ok {
		a.offset = tensor.F16(s)
		return true
	}
	if v.Const == nil {
		return false
	}
	a.bias = v
	return true
}

func (a *v7after) step(s *anec.Step) bool {
	if s.Earlier != 0 || s.Swap || a.act != nil {
		return false
	}
	number := s.Operand == nil
	switch {
	case s.Code == td.MicroActivation:
		a.act = &anec.Activation{Function: s.Function, A: s.A, B: s.B}
		return true
	case s.Code == td.MicroScaleBias && a.scale == 1 && a.offset == 0 && a.bias == nil:
		a.scale, a.offset = s.A, s.B
		return true
	case s.Code == td.MicroEW && s.EW == td.EWMult && number:
		ok := a.offset == 0 && a.bias == nil
		a.scale *= s.A
		return ok
	case s.Code == td.MicroEW && s.EW == td.EWMult:
		return a.multiply(s.Operand)
	case s.Code == td.MicroEW && s.EW == td.EWAdd && number:
		ok := a.offset == 0 && a.bias == nil
		a.offset = s.A
		return ok
	case s.Code == td.MicroEW && s.EW == td.EWAdd:
		return a.add(s.Operand)
	}
	return false
}

// neuronLayer is a function of each element.
func (b *v7build) neuronLayer(l *anec.Layer, p *anec.Neuron) ([]*v7op, bool) {
	x := l.Bottoms[0]
	if len(l.Bottoms) > 1 && l.Bottoms[1] != nil {
		return b.preluLayer(l, x, l.Bottoms[1])
	}
	if ops, ok := b.attempt(func() ([]*v7op, bool) { return b.neuron(l, p) }); ok {
		return ops, true
	}
	return b.stageLayer(l, x, v7stage{act: &anec.Activation{Function: p.Type, A: p.A, B: p.B}})
}

// preluLayer is a relu with a slope for each channel.
func (b *v7build) preluLayer(l *anec.Layer, x, slope *anec.Value) ([]*v7op, bool) {
	r := stageReader{channels: x.Type.Dims[anec.C]}
	slopes, ok := r.perChannel(slope)
	if !ok || x.Type.DType != tensor.Float16 {
		return nil, false
	}
	return b.chained(l, func(c *v7chain, _ v7tensor, to *v7surface, stages []v7stage) bool {
		t, ok := b.tensorOf(x)
		return ok && foldable(stages) == len(stages) && c.prelu(t, slopes, to, func(o *v7op) { fold(o, stages) })
	})
}

// gainOffset is x*scale + bias, each a number or a constant with one for each channel.
func (b *v7build) gainOffset(l *anec.Layer, p *anec.GOC) ([]*v7op, bool) {
	r := stageReader{channels: l.Bottoms[0].Type.Dims[anec.C], ok: true}
	scale, bias := optional(l.Bottoms, 1), optional(l.Bottoms, 2)
	if scale == nil {
		r.scaleBias(p.Scale, 0)
	}
	r.multiply(scale)
	if bias == nil {
		r.scaleBias(1, p.Bias)
	}
	r.add(bias)
	if !r.ok {
		return nil, false
	}
	return b.stageLayer(l, l.Bottoms[0], r.list...)
}

// optional is an operand that may be missing.
func optional(bottoms []*anec.Value, i int) *anec.Value {
	if i < len(bottoms) {
		return bottoms[i]
	}
	return nil
}

// copyLayer is a copy, with what its epilogue does.
func (b *v7build) copyLayer(l *anec.Layer) ([]*v7op, bool) {
	if ops, ok := b.throughReLU(l); ok {
		return ops, true
	}
	x, y := l.Bottoms[0], l.Top()
	if x.Type.DType == tensor.Bool && y.Type.DType == tensor.Bool && x.Const == nil {
		return b.signLayer(l, x, isNotZero)
	}
	if ops, ok := b.attempt(func() ([]*v7op, bool) { return b.stageLayer(l, x) }); ok || !bare(l) {
		return ops, ok
	}
	from, ok1 := b.layout(x)
	to, ok2 := b.layout(y)
	if !ok1 || !ok2 || x.Type.Dims != y.Type.Dims {
		return nil, false
	}
	return b.moves(moveOf(y.Type.Dims, from, to))
}

// throughReLU is an elementwise layer of which one operand is read through relu: relu(x) op z.
func (b *v7build) throughReLU(l *anec.Layer) ([]*v7op, bool) {
	e := &l.Epilogue
	if e.Pre != nil || e.GOC != nil || e.Post == nil || e.Post.Function != td.FuncReLU || len(e.Steps) != 1 || e.Transpose != nil || e.Quant != nil {
		return nil, false
	}
	s := &e.Steps[0]
	if s.Code != td.MicroEW || s.Operand == nil || s.Operand.Const != nil || s.Earlier != 0 || !planarJoin[s.EW] {
		return nil, false
	}
	return b.pair(l, s.EW, s.Operand, l.Bottoms[0], true, !s.Swap)
}

// cast reads a bool as a number, or a number as a bool; of fp16 to fp16 it is a copy.
func (b *v7build) cast(l *anec.Layer) ([]*v7op, bool) {
	x, y := l.Bottoms[0], l.Top()
	switch from, to := x.Type.DType, y.Type.DType; {
	case from == tensor.Bool && to == tensor.Float16 && x.Const == nil:
		return b.chained(l, func(c *v7chain, _ v7tensor, to *v7surface, stages []v7stage) bool {
			t, ok := b.tensorOf(x)
			if !ok || foldable(stages) < len(stages) {
				return false
			}
			c.one(t, to, func(o *v7op) { fold(o, stages) })
			return true
		})
	case from == tensor.Float16 && to == tensor.Bool:
		return b.signLayer(l, x, isNotZero)
	case x.Const != nil && from != to && to == tensor.Float16 && x.Const.Plain() && b.plan == nil: // a plan has it made when the program is loaded
		rounded, err := x.Const.Stored.Convert(to)
		if err != nil {
			return nil, false
		}
		of := *l
		of.Params, of.Bottoms = &anec.Copy{}, []*anec.Value{{Name: x.Name, Type: y.Type, Const: anec.ConstantOf(rounded)}}
		return b.copyLayer(&of)
	}
	return b.stageLayer(l, x)
}

// join finds layers that the tasks of l compute along: a function of an operand, the flattening of a result.
func (b *v7build) join(l *anec.Layer) {
	b.joinParts(l)
	b.joinFlat(l)
	b.joinProducts(l)
	b.joinProductParts(l)
	b.joinAttention(l)
	p, ok := l.Params.(*anec.ElementWise)
	if !ok || len(l.Bottoms) != 2 || !planarJoin[p.Type] {
		return
	}
	z := l.Bottoms[1]
	if z == nil || z.Def == nil || z.Type.Dims != l.Bottoms[0].Type.Dims || l.Bottoms[0].Const != nil {
		return
	}
	if b.joinWithProduct(l.Bottoms[0], z) {
		return
	}
	n, ok := z.Def.Params.(*anec.Neuron)
	if !ok || !z.Def.Epilogue.Empty() || len(z.Uses) != 1 || b.graph.IsOutput(z) || l.Bottoms[0] == z {
		return
	}
	if len(z.Def.Bottoms) > 1 && z.Def.Bottoms[1] != nil {
		return
	}
	d := z.Type.Dims
	itself := z.Def.Bottoms[0] == l.Bottoms[0] && d == anec.Dims{1, 1, d[anec.C], 1, 1} && 0x20*d[anec.C] < v7chipBytes
	f, known := functionOf(&anec.Activation{Function: n.Type, A: n.A, B: n.B})
	if n.Type == td.FuncReLU || itself && known && f.table != nil && f.epsilon == 0 {
		b.joined[z.Def] = true
	}
}

var planarJoin = map[td.EWKind]bool{td.EWAdd: true, td.EWSub: true, td.EWMult: true, td.EWMax: true, td.EWMin: true}
