package compiler

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/encode"
	"github.com/espalier-ane/espalier/internal/encode/selection"
	v7 "github.com/espalier-ane/espalier/internal/encode/v7"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The same program in H13's own tasks and in extensions gives the same numbers: a model whose layers are some of the one and
// some of the other is not two chips.

// wholeSegment is the one segment of a function, before any pass.
func wholeSegment(fn *mil.Function, target *hal.Target) (*segment.Segment, error) {
	p, err := place(fn, nil, target, nil)
	if err != nil {
		return nil, err
	}
	symbols := newSymbols(p)
	g, err := p.graph("main", p.Parts[0], symbols)
	if err != nil {
		return nil, err
	}
	s := &segment.Segment{Name: "main", Target: target, Graph: g}
	for _, v := range p.Parts[0].Outputs {
		s.Outputs = append(s.Outputs, symbols.engine(v))
	}
	return s, nil
}

// declines is H13's encoder that takes no layer: all of them become extension records.
type declines struct{ encode.Encoder }

func (declines) Choose(*segment.Choice) ([]segment.Task, error) { return nil, selection.ErrNotCertain }

// withEncoder is a target whose own encoder is another.
func withEncoder(t testing.TB, target *hal.Target, new func(*hal.Target) encode.Encoder) *hal.Target {
	t.Helper()
	t.Cleanup(encode.Add(t.Name(), new))
	other := *target
	other.Encoders = append([]string{t.Name()}, target.Encoders[1:]...)
	return &other
}

// compileSegment runs all passes. Extensions: layers become those, whether the chip has tasks of its own for them or not.
func compileSegment(t testing.TB, s *segment.Segment, extensions bool) (*hwx.File, error) {
	if extensions {
		s.Target = withEncoder(t, s.Target, func(target *hal.Target) encode.Encoder { return declines{v7.New(target)} })
	}
	for i := range passes {
		if err := passes[i].Run(s); err != nil {
			return nil, err
		}
	}
	return s.File, nil
}

// ownSegment compiles a function for H13, to nothing but tasks of the chip's own.
func ownSegment(t testing.TB, fn *mil.Function, target *hal.Target) (*segment.Segment, error) {
	s, err := wholeSegment(fn, target)
	if err != nil {
		return nil, err
	}
	if _, err := compileSegment(t, s, false); err != nil {
		return nil, err
	}
	for _, t := range s.Tasks {
		if t.Unit == nil {
			return nil, fmt.Errorf("%s (%v) is an extension record: %v", t.Layer.Name, t.Layer.Kind(), s.Declined[t.Layer])
		}
	}
	return s, nil
}

