package ops

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The recurrent operations run a cell over the steps of a sequence. Their weights stack the gates of the
// cell: weight_ih is [gates·hidden, input], weight_hh [gates·hidden, hidden], bias [gates·hidden].

var recurrentOps = []Def{
	{
		Name: "rnn",
		Doc:  "the plain recurrent layer: h' = activation(W_ih·x + W_hh·h + bias)",
		Versions: fp16Since17(func(t TypeSet) []Param {
			return append(recurrentParams(t), OptConst("activation", Str, "tanh"))
		}),
		Infer: inferRNN,
		Eval:  unlessEmpty(evalRNN),
		Lower: lowerRNN,
	},
	{
		Name: "gru",
		Doc:  "the gated recurrent unit, its gates in the order reset, output, update",
		Versions: append(fp16Since17(gruParams), Version{
			Since: IOS18,
			Params: append(gruParams(Float),
				OptConst("reset_after", B, false),
				OptConst("input_bias", Float, nil).As("T")),
		}),
		Infer: inferGRU,
		Eval:  unlessEmpty(evalGRU),
		Lower: lowerGRU,
	},
	{
		Name:     "lstm",
		Doc:      "long short-term memory, in one direction or both, its gates in the order input, forget, output, cell",
		Versions: fp16Since17(lstmParams),
		Infer:    inferLSTM,
		Eval:     unlessEmpty(evalLSTM),
		Lower:    lowerLSTM,
	},
}

// fp16Since17 makes the two versions of a signature that took fp32 alone before iOS17.
func fp16Since17(params func(TypeSet) []Param) []Version {
	return []Version{{Since: IOS15, Params: params(F32)}, {Since: IOS17, Params: params(Float)}}
}

func recurrentParams(t TypeSet) []Param {
	return []Param{
		In("x", t).As("T"),
		In("initial_h", t).As("T"),
		Const("weight_ih", t).As("T"),
		Const("weight_hh", t).As("T"),
		OptConst("bias", t, nil).As("T"),
		OptConst("direction", Str, "forward"),
		OptConst("output_sequence", B, false),
	}
}

func gruParams(t TypeSet) []Param {
	return append(recurrentParams(t),
		OptConst("recurrent_activation", Str, "sigmoid"),
		OptConst("activation", Str, "tanh"))
}

func lstmParams(t TypeSet) []Param {
	return append(recurrentParams(t),
		In("initial_c", t).As("T"),
		OptConst("peephole", t, nil).As("T"),
		OptConst("weight_ih_back", t, nil).As("T"),
		OptConst("weight_hh_back", t, nil).As("T"),
		OptConst("bias_back", t, nil).As("T"),
		OptConst("peephole_back", t, nil).As("T"),
		OptConst("recurrent_activation", Str, "sigmoid"),
		OptConst("cell_activation", Str, "tanh"),
		OptConst("activation", Str, "tanh"),
		OptConst("clip", t, nil).As("T"))
}

// cellActivations are the functions that a cell may apply, with the parameters that Core ML gives them:
// scaled_tanh is alpha·tanh(beta·x) with both 1.
var cellActivations = map[string]func(float32) float32{
	"tanh":         tanh32,
	"scaled_tanh":  tanh32,
	"sigmoid":      func(v float32) float32 { return float32(1 / (1 + math.Exp(-float64(v)))) },
	"hard_sigmoid": hardSigmoid,
	"sigmoid_hard": hardSigmoid, // as the documentation of rnn spells it
	"relu":         func(v float32) float32 { return max(v, 0) },
	"linear":       func(v float32) float32 { return v },
}

func tanh32(v float32) float32 { return float32(math.Tanh(float64(v))) }

func hardSigmoid(v float32) float32 { return min(max(float32(0.2*v)+0.5, 0), 1) }

func cellActivation(c *Call, param string) func(float32) float32 {
	return cellActivations[strings.ToLower(c.Str(param))]
}

func checkActivations(c *Call, params ...string) error {
	for _, p := range params {
		if cellActivation(c, p) == nil {
			return fmt.Errorf("%s is %q, expected tanh, scaled_tanh, sigmoid, hard_sigmoid, relu or linear", p, c.Str(p))
		}
	}
	return nil
}

func inferRNN(c *Call) ([]mil.Type, error) {
	if err := checkActivations(c, "activation"); err != nil {
		return nil, err
	}
	return inferOneWay(c, 1)
}

func inferGRU(c *Call) ([]mil.Type, error) {
	if err := checkActivations(c, "activation", "recurrent_activation"); err != nil {
		return nil, err
	}
	types, err := inferOneWay(c, 3)
	if err != nil {
		return nil, err
	}
	return types, checkVector(c, "input_bias", 3*c.Shape("weight_hh")[1])
}

