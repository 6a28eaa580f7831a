package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Neuron is a function of each element. slope replaces A for each channel: for
// PReLU alone.
//
// The descriptor has seven constants, of which a netplist names those that the
// function has: ReluSlope, ReluOffset, ReluMin, ReluMax, EluAlpha are known. A and
// B are those that package td gives the function.
type Neuron struct {
	Type td.Function `net:"Type"`
	A    float32
	B    float32
}

var neuronNames = map[string]string{
	"relu": "relu", "clamped_relu": "clamped_relu", "relun": "relu_n", "prelu": "prelu", "elu": "elu", "gelu": "gelu", "swish": "swish",
	"sigmoid": "sigmoid", "tanh": "tanh", "softplus": "softplus", "softsign": "softsign", "erf": "erf",
	"abs": "abs", "sign": "sign", "sqr": "square", "sqrt": "sqrt", "rsqrt": "rsqrt", "inv": "invert", "exp": "exp", "exp2": "exp2", "log2": "log2",
	"floor": "floor", "ceil": "ceil", "round_nearest": "round", "sin": "sin", "cos": "cos", "atan": "atan",
}

var neuronInfo = KindInfo{
	Kind: KindNeuron, Name: "Neuron", Dialect: Dialect{"neuron", "Type", neuronNames}, Standing: Descriptor, Desc: "Neuron", Class: td.ClassNeuron,
	Sources: "export desc plist unit C", Unsure: "the keys of two of the seven constants",
	New: func() Params { return &Neuron{} }, Contract: contract("y", "x slope?~"),
	Example: Example{"Type=relu", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: validateNeuron, Codegen: neuronCodegen,

	Unit: OnArray, Epilogue: EpilogueArray, TextureSlot: No, Broadcasts: Yes, Integers: Yes, Hidden: No,
	View: noView, InPlace: overAny, Rows: sameRows, AtLoad: always, Cost: perResult(1),
}

func (*Neuron) Info() *KindInfo { return &neuronInfo }

func (p *Neuron) infer(o *operands) ([]Type, error) {
	if err := valid(p.Type); err != nil {
		return nil, err
	}
	if p.Type == td.FuncCustomLUT {
		return nil, fmt.Errorf("a table of its own goes into a NeuronCustom layer")
	}
	if o.has(1) && p.Type != td.FuncPReLU {
		return nil, fmt.Errorf("%v takes no slope for each channel", p.Type)
	}
	if err := o.fits(Dims{1, 1, o.dims(0)[C], 1, 1}, allAxes, 1); err != nil {
		return nil, err
	}
	return like(o)
}

// NeuronCustom is a function of each element given by a table: the 128 bytes of
// a td.Table, as uint16.
type NeuronCustom struct{}

// tableWords is the length of a stored td.Table.
const tableWords = 64

var neuronCustomInfo = KindInfo{
	Kind: KindNeuronCustom, Name: "NeuronCustom", Dialect: Dialect{Name: "neuron_custom"}, Standing: UnitOnly, Class: td.ClassNeuronCustom,
	Sources: "26 C", Unsure: "its keys; the table as an operand",
	New: func() Params { return &NeuronCustom{} }, Contract: contract("y", "x table!"),
	Example: Example{"", "fp16[1,1,8,16,16] !uint16[1,1,1,1,64]"},

	NoValidator: "its parser wants two sets of keys and then rejects both together (guide 26): Codegen",
	Codegen:     neuronCustomCodegen,

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overFirst, Rows: firstSameRows, AtLoad: always, Cost: perResult(1),
}

func (*NeuronCustom) Info() *KindInfo { return &neuronCustomInfo }

func (p *NeuronCustom) infer(o *operands) ([]Type, error) {
	if err := o.want(1, Dims{1, 1, 1, 1, tableWords}); err != nil {
		return nil, err
	}
	if d := o.types[1].DType; d != tensor.UInt16 {
		return nil, fmt.Errorf("table is of %v, want uint16", d)
	}
	return like(o)
}
