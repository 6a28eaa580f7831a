package units

import (
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/td"
)

// What does not fit is told by its part.
func TestCheck(t *testing.T) {
	m := Machine{hal.Sizes{Engines: 16}}
	array := func() *Op { return m.Bypass(Size{W: 5, H: 4, D: 1, C: 3}) }
	planar := func() *Op { return m.Planar(td.TypePlanarUnary, Size{W: 5, H: 4, D: 2, C: 3}) }
	for _, c := range []struct {
		op     *Op
		change func(o *Op)
		part   Part
	}{
		{array(), func(o *Op) { o.In.W = 0 }, PartInW},
		{array(), func(o *Op) { o.Groups = 0 }, PartGroups},
		{array(), func(o *Op) { o.In.D = 2 }, PartInD},
		{array(), func(o *Op) { o.Out.C = 2 }, PartUnicast},
		{array(), func(o *Op) { o.Window.KW = 2 }, PartKernelW},
		{array(), func(o *Op) { o.Operation, o.Unicast = MultiplyAdd, 2 }, PartUnicast},
		{array(), func(o *Op) { o.Operation, o.Unity, o.Out.W = MultiplyAdd, false, 9 }, PartOutW},
		{array(), func(o *Op) { o.Operation, o.Unity, o.Window.PY = MultiplyAdd, false, 1 }, PartOutH},
		{array(), func(o *Op) { o.Source1.Memory = &Surface{Interleave: 256} }, PartSource1},
		{planar(), func(o *Op) { o.Out.H = 3 }, PartOutH},
		{planar(), func(o *Op) { o.Kind = 7 }, PartKind},
		{planar(), func(o *Op) { o.Kind = td.TypePlanarBinary }, PartKind},
		{planar(), func(o *Op) { o.Kind, o.Source2, o.Broadcast2 = td.TypePlanarGain, new(Source), BroadcastH }, PartBroadcast2},
	} {
		if part, err := c.op.Check(); err != nil {
			t.Fatalf("part %d of what is right: %v", part, err)
		}
		c.change(c.op)
		if part, err := c.op.Check(); err == nil || part != c.part {
			t.Errorf("got part %d, %v; want part %d", part, err, c.part)
		}
	}
	if e, size, ok := PartStreamSize(7).Stream(); e != 7 || !size || !ok {
		t.Errorf("engine %d, size %t, %t", e, size, ok)
	}
	if _, _, ok := PartTable.Stream(); ok {
		t.Error("the table is a stream")
	}
}
