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
				for _, f := range portFindings(g, target) {
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
				checkPortSaid(t, a, want)
			}
		}
	}
}

// checkPortSaid checks that an assessment says of a port what compiling it would: a refusal with the layer at it, and a note as a note.
func checkPortSaid(t *testing.T, a *GraphAssessment, want diag.ID) {
	t.Helper()
	if want == "" {
		if a.refused() || len(a.Segments) == 0 {
			t.Errorf("refused: %v", a.Verdicts[0].Finding)
		}
		return
	}
	said := a.Findings
	if a.refused() {
		said = []*diag.Finding{a.Verdicts[0].Finding}
	}
	if refuses := want.Row().Severity == diag.Refusal; a.refused() != refuses || !slices.ContainsFunc(said, func(f *diag.Finding) bool { return f.ID == want && f.Severity != 0 }) {
		t.Errorf("refused %v, and says %v, want %s", a.refused(), said, want)
	}
}

// No target lays channels side by side, ours neither: that is said of the port, before any pass.
func TestPortInterleave(t *testing.T) {
	g, err := anec.Parse("graph g\ninput %x : fp16[1,1,4,2,5]\ninput %unread : fp16[1,1,4,2,5]\n%y = anec.copy(%x) : fp16[1,1,4,2,5]\noutput %y\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range []string{"x", "y", "unread"} {
		for _, name := range []string{"h13", "virtual"} {
			target, err := hal.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			c := g.Clone()
			c.Value(port).Type.Interleave = 2
			if err := portGate(c, target); err == nil || !strings.Contains(err.Error(), "2 channels side by side") {
				t.Errorf("%s, port %s: %v", name, port, err)
			}
			a, err := AssessGraph(context.Background(), c, target)
			if err != nil {
				t.Fatal(err)
			}
			checkPortSaid(t, a, diag.PortInterleave)
		}
	}
}
