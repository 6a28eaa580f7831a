package compiler

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
)

// Strides that a description asks for are those of the target, or refused by name; along an axis of one element they say nothing. A
// batch inside of the depth, as Apple's lists have it, is taken and said.
func TestPortStrides(t *testing.T) {
	const flat, deep = "[1,1,3,2,5]", "[2,4,3,2,5]"
	for _, c := range []struct {
		dims  string
		asked anec.PortStrides // along N, D, C, H
		found diag.ID          // on a chip
	}{
		{flat, anec.PortStrides{}, ""},
		{flat, anec.PortStrides{7, 7, 128, 64}, ""}, // rows of 64 bytes, two of them to a plane
		{flat, anec.PortStrides{0, 0, 0, 64}, ""},
		{flat, anec.PortStrides{0, 0, 0, 128}, diag.PortStrides},
		{flat, anec.PortStrides{0, 0, 256, 0}, diag.PortStrides},
		{deep, anec.PortStrides{1536, 384, 128, 64}, ""},
		{deep, anec.PortStrides{384, 768, 128, 64}, diag.PortOrder},
		{deep, anec.PortStrides{384, 1536, 128, 64}, diag.PortStrides},
		{deep, anec.PortStrides{384, 768, 256, 64}, diag.PortStrides},
	} {
		g, err := anec.Parse(strings.ReplaceAll("graph g\ninput %x : fp16DIMS\n%y = anec.copy(%x) : fp16DIMS\noutput %y\n", "DIMS", c.dims), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range []string{"x", "y"} {
			g.Ports = map[string]anec.PortStrides{port: c.asked}
			for name, want := range map[string]diag.ID{"h13": c.found, "virtual": ""} {
				target, err := hal.Lookup(name)
				if err != nil {
					t.Fatal(err)
				}
				found := diag.ID("")
				for f := range portFindings(g, target) {
					found = f.ID
				}
				err = portGate(g, target)
				if found != want || (err != nil) != (want == diag.PortStrides) {
					t.Errorf("%s, port %s, %v: found %q and %v, want %q", name, port, c.asked, found, err, want)
				}
				a, err := AssessGraph(context.Background(), g, target)
				if err != nil {
					t.Fatal(err)
				}
				if said := slices.ContainsFunc(a.Findings, func(f *diag.Finding) bool { return f.ID == want }); want != "" && !said {
					t.Errorf("%s, port %s, %v: %v does not say %s", name, port, c.asked, a.Findings, want)
				}
			}
		}
	}
}
