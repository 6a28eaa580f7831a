package hal

import (
	"strings"
	"testing"
)

// TestDevicesTell holds the names to section H of the fact sheet coreai: what
// devices printed in 2026, and below it what follows by the pattern.
func TestDevicesTell(t *testing.T) {
	for _, c := range []struct {
		names  string
		target string
		status Status
	}{
		{"iPhone 15 Pro; iPhone16,1; A17 Pro", "h16p", Measured},
		{"iPhone 16 Pro; iPhone 16 Pro Max; iPhone17,1; iPhone17,2; A18 Pro", "h17p", Measured},
		{"iPhone 17 Pro; iPhone18,1; A19 Pro", "h18p", Measured},
		{"iPhone 17; A19", "h18p", Predicted},
		{"iPhone Air; iPhone18,4", "h18p", Measured}, // an A19 Pro
		{"iPhone 18 Pro; iPhone19,2; A20 Pro", "h19p", Measured},
		{"iPad Pro M1; M1", "h13g", Measured},
		{"Mac M1 Max; M1 Max", "h13c", Measured},
		{"Mac M3 Ultra; M3 Ultra", "h15d", Measured},
		{"Mac mini M4; Mac16,10; M4", "h16g", Measured},
		{"Mac M4 Max; Mac16,5; Mac16,9; M4 Max", "h16c", Measured},
		{"Mac M5; M5", "h17g", Measured},
		{"Mac M5 Pro; M5 Pro", "h17s", Measured},
		{"Mac M5 Max; Mac17,14; Mac17,6; M5 Max", "h17c", Measured},
		{"Mac M6; Mac18,5; M6; T8152", "h18g", Measured},

		{"M1 Pro", "h13s", Predicted}, {"M2 Pro", "h14s", Predicted}, {"M3 Pro", "h15s", Predicted}, {"M4 Pro", "h16s", Predicted},
		{"M2", "h14g", Predicted}, {"M3", "h15g", Predicted},
		{"M2 Max", "h14c", Predicted}, {"M3 Max", "h15c", Predicted},
		{"M1 Ultra", "h13d", Predicted}, {"M2 Ultra", "h14d", Predicted},
	} {
		for name := range strings.SplitSeq(c.names, "; ") {
			got, err := Resolve(name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if r := got.Alias.Readings[0]; got.Target.Name != c.target || r.Status != c.status || c.status == Measured && got.Disputed() {
				t.Errorf("%s is %s, %v; want %s, %v", name, got.Target.Name, r.Status, c.target, c.status)
			}
		}
	}
}

// TestSpellings holds that a name is found however it is written.
func TestSpellings(t *testing.T) {
	for name, want := range map[string]string{
		"m1": "h13g", "M1 Pro": "h13s", "m1-max": "h13c", "M4_Max": "h16c", "Apple M4 Max": "h16c", "Mac mini (M4)": "h16g",
		"iphone16pro": "h17p", "iPhone 16 Pro": "h17p", "IPHONE17,1": "h17p", "iPhone SE 3": "h14p", "iPhone X": "h11",
		"iPad Pro 11-inch (M4)": "h16g", "iPad Pro 12.9-inch (M1)": "h13g", "MacBook Pro 14-inch M4 Max": "h16c", "MacBook Neo": "h17p",
		"MacBookAir10,1": "h13g", "Macmini9,1": "h13g", "iPad13,18": "h13p", "iPad8,1": "h11g",
		"T8103": "h13g", "t6001": "h13c", "t8142": "h17g", "T6041": "h16c",
		"family:A13": "h13", "family:A14": "h14", "family:a11legacy": "h11", "family:A18": "h18",
		"H13": "h13", "h17S": "h17s", "m9": "m9", "T1": "t1",
	} {
		if got, err := Lookup(name); err != nil || got.Name != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
	for _, chip := range strings.Fields("a11 a12 a13 a14 a15 a16 a17pro a18 a18pro a19 a19pro a20pro m1 m1pro m1max m1ultra m2 m2pro m2max m2ultra m3 m3pro m3max m3ultra m4 m4pro m4max m5 m5pro m5max m5ultra m6") {
		if _, err := Lookup(chip); err != nil {
			t.Error(err)
		}
	}
}

// TestDisputedNames holds that a name on which sources disagree is taken by its
// first reading, and that all are told.
func TestDisputedNames(t *testing.T) {
	for name, readings := range map[string]string{
		"a11": "h11", "a12": "h11p h12", "a13": "h12p h13", "a14": "h13p h14", "a15": "h14p h15", "a16": "h15p h16", "a18": "h17p h18",
		"iphone12": "h13p h14", "iPhone 13 Pro": "h14p h15", "iPhone13,2": "h13p h14",
		"m1pro": "h13s h13g", "m1ultra": "h13d h13g", "m2pro": "h14s h14g", "m3max": "h15c h15g", "m4pro": "h16s h16g", "t6040": "h16s h16g", "Mac mini M4 Pro": "h16s h16g",
	} {
		c, err := Resolve(name)
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, r := range c.Targets() {
			got = append(got, r.Name)
		}
		if !c.Disputed() || strings.Join(got, " ") != readings || c.Target.Name != got[0] {
			t.Errorf("%s: taken for %s of %s; want %s", name, c.Target.Name, got, readings)
		}
		note := c.Note()
		for _, r := range append(got, name, c.Alias.Readings[1].Source) {
			if !strings.Contains(note, r) {
				t.Errorf("%s: %q does not tell of %s", name, note, r)
			}
		}
	}
	for _, name := range []string{"m1", "m1max", "h13", "h16g", "virtual", "family:A14"} {
		if c, err := Resolve(name); err != nil || c.Disputed() || c.Note() != "" || c.Readings() != "" || len(c.Targets()) != 1 {
			t.Errorf("%s is disputed: %+v, %v", name, c, err)
		}
	}
}

// TestAliases holds every row to be whole, and every name to be one of a kind.
func TestAliases(t *testing.T) {
	seen := make(map[string]bool)
	for _, a := range Aliases() {
		plain := plainName(a.Name)
		if seen[plain] || plain == "" {
			t.Errorf("%s stands twice", a.Name)
		}
		seen[plain] = true
		if strings.HasPrefix(a.Name, "family:") != (a.Kind == FamilyName) || strings.Contains(a.Name, ",") != (a.Kind == ModelIdentifier) {
			t.Errorf("%s is a %v", a.Name, a.Kind)
		}
		c, err := Resolve(a.Name)
		if err != nil || c.Target.Name != a.Readings[0].Target {
			t.Errorf("%s: %v, %v", a.Name, c.Target, err)
		}
		for i, r := range a.Readings {
			if r.Source == "" || r.Status == Unknown {
				t.Errorf("%s: %s has no source or no status", a.Name, r.Target)
			}
			if i == 0 || r.Target != "" {
				rowNamed(r.Target)
			}
		}
	}
	for _, target := range Targets() {
		if seen[target.Name] {
			t.Errorf("%s is a target and an alias", target.Name)
		}
	}
}

// TestGenerations holds bare names to stand for the base chips of their
// generations, in all that compiling and running ask.
func TestGenerations(t *testing.T) {
	n := 0
	for _, g := range Targets()[1:] {
		chip := g.Stands()
		if chip == nil {
			continue
		}
		n++
		if chip.Stands() != nil || !strings.HasPrefix(chip.Name, g.Name) || !g.Same(chip) || !chip.Same(g) || chip.tier != g.tier {
			t.Errorf("%s stands for %s", g.Name, chip.Name)
		}
		if source := valueOf(t, g.Name, "silicon").Source; !strings.Contains(source, "a bare name is ours") || !strings.HasPrefix(g.Silicon, "generation of ") {
			t.Errorf("%s does not say whose name it is: %s, %s", g.Name, g.Silicon, source)
		}
		if g.Numerics != chip.Numerics || strings.Join(g.Encoders, " ") != strings.Join(chip.Encoders, " ") || g.Sizes != chip.Sizes || g.Ways != chip.Ways || g.Container().CPUSubtype != chip.Container().CPUSubtype {
			t.Errorf("%s and %s compile otherwise", g.Name, chip.Name)
		}
		if (g.Cost == nil) != (chip.Cost == nil) || g.Cost != nil && (g.Cost.PeakFLOPS != chip.Cost.PeakFLOPS || g.Cost.Status != chip.Cost.Status) {
			t.Errorf("%s and %s have other anchors", g.Name, chip.Name)
		}
		mine := g.Values()
		for i, v := range chip.Values() {
			if v.Group == "limits" && v.Text != mine[i].Text {
				t.Errorf("%s of %s is %s, of %s %s", v.Name, chip.Name, v.Text, g.Name, mine[i].Text)
			}
		}
	}
	if n != 8 {
		t.Errorf("%d generations, want H11 to H18", n)
	}
	h13, h13g, h13c := rowNamed("h13"), rowNamed("h13g"), rowNamed("h13c")
	if h13.Same(h13c) || h13c.Same(h13g) || !h13c.Same(h13c) {
		t.Error("the M1 Max is the same as the M1")
	}
}

// TestPredictedRows holds that of a row which no source has, nothing is said to
// be known but what was seen on its chip.
func TestPredictedRows(t *testing.T) {
	seen := map[string]string{"h14s": "guide 3, guide 7, guide 12, guide 24 and 34"} // the M2 Pro
	for _, target := range Targets() {
		if target.row.like == "" {
			continue
		}
		like := rowNamed(target.row.like)
		if like.Family != target.Family || like.row.like != "" {
			t.Errorf("%s is predicted from %s", target.Name, like.Name)
		}
		for _, v := range target.Values() {
			if v.Name == "silicon" || v.Name == "encoders" || v.Status <= Predicted {
				continue
			}
			if source := strings.SplitN(v.Source, ",", 2)[0]; v.Status != Measured || !strings.Contains(seen[target.Name], source) {
				t.Errorf("%s: %s is %v by %s", target.Name, v.Name, v.Status, v.Source)
			}
		}
	}
}

func TestNearNames(t *testing.T) {
	for name, want := range map[string]string{
		"h133":      `no target "h133"; did you mean h13`,
		"hh13":      "h13",
		"virtul":    "virtual",
		"m1prp":     "m1pro",
		"family:13": "family:A13",
		"Mac mini":  "Mac mini M1",
		"zzzzzz":    "espalier targets lists them",
		"":          "espalier targets lists them",
	} {
		if _, err := Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", name, err, want)
		}
	}
}

func TestParseList(t *testing.T) {
	for list, want := range map[string]string{
		"m1,m4":             "h13g h16g",
		"h13g, m1,H13G":     "h13g",
		"virtual,m2":        "virtual h14g",
		"M1 Max,h17s":       "h13c h17s",
		"family:A14,h14":    "h14",
		"a14,h13":           "h13p h14 h13",
		"iPhone17,1,m4":     "h17p h16g",
		"m4,iPhone17,1":     "h16g h17p",
		"Mac16,10, Mac16,5": "h16g h16c",
	} {
		got, err := ParseList(list)
		var names []string
		for _, target := range got {
			names = append(names, target.Name)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s: %v, %v; want %s", list, names, err, want)
		}
	}
	all, err := ParseList("all")
	if err != nil || len(all) != len(Targets())-1 || all[0].Name == "virtual" {
		t.Errorf("all: %d targets, %v", len(all), err)
	}
	if more, err := ParseList("virtual,all"); err != nil || len(more) != len(Targets()) {
		t.Errorf("virtual and all: %d targets, %v", len(more), err)
	}
	for _, list := range []string{"", "m1,", ",m1", "m1,h99", "m1,1"} {
		if _, err := ParseList(list); err == nil {
			t.Errorf("%q was taken", list)
		}
	}
}
