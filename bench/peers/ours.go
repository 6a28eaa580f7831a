package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/tensor"
)

// An oursSession is a model of this project: an operation of the runtime, bound
// to buffers of ours.
type oursSession struct {
	bundle   *bundle.Bundle
	folder   string // that the bundle was written to
	function *e5rt.Function
	op       *e5rt.Operation
	state    *e5rt.State
	inputs   map[string]*tensor.Tensor
	outputs  map[string]*tensor.Tensor
}

// openOurs compiles a model for a target, writes the bundle, and opens that. Its
// inputs lie beside it.
func openOurs(ctx context.Context, path, target string, threads int) (*oursSession, error) {
	m, err := espalier.Config{Target: target, Cache: espalier.NoCache}.Open(path)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p, err := m.Compile(ctx, espalier.CompileOptions{})
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return nil, err
	}
	written := filepath.Join(folder, "bundle")
	_, err = p.WriteBundle(ctx, written)
	if err == nil {
		var s *oursSession
		if s, err = openBundle(ctx, written, filepath.Dir(path), threads); err == nil {
			s.folder = folder
			return s, nil
		}
	}
	return nil, errors.Join(err, os.RemoveAll(folder))
}

// openBundle makes a bundle ready to run, on inputs that lie in a folder.
func openBundle(ctx context.Context, path, inputs string, threads int) (*oursSession, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	s := &oursSession{bundle: b}
	if err := s.start(ctx, inputs, threads); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return s, nil
}

func (s *oursSession) start(ctx context.Context, dir string, threads int) error {
	options := e5rt.Options{Threads: threads}
	hosted, _, err := host.FromBundle(s.bundle)
	if err != nil {
		return err
	}
	if hosted != nil {
		options.Host = hosted
	}
	library, err := e5rt.OpenContext(ctx, s.bundle, options)
	if err != nil {
		return err
	}
	f := library.Functions()[0]
	s.function, s.op, s.state = f, f.NewOperation(), f.NewState()
	if s.inputs, err = inputsOf(dir, f.Inputs()); err != nil {
		return err
	}
	for name, t := range s.inputs {
		if err := s.op.Bind(name, t); err != nil {
			return err
		}
	}
	s.outputs = map[string]*tensor.Tensor{}
	for _, p := range f.Outputs() {
		t := tensor.New(p.Type, p.Shape...)
		if err := s.op.Bind(p.Name, t); err != nil {
			return err
		}
		s.outputs[p.Name] = t
	}
	return nil
}

func (s *oursSession) run() error { return s.op.Run(context.Background(), s.state) }

// close closes the bundle, and removes it.
func (s *oursSession) close() error { return errors.Join(s.bundle.Close(), os.RemoveAll(s.folder)) }

// inputsOf reads the inputs of a network, or draws them: small numbers, and for
// integers 0, which is a token, a position and a place of the mask.
func inputsOf(dir string, ports []e5rt.Port) (map[string]*tensor.Tensor, error) {
	given := map[string]*tensor.Tensor{}
	arrays, err := tensor.OpenNPZ(filepath.Join(dir, "inputs.npz"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, a := range arrays {
		given[a.Name] = a.Tensor
	}
	random := rand.New(rand.NewPCG(2026, 12))
	inputs := map[string]*tensor.Tensor{}
	for _, p := range ports {
		t := given[p.Name]
		if t == nil {
			n, _ := tensor.Count(p.Shape)
			values := make([]float32, n)
			if p.Type.IsFloat() && p.Name != "mask" {
				for i := range values {
					values[i] = float32(random.NormFloat64())
				}
			}
			t = tensor.FromFloat32s(tensor.Float32, values, p.Shape...)
		}
		if t, err = t.Convert(p.Type); err == nil {
			t, err = t.Dense().Reshape(p.Shape...)
		}
		if err != nil {
			return nil, fmt.Errorf("the input %s: %w", p.Name, err)
		}
		inputs[p.Name] = t
	}
	return inputs, nil
}
