package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

// A network is what is trained, and on what.
type network struct {
	name  string
	build func(t *tape) (y *node) // of the input x
	x     *tensor.Tensor
	want  *tensor.Tensor
	rate  float64 // of learning
}

// perceptron has two layers, and learns whether two numbers have the same sign.
func perceptron() *network {
	const points, hidden = 64, 16
	r := rand.New(rand.NewPCG(1, 1))
	x, want := make([]float32, 2*points), make([]float32, points)
	for i := range points {
		a, b := 2*r.Float32()-1, 2*r.Float32()-1
		x[2*i], x[2*i+1], want[i] = a, b, 1
		if a*b < 0 {
			want[i] = -1
		}
	}
	return &network{
		name: "perceptron", rate: 0.03,
		x: tensor.FromFloat32s(tensor.Float32, x, points, 2), want: tensor.FromFloat32s(tensor.Float32, want, points, 1),
		build: func(t *tape) *node {
			r := rand.New(rand.NewPCG(2, 2))
			in := t.input("x", points, 2)
			w1, b1 := t.weight("w1", spread(r, 2*hidden, 1), 2, hidden), t.weight("b1", make([]float32, hidden), hidden)
			w2, b2 := t.weight("w2", spread(r, hidden, hidden), hidden, 1), t.weight("b2", make([]float32, 1), 1)
			h := t.relu(t.add(t.matmul(in, w1, false), b1))
			return t.add(t.matmul(h, w2, false), b2)
		},
	}
}

// block is one block of a transformer with two heads, before whose parts the rows are normalized. It learns to turn sequences round:
//
//	x ─┬─ norm ─ attention ─ + ─┬─ norm ─ w1 ─ relu ─ w2 ─ + ─ y
//	   └────────────────────┘   └───────────────────────┘
func block() *network {
	const sequences, length, width, heads, hidden = 4, 8, 16, 2, 32
	const tokens = sequences * length
	r := rand.New(rand.NewPCG(3, 3))
	x, want := make([]float32, tokens*width), make([]float32, tokens*width)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	for s := range sequences {
		for i := range length {
			copy(want[(s*length+i)*width:][:width], x[(s*length+length-1-i)*width:][:width])
		}
	}
	return &network{
		name: "block", rate: 0.01,
		x: tensor.FromFloat32s(tensor.Float32, x, tokens, width), want: tensor.FromFloat32s(tensor.Float32, want, tokens, width),
		build: func(t *tape) *node {
			r := rand.New(rand.NewPCG(4, 4))
			matrix := func(name string, from, to int) *node { return t.weight(name, spread(r, from*to, from), from, to) }
			vector := func(name string, n int, number float32) *node {
				return t.weight(name, slices.Repeat([]float32{number}, n), n)
			}
			norm := func(name string, x *node) *node {
				return t.layerNorm(x, vector(name+"_gamma", width, 1), vector(name+"_beta", width, 0))
			}
			in := t.input("x", tokens, width)
			n := norm("norm1", in)
			project := func(name string) *node {
				return t.heads(t.matmul(n, matrix(name, width, width), false), sequences, heads)
			}
			q, k, v := project("wq"), project("wk"), project("wv")
			scores := t.softmax(t.scale(t.matmul(q, k, true), 1/math.Sqrt(float64(width/heads))))
			attended := t.matmul(t.joined(t.matmul(scores, v, false)), matrix("wo", width, width), false)
			h := t.add(in, attended)
			m := t.relu(t.add(t.matmul(norm("norm2", h), matrix("w1", width, hidden), false), vector("b1", hidden, 0)))
			return t.add(h, t.add(t.matmul(m, matrix("w2", hidden, width), false), vector("b2", width, 0)))
		},
	}
}
