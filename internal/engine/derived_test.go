package engine_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The bases of the containers below: an input and an output x, and a state s, all
// of eight fp16 numbers without padding.
const (
	baseIn    = hwx.BasePorts
	baseState = hwx.BasePorts + 1
	baseOut   = hwx.BasePorts + 2
)

var eight = [td.NumAxes]int{1, 1, 1, 1, 8}

func at8(base int, offset int64) td.Operand { return td.Dense(base, offset, tensor.Float16, eight) }

func op8(kind td.EWKind, operands ...td.Operand) *td.Op {
	return &td.Op{Params: &td.ElementWise{Kind: kind}, Operands: operands}
}

func halfwords(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, tensor.ToF16(v))
	}
	return b
}

// ownFile makes a container with everything that is ours. The constants are 1, 2,
// … 8; the weights, which are in the file or external, 10, 20, … 80.
func ownFile(t testing.TB, external bool, constants []byte, ops ...*td.Op) *hwx.File {
	t.Helper()
	target, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	shape := [4]uint32{1, 1, 1, 8}
	port := func(name string, d hwx.Direction) hwx.PortSpec {
		return hwx.PortSpec{Name: name, Direction: d, Element: hwx.ElementFloat16, Shape: shape, Strides: hwx.DenseStrides(hwx.ElementFloat16, shape)}
	}
	spec := hwx.Spec{
		Form: hwx.Form2026, Subtype: target.CPUSubtype,
		Ports:   []hwx.PortSpec{port("x", hwx.In), port("s", hwx.InOut), port("x", hwx.Out)},
		Windows: []int{0, 1, 2}, Constants: constants, Scratch: 64, Derived: 64,
	}
	if external {
		spec.External = uint64(len(tens))
	} else {
		spec.KernelSection = tens
	}
	return readBack(t, spec, tasksOf(t, td.V256, ops...))
}

var (
	ones = halfwords(1, 2, 3, 4, 5, 6, 7, 8)
	tens = halfwords(10, 20, 30, 40, 50, 60, 70, 80)
)

// derivedSum keeps weights+constants in derived memory, twice as much further on,
// and gives x + that, and the state + x, in place.
func derivedSum() []*td.Op {
	return []*td.Op{
		op8(td.EWAdd, at8(hwx.BaseDerived, 0), at8(hwx.BaseConst, 0), at8(hwx.BaseTextConst, 0)),
		op8(td.EWAdd, at8(baseState, 0), at8(baseState, 0), at8(baseIn, 0)),
		op8(td.EWAdd, at8(hwx.BaseDerived, 32), at8(hwx.BaseDerived, 0), at8(hwx.BaseDerived, 0)),
		op8(td.EWAdd, at8(baseOut, 0), at8(hwx.BaseDerived, 32), at8(baseIn, 0)),
	}
}

// decodeOnce makes eight numbers in derived memory of a mask, indices and a table,
// which are whatever the weights are as bits.
func decodeOnce() *td.Op {
	weights := func(offset int64, d tensor.DType, dims ...int) td.Operand {
		return td.Dense(hwx.BaseConst, offset, d, [td.NumAxes]int(dims))
	}
	return &td.Op{Params: &td.DeQuant{Blocks: [td.NumAxes]int{1, 1, 1, 1, 2}}, Operands: []td.Operand{
		at8(hwx.BaseDerived, 48), weights(0, tensor.UInt3, 1, 1, 1, 1, 7), weights(4, tensor.Float16, 1, 1, 1, 1, 2), {},
		weights(8, tensor.Int8, 1, 1, 2, 3, 1), weights(15, tensor.UInt1, 1, 1, 1, 1, 8),
	}}
}

func check8(t *testing.T, what string, memory []byte, want func(i int) float32) {
	t.Helper()
	for i := range 8 {
		if got := tensor.F16(binary.LittleEndian.Uint16(memory[2*i:])); got != want(i) {
			t.Errorf("%s: element %d is %v, want %v", what, i, got, want(i))
		}
	}
}

