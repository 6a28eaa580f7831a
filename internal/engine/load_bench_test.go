package engine_test

import (
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// chainFile is a container of n elementwise tasks over tensors of 64 KiB at
// changing places of 64 MiB of scratch: every third in place, one in three on rows
// with gaps, each with a constant of its own.
func chainFile(t testing.TB, n int) *hwx.File {
	t.Helper()
	target, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	const size, scratch = 64 << 10, 64 << 20
	dims := [td.NumAxes]int{1, 1, 8, 32, 128}
	at := func(base int, offset int64) td.Operand { return td.Dense(base, offset, tensor.Float16, dims) }
	var tasks []*td.Task
	from := at(hwx.BasePorts, 0)
	for i := range n {
		to := at(hwx.BaseScratch, int64(i*2*size%scratch))
		switch {
		case i == n-1:
			to = at(hwx.BasePorts+1, 0)
		case i%3 == 1:
			to = from
		case i%3 == 2: // rows with gaps
			to.Strides[td.AxisH] += 64
			to.Strides[td.AxisC] += 32 * 64
		}
		gain := td.Dense(hwx.BaseConst, int64(2*i), tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, 1})
		op := &td.Op{ID: uint16(i), Params: &td.ElementWise{Kind: td.EWAdd}, Operands: []td.Operand{to, from, gain}}
		task, err := op.Task(td.V256)
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, task)
		from = to
	}
	port := func(name string, d hwx.Direction) hwx.PortSpec {
		return hwx.PortSpec{Name: name, Direction: d, Element: hwx.ElementFloat16, Shape: [4]uint32{1, 8, 32, 128}}
	}
	spec := hwx.Spec{
		Form: hwx.Form2026, Subtype: target.CPUSubtype,
		Ports: []hwx.PortSpec{port("x", hwx.In), port("y", hwx.Out)}, Constants: make([]byte, 2*n), Scratch: scratch,
	}
	if err := spec.SetTasks(tasks); err != nil {
		t.Fatal(err)
	}
	file, err := hwx.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// BenchmarkLoad prints what loading costs a task: it should not grow with their
// number.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			file := chainFile(b, n)
			for b.Loop() {
				if _, err := engine.Load(file, plain); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
		})
	}
}
