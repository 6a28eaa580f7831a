package hal

import (
	"errors"
	"strings"
	"testing"
)

func TestAliases(t *testing.T) {
	for name, want := range map[string]string{
		"m1": "h13", "M1 Pro": "h13g", "m1-max": "h13g", "m1ultra": "h13g",
		"m2": "h14", "m2pro": "h14g", "m3": "h15", "m3 max": "h15g", "m4": "h16", "M4_Max": "h16g",
		"m5pro": "h17s", "a19": "h18",
		"T8103": "h13", "t6001": "h13g", "t8142": "h17",
		"family:A13": "h13", "family:A14": "h14", "family:a11legacy": "h11", "family:A18": "h18",
		"H13": "h13", "h17S": "h17s", "m9": "m9", "T1": "t1",
	} {
		if got, err := Lookup(name); err != nil || got.Name != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}

	// A name on which sources disagree is refused, and both readings are told.
	for name, readings := range map[string][]string{
		"a12": {"h12", "h11"}, "a13": {"h13", "h12"}, "a14": {"h14", "h13"}, "a15": {"h15", "h14"}, "a16": {"h16", "h15"},
		"a17 pro": {"h17", "h16"}, "a18": {"h18", "h17"}, "a11": {"h11", "none of the targets"},
		"iphone12": {"h14", "h13"}, "iPhone 13 Pro": {"h15", "h14"}, "iphone11": {"h13", "h12"},
		"m5": {"h17", "h17s"}, "m5max": {"h17s", "h17g"},
		"m2ultra": nil, "m3ultra": nil,
	} {
		_, err := Lookup(name)
		var alias *AliasError
		if !errors.As(err, &alias) || alias.Name != name {
			t.Errorf("%s: %v, want it refused", name, err)
			continue
		}
		for _, r := range readings {
			if !strings.Contains(err.Error(), r) {
				t.Errorf("%s: %v does not tell of %s", name, err, r)
			}
		}
	}

	seen := make(map[string]bool)
	for _, a := range Aliases() {
		if seen[a.Name] || !strings.EqualFold(a.Name, plainName(a.Name)) {
			t.Errorf("%s stands twice, or not as Lookup asks for it", a.Name)
		}
		seen[a.Name] = true
		if strings.HasPrefix(a.Name, "family:") != (a.Kind == FamilyName) {
			t.Errorf("%s is a %v", a.Name, a.Kind)
		}
		for _, r := range a.Readings {
			if r.Source == "" {
				t.Errorf("%s: %s has no source", a.Name, r.Target)
			}
			if _, err := Lookup(r.Target); r.Target != "" && err != nil {
				t.Errorf("%s: %v", a.Name, err)
			}
		}
	}
	for _, target := range Targets() {
		if seen[target.Name] {
			t.Errorf("%s is a target and an alias", target.Name)
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
		"m1,m4":          "h13 h16",
		"h13, m1,H13":    "h13",
		"virtual,m2":     "virtual h14",
		"M1 Pro,h17s":    "h13g h17s",
		"family:A14,h14": "h14",
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
	if err != nil || len(all) != 28 || all[0].Name == "virtual" {
		t.Errorf("all: %d targets, %v", len(all), err)
	}
	if more, err := ParseList("virtual,all"); err != nil || len(more) != 29 {
		t.Errorf("virtual and all: %d targets, %v", len(more), err)
	}
	for _, list := range []string{"", "m1,", ",m1", "m1,h99", "m1,a14"} {
		if _, err := ParseList(list); err == nil {
			t.Errorf("%q was taken", list)
		}
	}
}
