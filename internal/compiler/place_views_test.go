package compiler

import (
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
