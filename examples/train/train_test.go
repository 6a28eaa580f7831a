package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func start(t *testing.T, net *network, on engine) *trainer {
	t.Helper()
	made, err := newTrainer(t.Context(), net, on)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.close)
	return made
}

// TestGradients holds the gradient of each weight to the difference of losses a little to both sides, along some direction.
func TestGradients(t *testing.T) {
	ctx := context.Background()
	for _, net := range []*network{perceptron(), block()} {
		trainer := start(t, net, engines[0])
		for range 3 { // biases are not 0 any more
			if _, err := trainer.step(ctx); err != nil {
				t.Fatal(err)
			}
		}
		_, gradients, err := trainer.run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(5, 5))
		for name, g := range gradients {
			at := trainer.weights[name]
			direction := make([]float64, len(g))
			want := 0.0
			for i := range direction {
				direction[i] = r.NormFloat64()
				want += direction[i] * float64(g[i])
			}
			const far = 3e-4
			var losses [2]float64
			for side, sign := range []float64{1, -1} {
				moved := slices.Clone(at.Float32s())
				for i := range moved {
					moved[i] += float32(sign * far * direction[i])
				}
				if err := trainer.model.SetWeights(ctx, map[string]*tensor.Tensor{name: tensor.FromFloat32s(tensor.Float32, moved, at.Shape()...)}); err != nil {
					t.Fatal(err)
				}
				if losses[side], _, err = trainer.run(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if err := trainer.model.SetWeights(ctx, map[string]*tensor.Tensor{name: at}); err != nil {
				t.Fatal(err)
			}
			got := (losses[0] - losses[1]) / (2 * far)
			if math.Abs(got-want) > 0.01*math.Abs(want)+2e-3 {
				t.Errorf("%s, %s: the gradient says %.5f, the losses %.5f", net.name, name, want, got)
			}
		}
	}
}

// TestTraining has both networks learn, on both engines.
func TestTraining(t *testing.T) {
	for _, c := range []struct {
		net   *network
		steps int
		part  float64 // of the loss that may be left
	}{{perceptron(), 200, 0.1}, {block(), 200, 0.5}} {
		t.Run(c.net.name, func(t *testing.T) {
			var curves []curve
			for _, on := range engines {
				losses, err := start(t, c.net, on).train(t.Context(), c.steps)
				if err != nil {
					t.Fatal(err)
				}
				first, last := losses[0], losses[len(losses)-1]
				t.Logf("on %v: loss %.4g at first, %.4g after %d steps", on, first, last, c.steps)
				if !(last <= c.part*first) {
					t.Errorf("on %v the loss went from %g to %g", on, first, last)
				}
				curves = append(curves, curve{on.String(), losses})
			}
			apart := farthest(curves[0].losses, curves[1].losses)
			t.Logf("the losses differ by %.3g at most", apart)
			if apart == 0 || apart > 0.1*curves[0].losses[0] {
				t.Errorf("the losses in fp32 and in fp16 differ by %g", apart)
			}
			checkXML(t, draw(curves))
		})
	}
}

func checkXML(t *testing.T, picture []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(picture))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
