package engine_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

const halfSize = 2

// The bases of the containers below: an input x and an output y, both
// 1x3x1x64, so that rows of 64 bytes are dense.
const (
	baseX = hwx.BasePorts
	baseY = hwx.BasePorts + 1
)

var rowDims = [td.NumAxes]int{1, 1, 3, 1, 64}

// tasksOf makes tasks of operations, which it numbers.
func tasksOf(t testing.TB, version td.Version, ops ...*td.Op) []*td.Task {
	t.Helper()
	tasks := make([]*td.Task, len(ops))
	for i, op := range ops {
		op.ID = uint16(i)
		var err error
		if tasks[i], err = op.Task(version); err != nil {
			t.Fatal(err)
		}
	}
	return tasks
}

// virtualFile makes a container of operations, as it would be read from a file.
func virtualFile(t testing.TB, target string, version td.Version, ops ...*td.Op) *hwx.File {
	t.Helper()
	tgt, err := hal.Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	constants := make([]byte, 0x4000)
	for c := range 3 { // gains 1, 2, 3
		binary.LittleEndian.PutUint16(constants[halfSize*c:], tensor.ToF16(float32(c+1)))
	}
	spec := hwx.Spec{
		Form: hwx.Form2026, Subtype: tgt.CPUSubtype,
		Constants: constants, Scratch: 0x4000,
		Ports: []hwx.PortSpec{
			{Name: "x", Direction: hwx.In, Element: hwx.ElementFloat16, Shape: [4]uint32{1, 3, 1, 64}},
			{Name: "y", Direction: hwx.Out, Element: hwx.ElementFloat16, Shape: [4]uint32{1, 3, 1, 64}},
		},
	}
	return readBack(t, spec, tasksOf(t, version, ops...))
}

