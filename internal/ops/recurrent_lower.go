package ops

import (
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A recurrent operation is unrolled: what the input contributes to the gates is one product for all steps, then each
// step is a product with the state and a few layers on its gates.
//
//	pre     Linear(x)                       1,1,steps,batch,gates·hidden
//	step t  part t of pre + Linear(h)       1,1,1,batch,gates·hidden, a gate is a part along W
//	        … the cell …                    1,1,1,batch,hidden
//	result  Concat of all h along C         1,1,steps,batch,hidden
//
// All that is between is fp32, as in the evaluation.

// maxUnrolledSteps is the number of steps up to which a sequence is unrolled: more make a program that takes longer to
// compile and to load than the sequence takes to run.
const maxUnrolledSteps = 128

// cellFunctions are the activations of a cell as functions of a task.
var cellFunctions = map[string]anec.Neuron{
	"tanh":         {Type: td.FuncTanh},
	"scaled_tanh":  {Type: td.FuncTanh},
	"sigmoid":      {Type: td.FuncSigmoid},
	"hard_sigmoid": {Type: td.FuncSigmoidHard, A: 0.2, B: 0.5},
	"sigmoid_hard": {Type: td.FuncSigmoidHard, A: 0.2, B: 0.5},
	"relu":         {Type: td.FuncReLU},
	"linear":       {Type: td.FuncNone},
}

// recurrence is a recurrent layer in one direction on its way to layers.
type recurrence struct {
	*Lowering
	steps, hidden int
	pre           *anec.Value // what the input contributes, of all steps
	weightHH      *anec.Value
}

// newRecurrence adds the product for all steps. The bias may be nil.
func (l *Lowering) newRecurrence(suffix string, bias *anec.Value) (*recurrence, error) {
	steps := int(l.Shape("x")[0])
	switch {
	case steps > maxUnrolledSteps:
		return nil, l.Refuse("a sequence of %d steps: at most %d are unrolled", steps, maxUnrolledSteps)
	case steps == 0:
		return nil, l.Refuse("a sequence without steps")
	}
	r := &recurrence{Lowering: l, steps: steps, hidden: int(l.Shape("weight_hh" + suffix)[1])}
	r.weightHH = l.In("weight_hh" + suffix)
	r.pre = r.linear("input", l.In("x"), l.In("weight_ih"+suffix), bias)
	return r, nil
}

// optional is an argument that may be left out.
func (l *Lowering) optional(param string) *anec.Value {
	if !l.Has(param) {
		return nil
	}
	return l.In(param)
}

// linear is a product in fp32 with the rows of a matrix.
func (r *recurrence) linear(what string, x, w, bias *anec.Value) *anec.Value {
	return r.LayerAs(tensor.Float32, r.Name()+"_"+what, &anec.Linear{Axis: anec.W}, x, w, bias)
}

// pair combines two values in fp32.
func (r *recurrence) pair(k td.EWKind, a, b *anec.Value) *anec.Value {
	return r.LayerAs(tensor.Float32, r.Name()+"_"+strings.ToLower(k.String()), &anec.ElementWise{Type: k}, a, b)
}

// activate applies the activation that a parameter names.
func (r *recurrence) activate(param string, x *anec.Value) *anec.Value {
	f := cellFunctions[strings.ToLower(r.Str(param))]
	if f.Type == td.FuncNone {
		return x
	}
	return r.Layer(r.Name()+"_"+f.Type.String(), &f, x)
}

// gates is a run of n gates from the first on, of values that have all of them along W.
func (r *recurrence) gates(v *anec.Value, first, n int) *anec.Value {
	return r.part(v, anec.W, first*r.hidden, n*r.hidden)
}

// rows is the part of the matrix of the state that makes some gates.
func (r *recurrence) rows(first, n int) *anec.Value {
	return r.part(r.weightHH, anec.H, first*r.hidden, n*r.hidden)
}

// run calls step for each step, in the order of processing, with what the input contributes to it, and returns its
// results by their place in time.
func (r *recurrence) run(reverse bool, step func(pre *anec.Value) (h *anec.Value)) []*anec.Value {
	out := make([]*anec.Value, r.steps)
	for iteration := range r.steps {
		time := iteration
		if reverse {
			time = r.steps - 1 - iteration
		}
		out[time] = step(r.part(r.pre, anec.C, time, 1))
	}
	return out
}

// sequence puts the results of all steps side by side.
func (l *Lowering) sequence(steps []*anec.Value) *anec.Value {
	if len(steps) == 1 {
		return steps[0]
	}
	return l.Layer(l.Name()+"_sequence", &anec.Concat{Axis: anec.C}, steps...)
}

// state is an initial state of one direction in fp32: columns of the argument.
func (r *recurrence) state(param string, direction int) *anec.Value {
	return r.Cast(r.gates(r.In(param), direction, 1), tensor.Float32)
}

// giveOneWay runs a layer with one direction and hands over its results: with direction reverse, in the order of
// processing.
func (r *recurrence) giveOneWay(step func(pre, h *anec.Value) *anec.Value) {
	h := r.state("initial_h", 0)
	var iterations []*anec.Value
	r.run(r.Str("direction") == "reverse", func(pre *anec.Value) *anec.Value {
		h = step(pre, h)
		iterations = append(iterations, h)
		return h
	})
	last := r.Cast(h, r.OutDType(1))
	if r.Bool("output_sequence") {
		r.Give(0, r.Cast(r.sequence(iterations), r.OutDType(0)))
	} else {
		r.Give(0, last)
	}
	r.Give(1, last)
}

func lowerRNN(l *Lowering) error {
	r, err := l.newRecurrence("", l.optional("bias"))
	if err != nil {
		return err
	}
	r.giveOneWay(func(pre, h *anec.Value) *anec.Value {
		return r.activate("activation", r.pair(td.EWAdd, r.linear("state", h, r.weightHH, nil), pre))
	})
	return nil
}

// lowerGRU: the formulas stand at evalGRU; (1 - z)·o + z·h is o + z·(h - o), which needs no constant.
func lowerGRU(l *Lowering) error {
	const reset, output, update = 0, 1, 2
	after := l.Has("reset_after") && l.Bool("reset_after")
	bias := l.optional("bias")
	if after {
		bias = l.optional("input_bias")
	}
	r, err := l.newRecurrence("", bias)
	if err != nil {
		return err
	}
	if !after && l.Has("input_bias") {
		r.pre = r.pair(td.EWAdd, r.pre, l.In("input_bias"))
	}
	r.giveOneWay(func(pre, h *anec.Value) *anec.Value {
		var o, z *anec.Value
		if after {
			state := r.linear("state", h, r.weightHH, l.optional("bias"))
			part := func(gate int) *anec.Value { return r.gates(state, gate, 1) }
			open := r.activate("recurrent_activation", r.pair(td.EWAdd, part(reset), r.gates(pre, reset, 1)))
			o = r.pair(td.EWAdd, r.pair(td.EWMult, open, part(output)), r.gates(pre, output, 1))
			z = r.pair(td.EWAdd, part(update), r.gates(pre, update, 1))
		} else {
			gate := func(g int, h *anec.Value) *anec.Value {
				return r.pair(td.EWAdd, r.linear("state", h, r.rows(g, 1), nil), r.gates(pre, g, 1))
			}
			kept := r.pair(td.EWMult, r.activate("recurrent_activation", gate(reset, h)), h)
			o, z = gate(output, kept), gate(update, h)
		}
		o, z = r.activate("activation", o), r.activate("recurrent_activation", z)
		return r.pair(td.EWAdd, r.pair(td.EWMult, r.pair(td.EWSub, h, o), z), o)
	})
	return nil
}

// lowerLSTM: the formulas stand at evalLSTM.
func lowerLSTM(l *Lowering) error {
	direction := l.Str("direction")
	suffixes := []string{""}
	if direction == "bidirectional" {
		suffixes = []string{"", "_back"}
	}
	var sequences, hs, cells []*anec.Value
	for d, suffix := range suffixes {
		r, err := l.newRecurrence(suffix, l.optional("bias"+suffix))
		if err != nil {
			return err
		}
		h, cell := r.state("initial_h", d), r.state("initial_c", d)
		var iterations []*anec.Value
		times := r.run(direction == "reverse" || d == 1, func(pre *anec.Value) *anec.Value {
			h, cell = r.lstmStep(pre, h, cell, suffix)
			iterations = append(iterations, h)
			return h
		})
		switch {
		case !l.Bool("output_sequence"):
		case direction == "bidirectional":
			sequences = append(sequences, l.sequence(times))
		default:
			sequences = append(sequences, l.sequence(iterations))
		}
		hs, cells = append(hs, h), append(cells, cell)
	}
	both := func(out int, parts []*anec.Value) *anec.Value {
		v := parts[0]
		if len(parts) > 1 {
			v = l.Layer(l.Name()+"_both", &anec.Concat{Axis: anec.W}, parts...)
		}
		return l.Cast(v, l.OutDType(out))
	}
	h := both(1, hs)
	l.Give(0, h)
	if len(sequences) > 0 {
		l.Give(0, both(0, sequences))
	}
	l.Give(1, h)
	l.Give(2, both(2, cells))
	return nil
}

// lstmStep is one step. The three gates that have the same activation lie side by side and are one layer, unless
// peepholes look at the cell.
func (r *recurrence) lstmStep(pre, h, cell *anec.Value, suffix string) (nextH, nextCell *anec.Value) {
	const input, forget, output, fresh = 0, 1, 2, 3
	gates := r.pair(td.EWAdd, r.linear("state", h, r.weightHH, nil), pre)
	var gate func(g int, cell *anec.Value) *anec.Value
	if param := "peephole" + suffix; r.Has(param) {
		weights := r.In(param)
		gate = func(g int, cell *anec.Value) *anec.Value {
			look := r.pair(td.EWMult, cell, r.gates(weights, g, 1))
			return r.activate("recurrent_activation", r.pair(td.EWAdd, look, r.gates(gates, g, 1)))
		}
	} else {
		open := r.activate("recurrent_activation", r.gates(gates, input, 3))
		gate = func(g int, _ *anec.Value) *anec.Value { return r.gates(open, g, 1) }
	}
	z := r.activate("cell_activation", r.gates(gates, fresh, 1))
	add := r.pair(td.EWMult, z, gate(input, cell))
	next := r.pair(td.EWAdd, r.pair(td.EWMult, cell, gate(forget, cell)), add)
	if r.Has("clip") {
		limit := r.Float("clip")
		next = r.Layer(r.Name()+"_clip", &anec.Neuron{Type: td.FuncClip, A: -limit, B: limit}, next)
	}
	return r.pair(td.EWMult, r.activate("activation", next), gate(output, next)), next
}
