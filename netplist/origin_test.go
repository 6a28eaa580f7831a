package netplist

import (
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
)

// A layer that a model's operation became keeps that through a list where it matters: a hidden unit that was authored is a segment
// of its own on chips.
func TestOrigins(t *testing.T) {
	g, err := anec.Parse(`graph g
input %x : fp16[1,1,4,2,2]
%a = anec.relu(%x) : fp16[1,1,4,2,2] from act
%b = anec.pixel_shuffle(%a) {x = 2, y = 2} : fp16[1,1,1,4,4] from shuffle_1 shuffle_2
%y = anec.pixel_unshuffle(%b) {x = 2, y = 2} : fp16[1,1,4,2,2]
output %y
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, findings := throughList(t, g, XML)
	for _, l := range again.Layers {
		var want []string
		if l.Kind() == anec.KindPixelShuffle {
			want = []string{"shuffle_1", "shuffle_2"}
		}
		if !slices.Equal(l.Origin, want) {
			t.Errorf("%v is from %q, want %q", l.Kind(), l.Origin, want)
		}
	}
	if len(findings) != 1 || !strings.Contains(findings[0].Text, originOf) {
		t.Errorf("findings %v", findings)
	}
}

// A type that Apple's compiler has and we do not is refused with the reason.
func TestAbsentUnits(t *testing.T) {
	for _, word := range []string{"RCAS", "Reverse", "Phi", "Condition", "LiveState"} {
		f := &File{Version: schema2026, Networks: []*Network{{Name: "n",
			Inputs:  []*Port{{Symbol: "x", Type: "Float16", Dims: Dims{1, 1, 1, 1, 4}}},
			Units:   []*Unit{{Name: "u", Type: word, Bottom: []string{"x"}, OutputType: "Float16"}},
			Outputs: []*Port{{Symbol: "y", Bottom: "u"}},
		}}}
		a, _ := anec.FindAbsent(word)
		if _, _, err := f.Procedures(openIn(nil)); err == nil || !strings.Contains(err.Error(), a.Why) {
			t.Errorf("%s: %v; want %q", word, err, a.Why)
		}
	}
}
