package ops

import (
	"context"
	"slices"
)

// layer runs a cell over a sequence in one direction. What the input contributes to the gates is known for all
// steps at once and is one matrix product; the cell adds what its state contributes, step by step.
type layer struct {
	*halt
	steps, batch, input, hidden, gates int

	x        []float32
	weightIH []float32
	bias     []float32 // of the input's contribution; nil: zeros
	h        []float32 // the hidden state, [batch, hidden]
	// step turns the input's contribution to the gates, [batch, gates·hidden], into the next h.
	step func(pre []float32)
}

// newLayer makes a layer over the arguments of one direction; the operation adds its step.
func newLayer(c *Call, gates int, suffix string) *layer {
	x := c.Tensor("x").Shape()
	l := &layer{halt: c.halt, steps: x[0], batch: x[1], input: x[2], gates: gates, x: c.Floats("x"), weightIH: c.Floats("weight_ih" + suffix)}
	l.hidden = c.Tensor("weight_hh" + suffix).Shape()[1]
	if c.Has("bias" + suffix) {
		l.bias = c.Floats("bias" + suffix)
	}
	return l
}

// width is the number of gate values of one element of the batch.
func (l *layer) width() int { return l.gates * l.hidden }

// preLimit bounds the gate values that are computed ahead, in elements.
const preLimit = 1 << 22

// run calls done after each step with the number of steps before it and its place in time.
func (l *layer) run(ctx context.Context, reverse bool, done func(iteration, time int)) error {
	stepLen := l.batch * l.width()
	ahead := max(1, min(l.steps, preLimit/max(1, stepLen)))
	pre := make([]float32, ahead*stepLen)
	for iteration := 0; iteration < l.steps; iteration += ahead {
		n := min(ahead, l.steps-iteration)
		first := iteration
		if reverse {
			first = l.steps - iteration - n
		}
		l.project(pre[:n*stepLen], first, n)
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			at := i
			if reverse {
				at = n - 1 - i
			}
			l.step(pre[at*stepLen : (at+1)*stepLen])
			done(iteration+i, first+at)
		}
	}
	return nil
}

// project computes W_ih·x + bias for n steps.
func (l *layer) project(pre []float32, first, n int) {
	w := l.width()
	for r := 0; r < n*l.batch; r++ {
		row := pre[r*w : (r+1)*w]
		if l.bias == nil {
			clear(row)
		} else {
			copy(row, l.bias)
		}
	}
	x := l.x[first*l.batch*l.input:]
	gemm(l.halt, n*l.batch, w, l.input, matrix{x, l.input, 1}, matrix{l.weightIH, 1, l.input}, pre)
}

// addState adds W·h to gate values: rows rows of weights from row, for each element of the batch.
func (l *layer) addState(pre, weights, h []float32, row, rows int) {
	k, width := l.hidden, l.width()
	w := matrix{weights[row*k:], 1, k}
	if rows == width {
		gemm(l.halt, l.batch, rows, k, matrix{h, k, 1}, w, pre)
		return
	}
	for b := range l.batch {
		gemm(l.halt, 1, rows, k, matrix{h[b*k:], k, 1}, w, pre[b*width+row:])
	}
}

// runOneWay runs a layer with one direction and returns its outputs. With direction reverse the sequence of
// outputs is in the order of processing, the last step in time first.
func runOneWay(c *Call, l *layer) error {
	every := c.Bool("output_sequence")
	var out []float32
	if every {
		out = make([]float32, c.OutLen(0))
	}
	n := len(l.h)
	err := l.run(c.Context(), c.Str("direction") == "reverse", func(iteration, _ int) {
		if every {
			copy(out[iteration*n:], l.h)
		}
	})
	if !every {
		out = l.h
	}
	c.ReturnFloats(0, out)
	c.ReturnFloats(1, l.h)
	return err
}

// unlessEmpty evaluates a layer that has a state. Where the batch or the state is empty so are all results, and
// lengths beside one of zero may be beyond all loops.
func unlessEmpty(eval EvalFunc) EvalFunc {
	return func(c *Call) error {
		if c.Tensor("initial_h").Len() > 0 {
			return eval(c)
		}
		for i := range c.outs {
			c.ReturnFloats(i, nil)
		}
		return nil
	}
}

func evalRNN(c *Call) error {
	l := newLayer(c, 1, "")
	l.h = slices.Clone(c.Floats("initial_h"))
	weightHH, act := c.Floats("weight_hh"), cellActivation(c, "activation")
	l.step = func(pre []float32) {
		l.addState(pre, weightHH, l.h, 0, l.hidden)
		for i, v := range pre {
			l.h[i] = act(v)
		}
	}
	return runOneWay(c, l)
}

