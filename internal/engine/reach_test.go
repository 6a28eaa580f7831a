package engine_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/td"
)

// A container may ask for any scratch, and for a port with any window: a dispatch has what its tasks touch.
func TestMemoryIsWhatTasksTouch(t *testing.T) {
	virtual, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	shape := [4]uint32{1, 3, 1, 64}
	strides := hwx.SurfaceStrides(hwx.ElementFloat16, shape)
	strides[0] = 1 << 30 // of one batch element
	file := readBack(t, hwx.Spec{
		Form: hwx.Form2026, Subtype: virtual.CPUSubtype, Constants: make([]byte, 0x4000), Scratch: 1 << 30, Derived: 1 << 30,
		Ports: []hwx.PortSpec{
			{Name: "x", Direction: hwx.In, Element: hwx.ElementFloat16, Shape: shape},
			{Name: "y", Direction: hwx.Out, Element: hwx.ElementFloat16, Shape: shape, Strides: strides},
		},
	}, tasksOf(t, td.V256, gainThenShift()...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := engine.Load(file, virtual.Numerics)
	if err != nil {
		t.Fatal(err)
	}
	c := p.NewContext()
	if err := p.RunAll(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<28 {
		t.Errorf("loading and running it take %d bytes", n)
	}
}