// inferOneWay is the type rule of a layer with one direction.
func inferOneWay(c *Call, gates tensor.Dim) ([]mil.Type, error) {
	if d := c.Str("direction"); d != "forward" && d != "reverse" {
		return nil, fmt.Errorf("direction is %q, expected forward or reverse", d)
	}
	hidden, err := checkWeights(c, gates, "")
	if err != nil {
		return nil, err
	}
	return recurrentTypes(c, hidden, "initial_h")
}

func inferLSTM(c *Call) ([]mil.Type, error) {
	if err := checkActivations(c, "activation", "recurrent_activation", "cell_activation"); err != nil {
		return nil, err
	}
	if c.Known("clip") && !(c.Float("clip") >= 0) {
		return nil, fmt.Errorf("clip is %v, expected 0 or more", c.Float("clip"))
	}
	hidden, err := checkWeights(c, 4, "")
	if err != nil {
		return nil, err
	}
	if err := checkVector(c, "peephole", 3*hidden); err != nil {
		return nil, err
	}
	switch d := c.Str("direction"); d {
	case "forward", "reverse":
		return recurrentTypes(c, hidden, "initial_h", "initial_c")
	case "bidirectional":
	default:
		return nil, fmt.Errorf("direction is %q, expected forward, reverse or bidirectional", d)
	}
	if !c.Has("weight_ih_back") || !c.Has("weight_hh_back") {
		return nil, errors.New("a bidirectional lstm needs weight_ih_back and weight_hh_back")
	}
	back, err := checkWeights(c, 4, "_back")
	if err != nil {
		return nil, err
	}
	if back != hidden {
		return nil, fmt.Errorf("weight_hh_back is for %v hidden elements, weight_hh for %v", back, hidden)
	}
	if err := checkVector(c, "peephole_back", 3*hidden); err != nil {
		return nil, err
	}
	return recurrentTypes(c, 2*hidden, "initial_h", "initial_c")
}

// checkWeights checks the weights and the bias of one direction and returns the length of the hidden state.
func checkWeights(c *Call, gates tensor.Dim, suffix string) (tensor.Dim, error) {
	if c.Rank("x") != 3 {
		return 0, fmt.Errorf("x has shape %v, expected rank 3: steps, batch, input", c.Shape("x"))
	}
	if c.Shape("x")[2] == 0 { // nothing would bound the number of steps
		return 0, fmt.Errorf("x has shape %v, expected one element or more in each step", c.Shape("x"))
	}
	ih, hh := c.Shape("weight_ih"+suffix), c.Shape("weight_hh"+suffix)
	if len(hh) != 2 || !hh.Known() || hh[0] != gates*hh[1] {
		return 0, fmt.Errorf("weight_hh%s has shape %v, expected [%vH, H] for a hidden state of length H", suffix, hh, gates)
	}
	want := tensor.Shape{hh[0], c.Shape("x")[2]}
	if !ih.Known() || !ih.Compatible(want) {
		return 0, fmt.Errorf("weight_ih%s has shape %v, expected %v", suffix, ih, want)
	}
	return hh[1], checkVector(c, "bias"+suffix, hh[0])
}

// checkVector checks the length of an optional vector.
func checkVector(c *Call, param string, length tensor.Dim) error {
	if want := (tensor.Shape{length}); c.Has(param) && !c.Shape(param).Equal(want) {
		return fmt.Errorf("%s has shape %v, expected %v", param, c.Shape(param), want)
	}
	return nil
}

// recurrentTypes checks the initial states against a width and returns the output types: the sequence, then
// the final state for each initial one.
func recurrentTypes(c *Call, width tensor.Dim, initial ...string) ([]mil.Type, error) {
	x := c.Type("x")
	state := tensor.Shape{x.Shape[1], width}
	for _, p := range initial {
		if !c.Shape(p).Compatible(state) {
			return nil, fmt.Errorf("%s has shape %v, expected %v", p, c.Shape(p), state)
		}
		if b := c.Shape(p)[0]; b.Known() {
			state[0] = b
		}
	}
	steps := tensor.Dim(1)
	if c.Bool("output_sequence") {
		steps = x.Shape[0]
	}
	types := []mil.Type{&mil.TensorType{DType: x.DType, Shape: tensor.Shape{steps, state[0], width}}}
	for range initial {
		types = append(types, &mil.TensorType{DType: x.DType, Shape: state})
	}
	return types, nil
}
