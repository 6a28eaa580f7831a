package v256

import (
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// Kinds whose elements are each made of the elements at the same place.

var pointwiseEmitters = map[anec.Kind]emitter{
	anec.KindElementWise:       emitElementWise,
	anec.KindScaledElementWise: emitScaledElementWise,
	anec.KindSelect:            emitSelect,
	anec.KindNeuron:            emitNeuron,
	anec.KindNeuronCustom:      emitNeuronCustom,
	anec.KindGOC:               emitGOC,
	anec.KindDynamicGOC:        emitDynamicGOC,
	anec.KindCopy:              emitCopy,
	anec.KindTypeCast:          emitCopy,
	anec.KindDropout:           emitDropout,
	anec.KindQuant:             emitQuant,
	anec.KindDeQuant:           emitDeQuant,
	anec.KindRandom:            emitRandom,
}

// A kind with a class of its own leaves the third place of the class, which is Select's, to the epilogue.
func emitElementWise(e *emission) error {
	p := e.Params.(*anec.ElementWise)
	return e.begin(&td.ElementWise{Kind: p.Type}, e.bottom(0), e.bottom(1))
}

func emitScaledElementWise(e *emission) error {
	p := e.Params.(*anec.ScaledElementWise)
	return e.begin(&td.ScaledElementWise{Kind: p.Type, Scale: p.Scale}, e.bottom(0), e.bottom(1))
}

func emitSelect(e *emission) error {
	return e.begin(&td.ElementWise{Kind: td.EWSelect}, e.bottom(0), e.bottom(1), e.bottom(2))
}

// emitCopy also converts: a store converts as a model's cast does.
func emitCopy(e *emission) error { return e.begin(&td.Copy{}, e.bottom(0)) }

func emitDropout(e *emission) error {
	if p := e.Params.(*anec.Dropout); p.Rate != 0 {
		return fmt.Errorf("rate %g: only inference, with rate 0, is computed", p.Rate)
	}
	return emitCopy(e)
}

// emitNeuron is a copy and the function. Integers stay integers where the function has such a form: fp32 does not
// hold all of them.
func emitNeuron(e *emission) error {
	p := e.Params.(*anec.Neuron)
	if err := emitCopy(e); err != nil {
		return err
	}
	if slope := e.bottom(1); slope != nil {
		return e.prelu(slope)
	}
	if form, ok := integerForms[p.Type]; ok && !e.Bottoms[0].Type.DType.IsFloat() {
		e.op.Epilogue = append(e.op.Epilogue, form...)
		return nil
	}
	e.activation(&anec.Activation{Function: p.Type, A: p.A, B: p.B})
	return nil
}

// emitNeuronCustom has the table as fields.
func emitNeuronCustom(e *emission) error {
	stored := e.bottom(1).Const
	if !stored.Plain() {
		return errors.New("its table is not stored as it is")
	}
	table, err := td.DecodeTable(stored.Stored.Bytes())
	if err != nil {
		return err
	}
	return e.begin(&td.NeuronCustom{Table: *table}, e.bottom(0))
}

// integerForms are functions of integers in steps that the engine does on integers.
var integerForms = map[td.Function][]td.MicroOp{
	td.FuncAbs:    {{Code: td.MicroEW, Function: uint8(td.EWAbs)}},
	td.FuncSquare: {{Code: td.MicroEW, Function: uint8(td.EWSquare)}},
	td.FuncReLU:   {{Code: td.MicroEW, Function: uint8(td.EWMax), A: 0}},
	td.FuncSign: {
		{Code: td.MicroEW, Function: uint8(td.EWMax), A: -1},
		{Code: td.MicroEW, Function: uint8(td.EWMin), A: 1},
	},
	td.FuncFloor: nil, td.FuncCeil: nil, td.FuncTrunc: nil, td.FuncRoundNearest: nil, td.FuncInt: nil,
}

// prelu is max(v, 0) + slope*min(v, 0), the slope being a value. No step takes two, so that it has five:
//
//	0  relu            max(v, 0)
//	1  None, swapped   v again
//	2  Min 0
//	3  Mult slope
//	4  Add step 0
func (e *emission) prelu(slope *anec.Value) error {
	start := len(e.op.Epilogue)
	e.activation(&anec.Activation{Function: td.FuncReLU})
	e.add(td.MicroOp{Code: td.MicroEW, Function: uint8(td.EWNone), Swap: true, Source: td.FromStep(start - 1)})
	e.number(td.EWMin, 0)
	if err := e.pair(td.EWMult, slope); err != nil {
		return err
	}
	e.add(td.MicroOp{Code: td.MicroEW, Function: uint8(td.EWAdd), Source: td.FromStep(start)})
	return nil
}

func emitGOC(e *emission) error {
	p := e.Params.(*anec.GOC)
	if err := emitCopy(e); err != nil {
		return err
	}
	scale, bias := e.bottom(1), e.bottom(2)
	if scale == nil && bias == nil {
		e.add(td.MicroOp{Code: td.MicroScaleBias, A: p.Scale, B: p.Bias})
		return nil
	}
	if scale == nil && p.Scale != 1 {
		e.number(td.EWMult, p.Scale)
	}
	if err := e.gainOffset(scale, bias); err != nil {
		return err
	}
	if bias == nil && p.Bias != 0 {
		e.number(td.EWAdd, p.Bias)
	}
	return nil
}

func emitDynamicGOC(e *emission) error {
	if err := emitCopy(e); err != nil {
		return err
	}
	for i, k := range []td.EWKind{td.EWAdd, td.EWMult} { // the sum comes first
		if v := e.bottom(2 - i); v != nil {
			if err := e.pair(k, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func emitQuant(e *emission) error {
	return e.begin(&td.Quant{}, e.bottom(0), e.bottom(1), e.bottom(2))
}

func emitDeQuant(e *emission) error {
	p := e.Params.(*anec.DeQuant)
	return e.begin(&td.DeQuant{Blocks: p.Blocks, VectorAxis: p.VectorAxis},
		e.bottom(0), e.bottom(1), e.bottom(2), e.bottom(3), e.bottom(4))
}

func emitRandom(e *emission) error {
	p := e.Params.(*anec.Random)
	if p.Fresh {
		return errors.New(segment.FreshNumbers) // placement leaves it to the host
	}
	return e.begin(&td.RandomGenerator{Low: p.Low, High: p.High, Seed: uint32(p.Seed)})
}
