package compiler

import (
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// TestRandomPlans plans random graphs and replays the plans. What comes out must not depend on how the graph is
// stored.
func TestRandomPlans(t *testing.T) {
	seeds := uint64(600)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		first := plan(t, legalGraph(t, seed), nil)
		shuffled := legalGraph(t, seed)
		anec.Shuffle(shuffled, rand.New(rand.NewPCG(seed, 1)))
		second := plan(t, shuffled, nil)
		if a, b := anec.Print(first.Graph)+segment.MemoryText(first), anec.Print(second.Graph)+segment.MemoryText(second); a != b {
			t.Fatalf("seed %d: stored in another order, the plan is another:\n%s\n%s", seed, a, b)
		}
	}
}

// legalGraph is a random graph of layers that become tasks.
func legalGraph(t testing.TB, seed uint64) *anec.Graph {
	t.Helper()
	s := &segment.Segment{Target: virtual(t), Graph: randomGraph(t, seed)}
	runPhase(t, Legalize, s, 0)
	return s.Graph
}

// TestRandomPlansLoad takes random graphs through all passes: the engine, which refuses tasks that read what nobody
// wrote or write over what they read, has to take them.
func TestRandomPlansLoad(t *testing.T) {
	job := &Job{Target: virtual(t)}
	for seed := range uint64(200) {
		s := &segment.Segment{Name: "random", Target: job.Target, Graph: randomGraph(t, seed)}
		if err := job.run(t.Context(), s); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if _, err := engine.Load(s.File, s.Target.Numerics); err != nil {
			t.Fatalf("seed %d: %v\n%s%s", seed, err, anec.Print(s.Graph), segment.MemoryText(s))
		}
	}
}

// A gardener grows a random graph.
type gardener struct {
	*anec.Builder
	r      *rand.Rand
	values []*anec.Value
}

