package hal

import "testing"

// Written by hand from the rows of chips.go: devices told of some chips, and on the
// other phones guide 34 and coreml_to_ane_hwx disagree by one generation.
func TestFamiliesForPeople(t *testing.T) {
	for _, c := range []struct {
		family       Family
		later, chips string
	}{
		{A11Legacy, "M1, A12 or later", "A11?"},
		{A12, "M1, A13 or later", "A13?"},
		{A13, "M1, A14 or later", "M1"},
		{A14, "M2, A15 or later", "M2"},
		{A15, "M3, A16 or later", "M3"},
		{A16, "M4, A17 Pro or later", "M4, A17 Pro"},
		{A17, "M5, A18 or later", "M5, A18 Pro"},
		{A18, "M6, A19 or later", "M6, A19"},
	} {
		if got := c.family.OrLater(); got != c.later {
			t.Errorf("%v: %q, want %q", c.family, got, c.later)
		}
		if got := c.family.Chips(); got != c.chips {
			t.Errorf("%v: %q, want %q", c.family, got, c.chips)
		}
	}
}

func TestTargetsForPeople(t *testing.T) {
	for name, want := range map[string]string{
		"h13": "M1", "h13g": "M1", "h13c": "M1 Max", "h13s": "M1 Pro?", "h13p": "A14?", "h14": "M2", "h17": "M5", "h17p": "A18 Pro", "h18": "M6", "h18p": "A19, A19 Pro", "h11": "A11?", "u1": "reference, not silicon",
	} {
		target, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := target.Chips(); got != want {
			t.Errorf("%s is called %q, want %q", name, got, want)
		}
	}
}