// evalGRU computes, for the gates r, o and z:
//
//	r = σ(W_r x + R_r h + b_r)
//	z = σ(W_z x + R_z h + b_z)
//	o = φ(W_o x + R_o (r·h) + b_o)                     reset before the product
//	o = φ(W_o x + input_bias_o + r·(R_o h + b_o))      reset_after
//	h' = (1 - z)·o + z·h
func evalGRU(c *Call) error {
	l := newLayer(c, 3, "")
	l.h = slices.Clone(c.Floats("initial_h"))
	after := c.Has("reset_after") && c.Bool("reset_after")
	stateBias := l.bias
	switch {
	case after:
		l.bias = nil
		if c.Has("input_bias") {
			l.bias = c.Floats("input_bias")
		}
	case c.Has("input_bias"): // both are added in the same place
		l.bias = slices.Clone(c.Floats("input_bias"))
		for i, b := range stateBias {
			l.bias[i] += b
		}
	}
	var (
		n        = l.hidden
		weightHH = c.Floats("weight_hh")
		sigma    = cellActivation(c, "recurrent_activation")
		phi      = cellActivation(c, "activation")
		scratch  = make([]float32, l.batch*l.width()) // r·h, or all that the state contributes
	)
	finish := func(pre []float32) {
		for b := range l.batch {
			gates := pre[b*3*n:]
			for i := range n {
				o, z := phi(gates[n+i]), sigma(gates[2*n+i])
				h := l.h[b*n+i]
				l.h[b*n+i] = float32((1-z)*o) + float32(z*h)
			}
		}
	}
	before := func(pre []float32) {
		l.addState(pre, weightHH, l.h, 0, n)
		l.addState(pre, weightHH, l.h, 2*n, n)
		for b := range l.batch {
			for i := range n {
				scratch[b*n+i] = sigma(pre[b*3*n+i]) * l.h[b*n+i]
			}
		}
		l.addState(pre, weightHH, scratch, n, n)
		finish(pre)
	}
	afterProduct := func(pre []float32) {
		clear(scratch)
		for b := range l.batch {
			copy(scratch[b*3*n:(b+1)*3*n], stateBias)
		}
		l.addState(scratch, weightHH, l.h, 0, 3*n)
		for b := range l.batch {
			gates, state := pre[b*3*n:(b+1)*3*n], scratch[b*3*n:(b+1)*3*n]
			for i := range n {
				r := sigma(gates[i] + state[i])
				gates[n+i] += float32(r * state[n+i])
				gates[2*n+i] += state[2*n+i]
			}
		}
		finish(pre)
	}
	l.step = before
	if after {
		l.step = afterProduct
	}
	return runOneWay(c, l)
}

// evalLSTM computes, for the gates i, f, o and z, with the peephole weights p:
//
//	i = σ(W_i x + R_i h + b_i + p_i·c)
//	f = σ(W_f x + R_f h + b_f + p_f·c)
//	z = ψ(W_z x + R_z h + b_z)
//	c' = clip(f·c + i·z)
//	o = σ(W_o x + R_o h + b_o + p_o·c')
//	h' = o·φ(c')
//
// The two directions of a bidirectional layer stand side by side in states and outputs, the outputs of both
// in the order of time. A layer in direction reverse gives its outputs in the order of processing.
func evalLSTM(c *Call) error {
	direction := c.Str("direction")
	suffixes := []string{""}
	if direction == "bidirectional" {
		suffixes = []string{"", "_back"}
	}
	out := make([]float32, c.OutLen(0))
	finalH, finalC := make([]float32, c.OutLen(1)), make([]float32, c.OutLen(2))
	every := c.Bool("output_sequence")
	for d, suffix := range suffixes {
		l := newLayer(c, 4, suffix)
		width := len(suffixes) * l.hidden
		// put and take move a state between [batch, hidden] and its columns of [batch, width].
		put := func(dst, state []float32) {
			for b := range l.batch {
				copy(dst[b*width+d*l.hidden:], state[b*l.hidden:(b+1)*l.hidden])
			}
		}
		take := func(src []float32) []float32 {
			state := make([]float32, 0, l.batch*l.hidden)
			for b := range l.batch {
				state = append(state, src[b*width+d*l.hidden:][:l.hidden]...)
			}
			return state
		}
		l.h = take(c.Floats("initial_h"))
		cell := take(c.Floats("initial_c"))
		l.step = lstmStep(c, l, cell, suffix)
		err := l.run(c.Context(), direction == "reverse" || d == 1, func(iteration, time int) {
			at := iteration
			if direction == "bidirectional" {
				at = time
			}
			if every {
				put(out[at*l.batch*width:], l.h)
			}
		})
		if err != nil {
			return err
		}
		if !every {
			put(out, l.h)
		}
		put(finalH, l.h)
		put(finalC, cell)
	}
	c.ReturnFloats(0, out)
	c.ReturnFloats(1, finalH)
	c.ReturnFloats(2, finalC)
	return nil
}

func lstmStep(c *Call, l *layer, cell []float32, suffix string) func(pre []float32) {
	var (
		n        = l.hidden
		weightHH = c.Floats("weight_hh" + suffix)
		sigma    = cellActivation(c, "recurrent_activation")
		psi      = cellActivation(c, "cell_activation")
		phi      = cellActivation(c, "activation")
		clip     = c.Has("clip")
		limit    float32
		peep     = func(gate, j int, cell float32) float32 { return 0 }
	)
	if c.Has("peephole" + suffix) {
		p := c.Floats("peephole" + suffix)
		peep = func(gate, j int, cell float32) float32 { return float32(p[gate*n+j] * cell) }
	}
	if clip {
		limit = c.Float("clip")
	}
	return func(pre []float32) {
		l.addState(pre, weightHH, l.h, 0, 4*n)
		for b := range l.batch {
			gates := pre[b*4*n : (b+1)*4*n]
			for j := range n {
				old := cell[b*n+j]
				i := sigma(gates[j] + peep(0, j, old))
				f := sigma(gates[n+j] + peep(1, j, old))
				z := psi(gates[3*n+j])
				next := float32(f*old) + float32(i*z)
				if clip {
					next = min(max(next, -limit), limit)
				}
				o := sigma(gates[2*n+j] + peep(2, j, next))
				cell[b*n+j] = next
				l.h[b*n+j] = o * phi(next)
			}
		}
	}
}