// runSegment runs a container on inputs and returns its one output.
func runSegment(t *testing.T, file *hwx.File, n hal.Numerics, inputs map[string][]float32) []float32 {
	t.Helper()
	p, err := engine.Load(file, n)
	if err != nil {
		t.Fatal(err)
	}
	c := p.NewContext()
	for name, v := range inputs {
		if err := c.Set(name+engineSuffix, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	for _, q := range p.Ports() {
		if q.Direction == engine.Output {
			y := make([]float32, q.Len())
			if err := c.Get(q.Name, y); err != nil {
				t.Fatal(err)
			}
			return y
		}
	}
	t.Fatal("the program has no output")
	return nil
}

// inputsOf are random numbers for a case, as runV7Cases has them.
func (c *v7Case) inputsOf(fn *mil.Function) map[string][]float32 {
	r := rand.New(rand.NewPCG(1, 2))
	inputs := map[string][]float32{}
	for _, in := range fn.Inputs {
		shape, _ := in.Type.(*mil.TensorType).Shape.Ints()
		n, _ := tensor.Count(shape)
		values := make([]float32, n)
		for i := range values {
			values[i] = tensor.RoundF16(float32(r.NormFloat64()))
			if c.least > 0 {
				values[i] = max(values[i], -values[i], float32(c.least))
			}
		}
		inputs[in.Name] = values
	}
	return inputs
}

func TestOwnTasksAgreeWithExtensions(t *testing.T) {
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	cases := slices.Concat(v7Cases, v7ConvCases, v7FunctionCases, v7ProductCases, v7ReduceCases, moveCases, planarCases)
	identical := 0
	for _, c := range cases {
		t.Run(c.body, func(t *testing.T) {
			program, err := mil.ParseText("case", []byte(c.text()), randomWeights{})
			if err != nil {
				t.Fatal(err)
			}
			fn := program.Functions[0]
			inputs := c.inputsOf(fn)
			var results [2][]float32
			for i, extensions := range []bool{false, true} {
				s, err := wholeSegment(fn, target)
				if err != nil {
					t.Fatal(err)
				}
				file, err := compileSegment(t, s, extensions)
				if err != nil {
					t.Fatal(err)
				}
				tasks, err := file.Tasks()
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(tasks, func(p td.Placed) bool { return p.Extension() != extensions }) {
					t.Errorf("not all tasks are of one kind")
				}
				results[i] = runSegment(t, file, target.Numerics, inputs)
			}
			if c.agree(t, results[0], results[1]) {
				identical++
			}
		})
	}
	// What is not identical takes other stages than the extension does: attention, powers, the longer forms of
	// normalizations, and what an epilogue does in one step and tasks in two.
	t.Logf("%d of %d cases give the same bits", identical, len(cases))
	if identical < len(cases)*5/6 {
		t.Errorf("%d of %d cases give the same bits, want five of six", identical, len(cases))
	}
}

// agree holds two results to each other as the case holds one to the operations, and reports whether they are the same.
func (c *v7Case) agree(t *testing.T, own, extension []float32) (identical bool) {
	t.Helper()
	identical = len(own) == len(extension)
	for i, v := range own {
		w := extension[i]
		if v == w {
			continue
		}
		identical = false
		if d := math.Abs(float64(v) - float64(w)); !(d <= c.abs+max(c.rel, fp16Unit)*math.Abs(float64(w))+0x1p-24) {
			t.Fatalf("element %d is %v in the chip's own tasks, %v in extensions", i, v, w)
		}
	}
	return identical
}

// A row has the same bits whether it is computed alone or among others, and wherever it stands there.
func TestRowsAmongOthers(t *testing.T) {
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 5))
	const length = 300
	row := make([]float32, length)
	for i := range row {
		row[i] = tensor.RoundF16(float32(r.NormFloat64()))
	}
	for _, body := range []string{
		"matmul(x = x, y = blob [40, 300], transpose_x = bool(false), transpose_y = bool(true))",
		"softmax(x = x, axis = int32(-1))",
		"reduce_mean(x = x, axes = tensor<int32, [1]>([-1]), keep_dims = bool(true))",
		"layer_norm(x = x, axes = tensor<int32, [1]>([-1]), epsilon = fp16(0.0001))",
	} {
		width := map[byte]int{'m': 40, 's': length, 'r': 1, 'l': length}[body[0]]
		for _, extensions := range []bool{false, true} {
			var alone []float32
			for _, rows := range []int{1, 2, 8, 32, 128} {
				c := v7Case{inputs: fmt.Sprintf("x [%d, %d]", rows, length), body: fmt.Sprintf("y [%d, %d] = %s", rows, width, body)}
				program, err := mil.ParseText("case", []byte(c.text()), randomWeights{})
				if err != nil {
					t.Fatal(err)
				}
				s, err := wholeSegment(program.Functions[0], target)
				if err != nil {
					t.Fatal(err)
				}
				file, err := compileSegment(t, s, extensions)
				if err != nil {
					t.Fatal(err)
				}
				x := make([]float32, rows*length)
				for i := range x {
					x[i] = tensor.RoundF16(float32(r.NormFloat64()))
				}
				at := r.IntN(rows)
				copy(x[at*length:], row)
				y := runSegment(t, file, target.Numerics, map[string][]float32{"x": x})[at*width:][:width]
				if alone == nil {
					alone = y
				} else if !slices.Equal(y, alone) {
					t.Errorf("%s, extensions %v: row %d of %d has other bits than alone", body, extensions, at, rows)
				}
			}
		}
	}
}
