package compiler

import (
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
)

// Strides that a description asks for are those of the target, or refused by name; along an axis of one element they say nothing.
func TestPortStrides(t *testing.T) {
	g, err := anec.Parse("graph g\ninput %x : fp16[1,1,3,2,5]\n%y = anec.relu(%x) : fp16[1,1,3,2,5]\noutput %y\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		asked anec.PortStrides // along N, D, C, H
		ok    bool
	}{
		{anec.PortStrides{}, true},
		{anec.PortStrides{7, 7, 128, 64}, true}, // rows of 64 bytes, two of them to a plane
		{anec.PortStrides{0, 0, 0, 64}, true},
		{anec.PortStrides{0, 0, 0, 128}, false},
		{anec.PortStrides{0, 0, 256, 0}, false},
	} {
		for _, port := range []string{"x", "y"} {
			g.Ports = map[string]anec.PortStrides{port: c.asked}
			for name, ok := range map[string]bool{"h13": c.ok, "virtual": true} {
				target, err := hal.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				err = checkGraph(g, target)
				if (err == nil) != ok {
					t.Errorf("%s, port %s, %v: %v", name, port, c.asked, err)
				}
				if err != nil && diag.FindingOf(err, "").ID != diag.PortStrides {
					t.Errorf("%v", err)
				}
			}
		}
	}
}