func randomGraph(t testing.TB, seed uint64) *anec.Graph {
	r := rand.New(rand.NewPCG(seed, 0))
	g := anec.New("random")
	w := &gardener{Builder: &anec.Builder{Graph: g}, r: r}
	dims := func() anec.Dims { return anec.Dims{1, 1 + r.IntN(2), 1 + r.IntN(3), 1 + r.IntN(4), 1 + r.IntN(4)} }
	shared := dims()
	for i := range 1 + r.IntN(2) {
		d := shared
		if i > 0 && r.IntN(2) == 0 {
			d = dims()
		}
		v, err := g.AddInput(g.FreshName("x"), anec.TypeOf(tensor.Float16, d[:]...))
		if err != nil {
			t.Fatal(err)
		}
		w.values = append(w.values, v)
	}
	for range r.IntN(3) {
		s, err := g.AddState(g.FreshName("state"), anec.TypeOf(tensor.Float16, shared[:]...))
		if err != nil {
			t.Fatal(err)
		}
		w.values = append(w.values, s.Before)
	}
	for range r.IntN(3) {
		c := tensor.New(tensor.Float16, shared[:]...)
		copy(c.Bytes(), []byte{byte(r.IntN(2)), 7})
		w.values = append(w.values, w.Constant("c", anec.ConstantOf(c)))
	}
	for range 3 + r.IntN(25) {
		w.grow()
	}
	if err := w.Err(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	for range 1 + r.IntN(4) {
		g.AddOutput(w.any())
	}
	for _, s := range g.States {
		s.After = w.like(s.Before)
		if r.IntN(3) == 0 {
			s.After = w.Layer("next", &anec.RingBufferWriter{}, s.Before, w.like(s.Before))
		}
		if r.IntN(6) == 0 {
			s.After = w.Layer("next", &anec.RingBufferWriter{}, s.After, w.like(s.Before))
		}
	}
	g.Sweep()
	return g
}

func (w *gardener) any() *anec.Value { return w.values[w.r.IntN(len(w.values))] }

// like returns a value of the same type, itself at the worst.
func (w *gardener) like(v *anec.Value) *anec.Value {
	found := v
	n := 1
	for _, x := range w.values {
		if x.Type.Same(v.Type) {
			if n++; w.r.IntN(n) == 0 {
				found = x
			}
		}
	}
	return found
}

// grow adds a layer.
func (w *gardener) grow() {
	x := w.any()
	d := x.Type.Dims
	axis := axes[w.r.IntN(len(axes))]
	var y *anec.Value
	switch w.r.IntN(17) {
	case 0, 1:
		y = w.Layer("ew", &anec.ElementWise{Type: td.EWAdd}, x, w.like(x))
	case 2:
		y = w.Layer("relu", &anec.Neuron{Type: td.FuncReLU}, x)
	case 3, 4:
		y = w.Layer("reshape", &anec.Reshape{Dims: w.reshape(d)}, x)
	case 5, 6:
		p := anec.Identity
		w.r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
		y = w.Layer("transpose", &anec.Transpose{Perm: p}, x)
	case 7:
		size := 1 + w.r.IntN(d[axis])
		v := &anec.InputView{Axis: axis, Offset: w.r.IntN(d[axis] - size + 1), Size: size, Step: 1}
		if w.r.IntN(4) == 0 { // backwards
			v.Offset, v.Step = v.Offset+size-1, -1
		}
		y = w.Layer("slice", v, x)
	case 8:
		parts := []*anec.Value{x}
		for range w.r.IntN(3) {
			parts = append(parts, w.like(x))
		}
		if elements(d)*len(parts) < 300 {
			y = w.Layer("concat", &anec.Concat{Axis: axis, Interleave: w.r.IntN(4) == 0}, parts...)
		}
	case 9:
		y = w.Layer("sum", &anec.Reduction{Type: td.ReduceSum, Axes: td.AxesOf(axis)}, x)
	case 10:
		y = w.Layer("copy", &anec.Copy{}, x)
	case 11:
		if d[axis] == 1 && elements(d) < 100 {
			y = w.Layer("broadcast", &anec.Broadcast{Dims: d.With(axis, 3)}, x)
		}
	case 12:
		y = w.Layer("write", &anec.RingBufferWriter{}, x, w.like(x))
	case 13:
		if d[anec.D] == 1 {
			y = w.Layer("flatten", &anec.Flatten{Order: anec.FlattenNHWC}, x)
		}
	case 14:
		y = w.Layer("cast", &anec.TypeCast{To: tensor.Float32}, x)
	case 15:
		if w.Err() == nil {
			z := w.like(x)
			l, err := w.Graph.Add(anec.Spec{Name: w.Graph.FreshName("fused"), Params: &anec.Reduction{Type: td.ReduceMax, Axes: td.AxesOf(axis)}, Bottoms: []*anec.Value{z},
				Epilogue: anec.Epilogue{Broadcast: d, Steps: []anec.Step{{Code: td.MicroEW, EW: td.EWAdd, Operand: x}}}})
			w.Fail(err)
			if err == nil && w.r.IntN(2) == 0 {
				w.Fail(w.Graph.Edit(l, func(l *anec.Layer) { l.Params = &anec.Transpose{Perm: anec.Identity} }))
			}
			if err == nil {
				y = l.Top()
			}
		}
	case 16:
		if tops := w.Layers(tensor.Invalid, "sort", &anec.TopK{Type: td.Max, K: 1, Sorting: anec.Sorting{Axis: axis, Results: td.ResultBoth}}, x); len(tops) > 1 {
			w.values = append(w.values, tops...)
		} else if len(tops) == 1 {
			y = tops[0]
		}
	}
	if y != nil {
		w.values = append(w.values, y)
	}
}

// reshape moves factors from axis to axis.
func (w *gardener) reshape(d anec.Dims) anec.Dims {
	for range 3 {
		from, to := w.r.IntN(len(d)), w.r.IntN(len(d))
		for _, f := range []int{2, 3} {
			if d[from]%f == 0 && w.r.IntN(2) == 0 {
				d[from] /= f
				d[to] *= f
			}
		}
	}
	return d
}
