package espalier

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/graphfile"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A graph of native layers is a model without a program: it enters past placement, and has no form that the host could run.

// graphFunctions makes the functions of a file of graphs, one of each.
func (c Config) graphFunctions(_ context.Context, file *graphfile.File) ([]*Function, error) {
	switch {
	case c.Units == CPUOnly:
		return nil, fmt.Errorf("%w: a graph of native layers runs on the engine, which the units %s leave out; the host has no form of it", ErrUnits, c.Units)
	case c.Numerics == FP32:
		return nil, fmt.Errorf("%w: %s is the host's, which has no form of a graph of native layers", ErrNumerics, c.Numerics)
	case c.RandomWeights != nil:
		return nil, errors.New("weights of a graph of native layers cannot be made up: its files say nothing of those that are absent")
	}
	target, err := c.target()
	if err != nil {
		return nil, err
	}
	weights := graphWeights(file)
	var all []*Function
	for _, p := range file.Procedures {
		d, err := compiler.DescribeGraph(p.Graph)
		if err != nil {
			return nil, err
		}
		description, err := DescribeFunction(&d)
		if err != nil {
			return nil, err
		}
		described := c.features(description)
		from := &source{graph: p.Graph, weights: weights}
		if from.ports, err = described.ports(); err != nil {
			return nil, fmt.Errorf("graph %q: %w", p.Name, err)
		}
		f := &Function{config: c, features: described, warnings: file.Warnings}
		if err := c.onEngine(f, from, target); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// graphWeights are the files that constants of the graphs are in, under the names that a bundle has for them.
func graphWeights(file *graphfile.File) (list []compiler.WeightFile) {
	for _, name := range file.Names() {
		data, err := file.Bytes(name)
		if err != nil {
			panic("bug: " + err.Error()) // it is open
		}
		inBundle := path.Clean(filepath.ToSlash(name))
		if !filepath.IsLocal(inBundle) {
			inBundle = path.Base(inBundle)
		}
		list = append(list, compiler.WeightFile{Path: inBundle, Data: data, Identity: func() (osfile.Identity, bool) {
			id, _, ok := file.Identity(name)
			return id, ok
		}})
	}
	return list
}

// ports are the inputs and states of a graph as a program would take them.
func (f *features) ports() (list []*mil.Value, err error) {
	typeOf := func(a *coreml.ArrayType) *mil.TensorType { return mil.Tensor(a.DType, tensor.ShapeOf(a.Shape...)...) }
	for _, d := range f.Inputs {
		list = append(list, &mil.Value{Name: d.Name, Type: typeOf(d.Type.(*coreml.ArrayType))})
	}
	for _, d := range f.States {
		t := typeOf(d.Type.(*coreml.StateType).Array)
		if err := ops.CheckMemory(f.limits.Memory, t); err != nil {
			return nil, fmt.Errorf("state %q: %w", d.Name, err)
		}
		list = append(list, &mil.Value{Name: d.Name, Type: &mil.StateType{Elem: t}})
	}
	return list, nil
}

// Warnings are what the reader of the model found that is no error, and yet not as it should be. Most models have none.
func (f *Function) Warnings() []*Finding { return f.warnings }

// A Finding is something that the author of a model should know. docs/diagnostics.md explains the IDs.
type Finding = diag.Finding
