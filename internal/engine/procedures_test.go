package engine_test

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// gainProcedures are two programs on the same input and weights: y is x times the
// weight of the channel, once and twice, the second by way of scratch.
func gainProcedures(t testing.TB) *hwx.File {
	t.Helper()
	dims := [td.NumAxes]int{1, 1, 3, 1, 64}
	at := func(base int) td.Operand { return td.Dense(base, 0, tensor.Float16, dims) }
	gain := td.Dense(hwx.BaseConst, 0, tensor.Float16, [td.NumAxes]int{1, 1, 3, 1, 1})
	times := func(y, x td.Operand) *td.Op {
		return &td.Op{Params: &td.ElementWise{Kind: td.EWMult}, Operands: []td.Operand{y, x, gain}}
	}
	tgt, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]byte, 64)
	for c := range 3 { // gains 1, 2, 3
		binary.LittleEndian.PutUint16(weights[halfSize*c:], tensor.ToF16(float32(c+1)))
	}
	var specs []hwx.Spec
	for _, p := range []struct {
		name, output string
		scratch      uint64
		ops          []*td.Op
	}{
		{"once", "y", 0, []*td.Op{times(at(hwx.BasePorts+1), at(hwx.BasePorts))}},
		{"twice", "z", 0x400, []*td.Op{times(at(hwx.BaseScratch), at(hwx.BasePorts)), times(at(hwx.BasePorts+1), at(hwx.BaseScratch))}},
	} {
		shape := [4]uint32{1, 3, 1, 64}
		spec := hwx.Spec{
			Form: hwx.Form2026, Subtype: tgt.CPUSubtype, Program: p.name, Scratch: p.scratch, KernelSection: weights, Windows: []int{0, 1},
			Ports: []hwx.PortSpec{
				{Name: "x", Direction: hwx.In, Element: hwx.ElementFloat16, Shape: shape, Strides: hwx.DenseStrides(hwx.ElementFloat16, shape)},
				{Name: p.output, Direction: hwx.Out, Element: hwx.ElementFloat16, Shape: shape, Strides: hwx.DenseStrides(hwx.ElementFloat16, shape)},
			},
		}
		if err := spec.SetTasks(tasksOf(t, td.V256, p.ops...)); err != nil {
			t.Fatal(err)
		}
		specs = append(specs, spec)
	}
	built, err := hwx.Build(specs...)
	if err != nil {
		t.Fatal(err)
	}
	data, err := built.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file, err := hwx.NewFile(data)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestProcedures(t *testing.T) {
	file := gainProcedures(t)
	x := make([]float32, 3*64)
	for i := range x {
		x[i] = float32(i%64) / 16
	}
	check := func(p *engine.Program, power int) {
		t.Helper()
		want := slices.Clone(x)
		for i := range want {
			for range power {
				want[i] *= float32(i/64 + 1)
			}
		}
		name := []string{"", "y", "z"}[power]
		got := execute(t, p, map[string][]float32{"x": x})
		if len(got) != 1 {
			t.Errorf("outputs %v", got)
		}
		equal(t, name, got[name], want)
	}
	programs, err := engine.LoadAll(context.Background(), file, engine.Options{Numerics: plain})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range programs {
		check(p, i+1)
		if own, _, _, _ := p.Bytes(); own != 64+0x4000 { // the weights, and what stands behind every text
			t.Errorf("procedure %d has %d bytes of constants", i, own)
		}
	}
	second, err := file.Procedure("twice")
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.LoadProcedure(context.Background(), second, engine.Options{Numerics: plain})
	if err != nil {
		t.Fatal(err)
	}
	check(p, 2)
	if _, err := engine.Load(file, plain); err == nil || !strings.Contains(err.Error(), "a second program; want one") {
		t.Errorf("the one program of two: %v", err)
	}

	// What is wrong with one does not keep the other from being loaded.
	second.Program.Thread.Tasks++
	if _, err := engine.LoadAll(context.Background(), file, engine.Options{Numerics: plain}); err == nil || !strings.Contains(err.Error(), `procedure "twice"`) {
		t.Errorf("a damaged procedure: %v", err)
	}
	first, err := file.Procedure("once")
	if err != nil {
		t.Fatal(err)
	}
	if p, err = engine.LoadProcedure(context.Background(), first, engine.Options{Numerics: plain}); err != nil {
		t.Fatal(err)
	}
	check(p, 1)
}