// readBack makes a container of tasks, as it would be read from a file.
func readBack(t testing.TB, spec hwx.Spec, tasks []*td.Task) *hwx.File {
	t.Helper()
	if err := spec.SetTasks(tasks); err != nil {
		t.Fatal(err)
	}
	built, err := hwx.Build(spec)
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

// gainThenShift is y = reverse(x·gain) + 1, through scratch.
func gainThenShift() []*td.Op {
	f16 := tensor.Float16
	reversed := td.Dense(hwx.BaseScratch, 0, f16, rowDims)
	reversed.Offset += 63 * halfSize
	reversed.Strides[td.AxisW] = -halfSize
	return []*td.Op{
		{Params: &td.ElementWise{Kind: td.EWMult}, Operands: []td.Operand{
			td.Dense(hwx.BaseScratch, 0, f16, rowDims),
			td.Dense(baseX, 0, f16, rowDims),
			td.Dense(hwx.BaseConst, 0, f16, [td.NumAxes]int{1, 1, 3, 1, 1}),
		}},
		{Params: &td.Copy{}, Operands: []td.Operand{td.Dense(baseY, 0, f16, rowDims), reversed},
			Epilogue: []td.MicroOp{{Code: td.MicroScaleBias, A: 1, B: 1}}},
	}
}

// A container of version-256 tasks, and one of H13 with the same tasks as
// extensions, go the whole way from bytes to results.
func TestVirtualContainer(t *testing.T) {
	x := grid(newRand(1), 3*64)
	want := make([]float32, len(x))
	for c := range 3 {
		for w := range 64 {
			want[c*64+w] = x[c*64+63-w]*float32(c+1) + 1
		}
	}
	for _, tt := range []struct {
		target  string
		version td.Version
	}{{"virtual", td.V256}, {"h13", td.V7}} {
		t.Run(tt.target, func(t *testing.T) {
			p := load(t, virtualFile(t, tt.target, tt.version, gainThenShift()...), plain)
			equal(t, "y", execute(t, p, map[string][]float32{"x": x})["y"], want)
			c := p.NewContext()
			if n := testkit.Allocs(100, func() { p.RunAll(context.Background(), c) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// What a program must not do is refused before anything runs.
func TestVirtualRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(ops []*td.Op) []*td.Op
		want   string
	}{
		"outside": {func(ops []*td.Op) []*td.Op {
			ops[0].Operands[1].Offset = 1 << 20
			return ops
		}, "are outside input port x"},
		"unwritten": {func(ops []*td.Op) []*td.Op { return ops[1:] }, "which no task has written"},
		"constants": {func(ops []*td.Op) []*td.Op {
			ops[0].Operands[0].Base = hwx.BaseConst
			return ops
		}, "writes constants"},
		"input": {func(ops []*td.Op) []*td.Op {
			ops[0].Operands[0].Base = baseX
			return ops
		}, "writes input port x"},
		"text": {func(ops []*td.Op) []*td.Op {
			ops[0].Operands[1].Base = hwx.BaseText
			return ops
		}, "task 0"},
		"no base": {func(ops []*td.Op) []*td.Op {
			ops[0].Operands[1].Base = 999
			return ops
		}, "the table has 256 entries"},
		"overlapping result": {func(ops []*td.Op) []*td.Op {
			ops[0].Operands[0].Strides[td.AxisC] = halfSize
			return ops
		}, "elements of the result overlap"},
		"reversed in place": {func(ops []*td.Op) []*td.Op {
			ops[1].Operands[0].Base = hwx.BaseScratch
			return ops
		}, "the result overlaps operand 1"},
		"unknown function": {func(ops []*td.Op) []*td.Op {
			ops[1].Epilogue[0] = td.MicroOp{Code: td.MicroActivation, Function: uint8(td.FuncGamma)}
			return ops
		}, "gamma computes is not known"},
		"absurd": {func(ops []*td.Op) []*td.Op {
			huge := td.Operand{Base: baseX, Type: tensor.Float16, Interleave: 1, Dims: [td.NumAxes]int{1 << 26, 1 << 26, 1, 1, 1}}
			return append(ops, &td.Op{Params: &td.Reduction{Kind: td.ReduceSum, Axes: 0x1f}, Operands: []td.Operand{
				td.Dense(baseY, 0, tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, 1}), huge,
			}})
		}, "steps"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := engine.Load(virtualFile(t, "virtual", td.V256, tt.change(gainThenShift())...), plain)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestMixedTasks lets tasks of version 7 and extensions read what the others have
// written, byte by byte.
func TestMixedTasks(t *testing.T) {
	size := dims{3, 1, 64}
	f16 := tensor.Float16
	double := func(y, x td.Operand) *td.Op {
		return &td.Op{Params: &td.Copy{}, Operands: []td.Operand{y, x}, Epilogue: []td.MicroOp{{Code: td.MicroScaleBias, A: 2}}}
	}
	// reads has one byte of scratch more than the task before has written.
	late := td.Dense(hwx.BaseScratch, 1, tensor.Int8, [td.NumAxes]int{1, 1, 1, 1, 3 * 64 * 2})
	bytesAt := func(base int, offset int64, n int) td.Operand {
		return td.Dense(base, offset, tensor.Int8, [td.NumAxes]int{1, 1, 1, 1, n})
	}
	for _, test := range []struct {
		what string
		op   *td.Op
		want string
	}{
		{"all of it", double(td.Dense(hwx.BaseScratch, 0x1000, f16, rowDims), td.Dense(hwx.BaseScratch, 0, f16, rowDims)), ""},
		{"a byte too many", double(bytesAt(hwx.BaseScratch, 0x1000, 3*64*2), late), "reads byte 0x180 of"},
		{"half an element", &td.Op{Params: &td.Copy{}, Operands: []td.Operand{bytesAt(hwx.BaseScratch, 0x1000, 3*64*2-1), bytesAt(hwx.BaseScratch, 0, 3*64*2-1)}},
			"reads byte 0x117f of"},
	} {
		t.Run(test.what, func(t *testing.T) {
			b := newBuilder(t)
			b.spec.Scratch = 0x4000
			b.port("x", hwx.In, 1, 3, 1, 64)
			b.port("y", hwx.Out, 1, 3, 1, 64)
			surface := portSurface(size)
			later := surface
			later.base = 0x1000
			b.bypass(size, false).from(portA, surface).to(hwx.BaseScratch, surface)
			extension, err := test.op.Task(td.V7)
			if err != nil {
				t.Fatal(err)
			}
			b.tasks = append(b.tasks, &task{extension, b})
			b.bypass(size, false).from(hwx.BaseScratch, later).to(portB, surface)
			p, err := engine.Load(b.file(), plain)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			x := grid(newRand(2), 3*64)
			want := make([]float32, len(x))
			for i := range x {
				want[i] = 2 * x[i]
			}
			equal(t, "y", execute(t, p, map[string][]float32{"x": x})["y"], want)
		})
	}
}
