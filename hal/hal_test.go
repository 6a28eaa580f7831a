package hal

import (
	"reflect"
	"strings"
	"testing"
)

func TestTargets(t *testing.T) {
	names := make(map[string]bool)
	subtypes := make(map[uint32]bool)
	for _, target := range Targets() {
		for _, name := range append([]string{target.Name}, target.Aliases...) {
			if names[strings.ToLower(name)] {
				t.Errorf("%q stands twice", name)
			}
			names[strings.ToLower(name)] = true
			for _, spelling := range []string{name, strings.ToUpper(name)} {
				if got, err := Lookup(spelling); err != nil || got != target {
					t.Errorf("Lookup(%q): %v, %v", spelling, got, err)
				}
			}
		}
		// The dies of a generation share a subtype; the base target comes first.
		got, err := BySubtype(target.CPUSubtype)
		switch first := !subtypes[target.CPUSubtype]; {
		case target.CPUSubtype == 0:
			if err == nil {
				t.Errorf("%s has no subtype, and BySubtype finds %s", target.Name, got.Name)
			}
		case err != nil || first != (got == target) || got.Family != target.Family || !got.row.isGeneration():
			t.Errorf("BySubtype(%#x) of %s: %v, %v", target.CPUSubtype, target.Name, got, err)
		}
		subtypes[target.CPUSubtype] = true

		s := target.Sizes
		for name, v := range map[string]int{"OnChipAlign": s.OnChipAlign, "RowAlign": s.RowAlign, "PageSize": s.PageSize, "TileSize": s.TileSize, "TaskAlign": s.TaskAlign, "Engines": s.Engines, "MaxLanes": s.MaxLanes} {
			if v < 1 || v&(v-1) != 0 {
				t.Errorf("%s: %s is %d, want a power of 2", target.Name, name, v)
			}
		}
	}
	if Targets()[0].Name != "virtual" {
		t.Errorf("the first target is %s; want virtual", Targets()[0].Name)
	}
	if _, err := BySubtype(0xdead); err == nil {
		t.Error("found a target with subtype 0xdead")
	}
	var base []string
	for _, target := range Base() {
		base = append(base, target.Name)
	}
	if got := strings.Join(base, " "); got != "h13g h14g h15g h16g h17g h18g" {
		t.Errorf("the base chips are %s", got)
	}
}

// TestRules holds the table of rules to the fields of Numerics: each rule sets
// one field, each field has a rule.
func TestRules(t *testing.T) {
	fields := reflect.TypeFor[Numerics]().NumField()
	if len(Rules()) != fields {
		t.Errorf("%d rules for %d fields", len(Rules()), fields)
	}
	set := make(map[int]bool)
	for _, r := range Rules() {
		if r.Doc == "" || r.Source == "" {
			t.Errorf("%s: no meaning or no source", r.Name)
		}
		var n Numerics
		off := r.Value(n)
		on := "true"
		if off == "0" {
			on = "32768"
		}
		if err := r.Set(&n, on); err != nil {
			t.Fatal(err)
		}
		if r.Value(n) != on {
			t.Errorf("%s: set to %s, is %s", r.Name, on, r.Value(n))
		}
		v := reflect.ValueOf(n)
		for i := range fields {
			if !v.Field(i).IsZero() {
				if set[i] {
					t.Errorf("%s sets %s, as another rule does", r.Name, v.Type().Field(i).Name)
				}
				set[i] = true
			}
		}
		if err := r.Set(&n, "maybe"); err == nil {
			t.Errorf("%s took %q", r.Name, "maybe")
		}
	}
	if len(set) != fields {
		t.Errorf("the rules set %d fields of %d", len(set), fields)
	}
}

func TestParseNumerics(t *testing.T) {
	h13, err := Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	n, err := ParseNumerics("H13,saturate-at-port=0,nan-to-inf=false")
	want := h13.Numerics
	want.SaturateAtPort, want.NaNToInf = 0, false
	if err != nil || n != want {
		t.Errorf("got %v, %v; want %v", n, err, want)
	}
	if again, err := ParseNumerics("virtual," + n.String()); err != nil || again != n {
		t.Errorf("String does not give the profile back: %v, %v", again, err)
	}
	if n, err := ParseNumerics("iPhone17,1,round-to-half=false"); err != nil || n.RoundToHalf {
		t.Errorf("of a model identifier: %v, %v", n, err)
	}
	for _, s := range []string{"", "h99", "h13,", "h13,nan-to-inf", "h13,no-such-rule=1", "h13,saturate-at-port=-1", "h13,saturate-at-port=NaN"} {
		if _, err := ParseNumerics(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
	if h13.Numerics.SaturateAtPort != 32768 {
		t.Error("parsing changed the row")
	}
}