// TestDerivedAndStates runs a program whose weights are in the file, and one that
// has them bound, in memory of the caller without padding.
func TestDerivedAndStates(t *testing.T) {
	for _, external := range []bool{false, true} {
		t.Run(fmt.Sprintf("external=%t", external), func(t *testing.T) {
			file := ownFile(t, external, ones, derivedSum()...)
			p, err := engine.LoadWith(file, engine.Options{Numerics: plain, Weights: tens})
			if err != nil {
				t.Fatal(err)
			}
			if n := p.Steps(); n != 2 {
				t.Errorf("%d steps in a dispatch, want 2", n)
			}
			c := p.NewContext()
			x, s, y := halfwords(1, 1, 1, 1, 1, 1, 1, 1), halfwords(0, 1, 2, 3, 4, 5, 6, 7), make([]byte, 16)
			for i, surface := range [][]byte{x, s, y} {
				port := p.Ports()[i]
				if port.Direction != []engine.Direction{engine.Input, engine.State, engine.Output}[i] || port.Bytes() != 16 {
					t.Fatalf("port %+v of %d bytes", port, port.Bytes())
				}
				if err := c.BindAt(i, surface); err != nil {
					t.Fatal(err)
				}
				if got, err := c.SurfaceAt(i); err != nil || &got[0] != &surface[0] {
					t.Errorf("port %d is not where it was bound (%v)", i, err)
				}
			}
			for range 3 {
				if err := p.RunAll(context.Background(), c); err != nil {
					t.Fatal(err)
				}
			}
			check8(t, "result", y, func(i int) float32 { return float32(22*(i+1) + 1) })
			check8(t, "state", s, func(i int) float32 { return float32(i + 3) })
			if n := testkit.Allocs(20, func() { p.RunAll(context.Background(), c) }); n != 0 {
				t.Errorf("%v allocations per run", n)
			}

			// Other constants make other derived memory, in contexts that are there.
			if err := p.Reload(ownFile(t, external, halfwords(8, 7, 6, 5, 4, 3, 2, 1), derivedSum()...)); err != nil {
				t.Fatal(err)
			}
			if err := p.RunAll(context.Background(), c); err != nil {
				t.Fatal(err)
			}
			check8(t, "after Reload", y, func(i int) float32 { return float32(2*(10*(i+1)+8-i) + 1) })
		})
	}
}

