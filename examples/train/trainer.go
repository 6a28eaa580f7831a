package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/tensor"
)

// An engine is what a network is trained on.
type engine struct {
	target string
	dtype  tensor.DType
}

func (e engine) String() string { return fmt.Sprintf("%s %v", e.target, e.dtype) }

// engines are those that are compared.
var engines = []engine{{"virtual", tensor.Float32}, {"h13", tensor.Float16}}

// A trainer trains a network by Adam. The program has the weights in its own element type; here they are fp32, with the moments.
type trainer struct {
	net       *network
	model     *espalier.Model
	inputs    map[string]any
	loss      string            // output
	gradients map[string]string // outputs, by weight
	weights   map[string]*tensor.Tensor
	first     map[string][]float64 // moments
	second    map[string][]float64
	steps     int
}

func newTrainer(ctx context.Context, net *network, on engine) (*trainer, error) {
	tape := newTape(on.dtype)
	y := net.build(tape)
	loss := tape.loss(y, tape.input("want", y.shape...))
	text, gradients := tape.program(loss)
	c := espalier.Config{Target: on.target, Units: espalier.EngineOnly, Cache: espalier.NoCache}
	for _, w := range tape.weights {
		c.Mutable = append(c.Mutable, w.name)
	}
	model, err := c.OpenBytes(net.name+".mil", []byte(text))
	if err != nil {
		return nil, err
	}
	t := &trainer{
		net: net, model: model, loss: loss.name, gradients: gradients, inputs: map[string]any{},
		weights: map[string]*tensor.Tensor{}, first: map[string][]float64{}, second: map[string][]float64{},
	}
	for name, x := range map[string]*tensor.Tensor{"x": net.x, "want": net.want} {
		if t.inputs[name], err = x.Convert(on.dtype); err != nil {
			return nil, err
		}
	}
	for _, w := range tape.weights {
		values := tape.initial[w.name]
		t.weights[w.name] = tensor.FromFloat32s(tensor.Float32, slices.Clone(values), w.shape...)
		t.first[w.name], t.second[w.name] = make([]float64, len(values)), make([]float64, len(values))
	}
	return t, nil
}

func (t *trainer) close() { t.model.Close() }

// run is the loss, and the gradient of each weight.
func (t *trainer) run(ctx context.Context) (loss float64, gradients map[string][]float32, err error) {
	out, err := t.model.Predict(ctx, t.inputs)
	if err != nil {
		return 0, nil, err
	}
	gradients = map[string][]float32{}
	for weight, output := range t.gradients {
		g := slices.Clone(out[output].Tensor.Float32s())
		for i := range g {
			g[i] /= lossScale
		}
		gradients[weight] = g
	}
	return out[t.loss].Tensor.Float64s()[0], gradients, nil
}

// step takes one step, and returns the loss before it.
func (t *trainer) step(ctx context.Context) (float64, error) {
	loss, gradients, err := t.run(ctx)
	if err != nil {
		return 0, err
	}
	t.steps++
	const slow, slower = 0.9, 0.999
	n := float64(t.steps)
	for name, g := range gradients {
		w, first, second := t.weights[name].Float32s(), t.first[name], t.second[name]
		for i := range w {
			d := float64(g[i])
			first[i] = slow*first[i] + (1-slow)*d
			second[i] = slower*second[i] + (1-slower)*d*d
			w[i] -= float32(t.net.rate * first[i] / (1 - math.Pow(slow, n)) / (math.Sqrt(second[i]/(1-math.Pow(slower, n))) + 1e-8))
		}
	}
	return loss, t.model.SetWeights(ctx, t.weights)
}

// train takes steps, and returns the loss before each.
func (t *trainer) train(ctx context.Context, steps int) ([]float64, error) {
	losses := make([]float64, steps)
	for i := range losses {
		var err error
		if losses[i], err = t.step(ctx); err != nil {
			return nil, err
		}
	}
	return losses, nil
}
