// Run executes the function main of a bundle on inputs that count from 0 on, and
// prints the outputs. It shows what a program needs that runs bundles: see
// TestDependencies.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/tensor"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	b, err := bundle.Open(dir)
	if err != nil {
		return err
	}
	defer b.Close()
	lib, err := e5rt.Open(b, e5rt.Options{})
	if err != nil {
		return err
	}
	f, err := lib.Function("main")
	if err != nil {
		return err
	}
	op := f.NewOperation()
	for _, p := range f.Inputs() {
		n, _ := tensor.Count(p.Shape)
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(i)
		}
		if err := op.Set(p.Name, tensor.FromFloat32s(p.Type, values, p.Shape...)); err != nil {
			return err
		}
	}
	if err := op.Run(context.Background(), f.NewState()); err != nil {
		return err
	}
	for _, p := range f.Outputs() {
		v, err := op.Value(p.Name)
		if err != nil {
			return err
		}
		fmt.Println(p.Name, v.(*tensor.Tensor).Float32s())
	}
	return nil
}
