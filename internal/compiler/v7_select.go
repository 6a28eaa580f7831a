package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// selectV7 selects the tasks of a layer, in the words of H13's own encoding; false if they are not certain. A layer that
// moves nothing has none.
func selectV7(l *anec.Layer, b *v7build) ([]*v7op, bool) {
	for _, v := range append(l.Reads(), l.Tops...) {
		if v.Type.Dims[anec.D] != 1 && v.Const == nil {
			return nil, false
		}
	}
	if chain, ok := b.productChain(l); ok && b.joinedAll(chain, l) {
		return b.productLayer(l)
	}
	return b.attempt(func() ([]*v7op, bool) { return b.plain(l) })
}

// plain selects the tasks of a layer by itself.
func (b *v7build) plain(l *anec.Layer) ([]*v7op, bool) {
	switch p := l.Params.(type) {
	case *anec.ElementWise:
		return b.elementWise(l, p)
	case *anec.Neuron:
		return b.neuron(l, p)
	case *anec.Copy:
		return b.copyLayer(l)
	case *anec.TypeCast:
		return b.cast(l)
	case *anec.Transpose, *anec.InputView, *anec.Reshape:
		return b.view(l)
	case *anec.Reduction:
		return b.reduction(l, p)
	case *anec.Softmax:
		return b.softmax(l, p)
	case *anec.LayerNorm:
		return b.layerNorm(l, p)
	case *anec.Conv:
		return b.conv(l, p)
	case *anec.MatMul:
		return b.matMul(l, p)
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

// copyLayer is a copy, with what its epilogue does: one function, or a scale and a bias.
func (b *v7build) copyLayer(l *anec.Layer) ([]*v7op, bool) {
	if ops, ok := b.throughReLU(l); ok {
		return ops, true
	}
	after, ok := b.after(l)
	if !ok || after.bias != nil {
		return nil, false
	}
	x := l.Bottoms[0]
	switch plain := after.scale == 1 && after.offset == 0; {
	case plain && after.act == nil:
		o, ok := b.bypass(l, x)
		return []*v7op{o}, ok
	case plain:
		f, ok := functionOf(after.act)
		if !ok {
			return nil, false
		}
		o, ok := b.bypass(l, x)
		if ok {
			b.apply(o, f)
		}
		return []*v7op{o}, ok
	}
	o, ok := b.unary(l, x)
	return []*v7op{o}, ok
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

// cast is a bool read as a number.
func (b *v7build) cast(l *anec.Layer) ([]*v7op, bool) {
	x := l.Bottoms[0]
	if x.Type.DType != tensor.Bool || l.Top().Type.DType != tensor.Float16 || !l.Epilogue.Empty() {
		return nil, false
	}
	o, ok := b.unary(l, x)
	return []*v7op{o}, ok
}

// join finds layers that the tasks of l compute along: a function of an operand, the flattening of a result.
func (b *v7build) join(l *anec.Layer) {
	b.joinFlat(l)
	b.joinProducts(l)
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