// A name that an input and an output share means the input where something is
// put in, and the output where something is taken out.
func TestPortsOfOneName(t *testing.T) {
	p := load(t, ownFile(t, false, ones, derivedSum()...), plain)
	c := p.NewContext()
	x, y := grid(newRand(3), 8), make([]float32, 8)
	for _, err := range []error{c.Set("x", x), p.RunAll(context.Background(), c), c.Get("x", y)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range y {
		if want := tensor.RoundF16(float32(22*(i+1)) + x[i]); y[i] != want {
			t.Errorf("element %d is %v, want %v", i, y[i], want)
		}
	}
	in, err := c.Surface("x")
	if err != nil || tensor.F16(binary.LittleEndian.Uint16(in)) != x[0] {
		t.Errorf("Surface is not that of the input (%v)", err)
	}
	for _, err := range []error{c.BindAt(3, nil), c.BindAt(-1, nil), c.BindAt(2, make([]byte, 15))} {
		if err == nil {
			t.Error("a port that is not there, or too little memory, is not refused")
		}
	}
}

// A task of every part runs when the program is loaded.
func TestDecodeOnce(t *testing.T) {
	result := &td.Op{Params: &td.Copy{}, Operands: []td.Operand{at8(baseOut, 0), at8(hwx.BaseDerived, 48)}}
	p := load(t, ownFile(t, false, ones, decodeOnce(), result), plain)
	if n := p.Steps(); n != 1 {
		t.Errorf("%d steps in a dispatch, want 1", n)
	}
	c := p.NewContext()
	y := make([]float32, 8)
	for _, err := range []error{p.RunAll(context.Background(), c), c.Get("x", y)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	// The mask selects the elements that are stored, up to seven.
	selected, next := tens[15], 0
	for i := range y {
		want := float32(0)
		if selected>>i&1 != 0 && next < 7 {
			bits := uint32(tens[0]) | uint32(tens[1])<<8 | uint32(tens[2])<<16
			entry := min(bits>>(3*next)&7, 2)
			scale := tensor.F16(binary.LittleEndian.Uint16(tens[4+2*(i/4):]))
			want = tensor.RoundF16(float32(int8(tens[8+3*(i/4)+int(entry)])) * scale)
			next++
		}
		if y[i] != want {
			t.Errorf("element %d is %v, want %v", i, y[i], want)
		}
	}
}

// TestBindTouched holds that a port that a task touches beyond its elements needs
// memory up to there.
func TestBindTouched(t *testing.T) {
	p := load(t, ownFile(t, false, ones, op8(td.EWAdd, at8(baseOut, 0), at8(baseIn, 0), at8(baseIn, 100))), plain)
	for i, want := range []int{116, 16, 16} {
		port := p.Ports()[i]
		if port.Bytes() != want {
			t.Errorf("port %q: %d bytes, want %d", port.Name, port.Bytes(), want)
		}
		if err := p.NewContext().BindAt(i, make([]byte, want-1)); err == nil {
			t.Errorf("port %q: a byte too few is not refused", port.Name)
		}
	}
}

func TestDerivedRefuses(t *testing.T) {
	copyTo := func(y, x td.Operand) *td.Op { return &td.Op{Params: &td.Copy{}, Operands: []td.Operand{y, x}} }
	derive := copyTo(at8(hwx.BaseDerived, 0), at8(hwx.BaseConst, 0))
	result := copyTo(at8(baseOut, 0), at8(hwx.BaseDerived, 0))
	scratch := copyTo(at8(hwx.BaseScratch, 0), at8(hwx.BaseConst, 0))
	still := td.Operand{Base: hwx.BaseDerived, Type: tensor.Float16, Interleave: 1, Dims: [td.NumAxes]int{1 << 20, 1 << 16, 1, 1, 8}}
	for name, test := range map[string]struct {
		ops  []*td.Op
		want string
	}{
		"nobody wrote it":  {[]*td.Op{result}, "reads byte 0x0 of derived memory"},
		"written too late": {[]*td.Op{result, derive}, "reads byte 0x0 of derived memory"},
		"half of it":       {[]*td.Op{derive, copyTo(at8(baseOut, 0), at8(hwx.BaseDerived, 8))}, "reads byte 0x10 of derived memory"},
		"of an input":      {[]*td.Op{copyTo(at8(hwx.BaseDerived, 0), at8(baseIn, 0)), result}, "reads input port x; what makes derived memory"},
		"of a state":       {[]*td.Op{copyTo(at8(hwx.BaseDerived, 0), at8(baseState, 0)), result}, "reads state s; what makes"},
		"of scratch":       {[]*td.Op{scratch, copyTo(at8(hwx.BaseDerived, 0), at8(hwx.BaseScratch, 0)), result}, "reads scratch __DATA,__bss; what makes"},
		"in place":         {[]*td.Op{derive, copyTo(at8(hwx.BaseDerived, 0), at8(hwx.BaseDerived, 0)), result}, "writes byte 0x0 of derived memory __DATA,__derived, which another task"},
		"written twice":    {[]*td.Op{derive, copyTo(at8(hwx.BaseDerived, 14), at8(hwx.BaseConst, 0)), result}, "writes byte 0xe of derived memory"},
		"outside":          {[]*td.Op{copyTo(at8(hwx.BaseDerived, 50), at8(hwx.BaseConst, 0)), result}, "are outside derived memory"},
		"two kinds of result": {[]*td.Op{{Params: &td.TopK{Type: td.Max, K: 8, Sorting: td.Sorting{Axis: td.AxisW, VectorAxis: td.AxisC, Results: td.ResultBoth}}, Operands: []td.Operand{
			at8(hwx.BaseDerived, 0), td.Dense(baseOut, 0, tensor.Float16, eight), at8(hwx.BaseConst, 0)}}}, "another result is derived"},
		"too much to do": {[]*td.Op{derive, {Params: &td.Reduction{Kind: td.ReduceSum, Axes: 3}, Operands: []td.Operand{at8(hwx.BaseDerived, 32), still}}, result},
			"steps to make derived memory"},
	} {
		_, err := engine.Load(ownFile(t, false, ones, test.ops...), plain)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestExternalWeights(t *testing.T) {
	file := ownFile(t, true, ones, derivedSum()...)
	for _, weights := range [][]byte{nil, tens[:15], append(tens[:16:16], 0)} {
		_, err := engine.LoadWith(file, engine.Options{Numerics: plain, Weights: weights})
		if err == nil || !strings.Contains(err.Error(), "external weights were given; want 0x10") {
			t.Errorf("%d bytes of weights: %v", len(weights), err)
		}
	}
}

// Derived memory that only other derivations read is given back, and all of it when the
// program is closed.
func TestDerivedIsDropped(t *testing.T) {
	p := load(t, ownFile(t, false, ones, derivedSum()...), plain)
	if _, _, packed, _ := p.Bytes(); packed != 16 {
		t.Errorf("%d bytes were made and are held, want the 16 that are read", packed)
	}
	p.Close()
	p.Close()
}
