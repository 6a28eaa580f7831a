package compiler

import (
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/encode"
	"github.com/espalier-ane/espalier/internal/segment"
)

// counted is an encoder that counts how often it is asked for the tasks of a layer, and how often they were for nothing.
type counted struct {
	encode.Encoder
	asked, undone map[*anec.Layer]int
}

func (e counted) Choose(c *segment.Choice) ([]segment.Task, error) {
	e.asked[c.Layer()]++
	return e.Encoder.Choose(c)
}

func (e counted) Fits(c *segment.Choice, tasks []segment.Task) error {
	err := e.Encoder.Fits(c, tasks)
	if err != nil {
		e.undone[c.Layer()]++
	}
	return err
}

// An encoder is asked for the tasks of a layer once. What it has selected stays, but where words cannot say it: the entries
// of the base-address table that a task can name end before the ports of gru_bi_ios18 do.
func TestLayersAreSelectedOnce(t *testing.T) {
	target := *lookup(t, "h13")
	plain := target
	e := counted{encode.Of(&plain)[0], map[*anec.Layer]int{}, map[*anec.Layer]int{}}
	t.Cleanup(encode.Add(t.Name(), func(*hal.Target) encode.Encoder { return e }))
	target.Encoders = slices.Concat([]string{t.Name()}, target.Encoders[1:])
	layers := 0
	modelCases(t, func(t *testing.T, c modelCase) {
		clear(e.asked)
		clear(e.undone)
		job := &Job{Target: &target, Program: c.program, Functions: []Entry{{Function: c.function, Shapes: c.shapes}}}
		if _, err := Compile(t.Context(), job); err != nil {
			t.Log(err) // is another test's affair
		}
		for l, n := range e.asked {
			if n > 1 {
				t.Errorf("%v %%%s was selected %d times", l.Kind(), l.Top().Name, n)
			}
		}
		undone := 0
		if c.model == "gru_bi_ios18" {
			undone = 7
		}
		if n := len(e.undone); n != undone {
			t.Errorf("the tasks of %d layers were undone, want %d", n, undone)
		}
		layers += len(e.asked)
	})
	if layers < 1000 {
		t.Errorf("tasks were selected for %d layers of all models, want 1000 or more", layers)
	}
}
