package driver_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/driver"
)

// The procedures of a container are called by their index, and are one program, one image, one slot.
func TestProcedures(t *testing.T) {
	d := driver.New(target(t, "virtual"))
	c := d.NewClient(driver.AllowAll)
	b := load(t, c, build(t, linearProgram(t, "double", "y", 8, 2, 0), linearProgram(t, "next", "z", 8, 1, 1)), 8)
	put(b.x, 1, 2, 3)
	for i, want := range []float32{6, 4} {
		r := b.request(driver.Default)
		r.Procedure = i
		check(t, b.Run(patience(t), r))
		wants(t, b.y, 2, want)
	}
	r := b.request(driver.Default)
	r.Procedure = 2
	if err := b.Run(patience(t), r); !errors.Is(err, driver.BadArgument) {
		t.Errorf("a third procedure: %v", err)
	}
	if s := d.Status(); s.Programs != 1 || s.Processes != 1 {
		t.Errorf("status %+v", s)
	}
	list := b.Program().Procedures()
	if len(list) != 2 || list[1].Name != "next" || list[1].IntermediateBytes != 1<<16 ||
		!slices.Equal(list[1].InputSymbols, []int{0}) || !slices.Equal(list[1].OutputSymbols, []int{1}) {
		t.Errorf("%+v", list)
	}
}
