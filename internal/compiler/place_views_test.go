package compiler

import (
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A segment of nothing but views is the host's; a view beside other work of the engine is not.
func TestSegmentsOfViewsAreTheHosts(t *testing.T) {
	chip, err := hal.Lookup("h14")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name     string
		work     bool // of the engine, after the view
		segments int
		view     Backend
	}{{"only a view", false, 1, OnHost}, {"a view and work", true, 3, OnEngine}} {
		t.Run(row.name, func(t *testing.T) {
			mask := mil.Tensor(tensor.Bool, tensor.ShapeOf(2, 3)...)
			flat := mil.Tensor(tensor.Bool, tensor.ShapeOf(6)...)
			b := mil.NewBuilder("main", "CoreML7")
			x, y := b.Input("x", mask), b.Input("y", flat)
			v := b.Op("logical_and", "and", mask, mil.Args{"x": x, "y": x}) // no chip has it
			v = b.Op("reshape", "view", flat, mil.Args{"x": v, "shape": []int32{6}})
			if row.work {
				v = b.Op("logical_not", "not", flat, mil.Args{"x": v})
			}
			b.Return(b.Op("logical_or", "or", flat, mil.Args{"x": v, "y": y}))
			p, err := b.Program()
			if err != nil {
				t.Fatal(err)
			}
			e, err := Examine(p.Functions[0], nil)
			if err != nil {
				t.Fatal(err)
			}
			placed := e.On(chip)
			if len(placed.Parts) != row.segments {
				t.Errorf("%d segments, want %d", len(placed.Parts), row.segments)
			}
			for _, o := range placed.Ops {
				if o.Op.Name() == "view" && o.Backend != row.view {
					t.Errorf("the view is placed on the %v, want the %v", o.Backend, row.view)
				}
			}
		})
	}
}

// A cast that brought what the engine made to an output goes with the view that it reads.
func TestCastsAfterViewsOfTheHost(t *testing.T) {
	half, single := mil.Tensor(tensor.Float16, tensor.ShapeOf(2, 3)...), mil.Tensor(tensor.Float32, tensor.ShapeOf(6)...)
	flat := mil.Tensor(tensor.Float16, tensor.ShapeOf(6)...)
	mask := mil.Tensor(tensor.Bool, tensor.ShapeOf(2, 3)...)
	b := mil.NewBuilder("main", "CoreML7")
	x, m := b.Input("x", half), b.Input("m", mask)
	v := b.Op("reshape", "view", flat, mil.Args{"x": x, "shape": []int32{6}})
	b.Return(b.Op("cast", "y", single, mil.Args{"x": v, "dtype": "fp32"}), b.Op("logical_and", "and", mask, mil.Args{"x": m, "y": m}))
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	e, err := Examine(p.Functions[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range e.On(lookup(t, "h14")).Ops {
		if o.Backend != OnHost {
			t.Errorf("%s is placed on the %v, want the host", o.Op.Name(), o.Backend)
		}
	}
}

// A cast whose fp32 the host makes or reads is the descriptor's where the engine has no fp32; on our own engine, which has, it
// stays. What waits for a cast waits for what it casts.
func TestCastsBetweenHostAndEngine(t *testing.T) {
	half, single := mil.Tensor(tensor.Float16, tensor.ShapeOf(2, 3)...), mil.Tensor(tensor.Float32, tensor.ShapeOf(2, 3)...)
	b := mil.NewBuilder("main", "CoreML7")
	x := b.Input("x", single)
	cast := func(name string, v *mil.Value, to *mil.TensorType, dtype string) *mil.Value {
		return b.Op("cast", name, to, mil.Args{"x": v, "dtype": dtype})
	}
	wide := b.Op("mul", "wide", single, mil.Args{"x": x, "y": x}) // no chip computes with fp32
	v := b.Op("relu", "relu", half, mil.Args{"x": cast("in", wide, half, "fp16")})
	back := b.Op("add", "back", single, mil.Args{"x": cast("out", v, single, "fp32"), "y": wide})
	b.Return(back, cast("feature", back, half, "fp16"), b.Op("tanh", "tanh", half, mil.Args{"x": v}))
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	e, err := Examine(p.Functions[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{"h13": "host: wide; engine: relu tanh; host: back; engine: feature", "virtual": "engine: wide in relu out back tanh"} {
		var parts []string
		for _, part := range e.On(lookup(t, target)).Parts {
			text := part.Backend.String() + ":"
			for _, o := range part.Ops {
				text += " " + o.Op.Name()
			}
			parts = append(parts, text)
		}
		if got := strings.Join(parts, "; "); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}
