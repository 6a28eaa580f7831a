package engine_test

import (
	"runtime"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/td"
)

// A container may ask for any scratch: a dispatch has what its tasks touch.
func TestScratchIsWhatTasksTouch(t *testing.T) {
	virtual, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	shape := [4]uint32{1, 3, 1, 64}
	file := readBack(t, hwx.Spec{
		Form: hwx.Form2026, Subtype: virtual.CPUSubtype, Constants: make([]byte, 0x4000), Scratch: 1 << 30, Derived: 1 << 30,
		Ports: []hwx.PortSpec{
			{Name: "x", Direction: hwx.In, Element: hwx.ElementFloat16, Shape: shape},
			{Name: "y", Direction: hwx.Out, Element: hwx.ElementFloat16, Shape: shape},
		},
	}, tasksOf(t, td.V256, gainThenShift()...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := engine.Load(file, virtual.Numerics)
	if err != nil {
		t.Fatal(err)
	}
	p.NewContext()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<28 {
		t.Errorf("loading it and a context take %d bytes", n)
	}
}
