package build

import (
	"reflect"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/mil"
)

// TestKeySeesEveryField has the fields of all that the compiler sees of a job. Who adds one decides whether the bytes of the
// bundle depend on it: then it is part of the key, in key.go, and of this list.
func TestKeySeesEveryField(t *testing.T) {
	for _, s := range []struct {
		of            any
		seen, ignored []string
	}{
		{compiler.Job{}, []string{"Target", "Program", "Functions", "Pipeline", "EngineOnly", "Variant", "Strict", "OneContainer", "Numerics", "Seed", "Mutable"}, []string{"Trace"}},
		{compiler.Entry{}, []string{"Function", "Program", "Shapes", "Graph", "Weights", "Features"}, nil},
		{compiler.WeightFile{}, []string{"Path", "Data"}, []string{"Identity"}}, // by which the digest of Data is remembered
		{mil.Program{}, []string{"Version", "Attributes", "Functions"}, nil},
		{mil.Function{}, []string{"Name", "Opset", "Inputs", "Attributes", "Body"}, nil},
		{mil.Block{}, []string{"Inputs", "Operations", "Outputs", "Attributes"}, nil},
		{mil.Operation{}, []string{"Kind", "Inputs", "Outputs", "Blocks", "Attributes"}, []string{"Pos"}},
		{mil.Input{}, []string{"Param", "Args"}, nil},
		{mil.Arg{}, []string{"Value", "Const"}, nil},
		{mil.Value{}, []string{"Name", "Type"}, []string{"Def"}}, // the operation that it is an output of
		{mil.Attribute{}, []string{"Name", "Value"}, nil},
		{mil.Constant{}, []string{"Type", "Tensor", "File", "Items", "Entries", "Mutable"}, nil},
		{mil.Entry{}, []string{"Key", "Value"}, nil},
		{mil.FileRef{}, []string{"Path", "Offset", "Files"}, nil},
	} {
		typ := reflect.TypeOf(s.of)
		var names []string
		for i := range typ.NumField() {
			names = append(names, typ.Field(i).Name)
		}
		listed := slices.Concat(s.seen, s.ignored)
		slices.Sort(names)
		slices.Sort(listed)
		if !slices.Equal(names, listed) {
			t.Errorf("%v has the fields %q, and the key knows %q", typ, names, listed)
		}
	}
}

// A version stands for sources, or there is none: then it is the executable that counts.
func TestVersionOf(t *testing.T) {
	setting := func(list ...string) (s []debug.BuildSetting) {
		for i := 0; i < len(list); i += 2 {
			s = append(s, debug.BuildSetting{Key: list[i], Value: list[i+1]})
		}
		return s
	}
	ours := debug.Module{Path: modulePath, Version: "v1.2.3", Sum: "h1:x"}
	replaced := ours
	replaced.Replace = &debug.Module{Path: "../espalier"}
	theirs := debug.Module{Path: "example.org/app"}
	for _, c := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"dependency", debug.BuildInfo{Main: theirs, Deps: []*debug.Module{&ours}}, "module v1.2.3 h1:x"},
		{"replaced by a folder", debug.BuildInfo{Main: theirs, Deps: []*debug.Module{&replaced}}, ""},
		{"their revision is not ours", debug.BuildInfo{Main: theirs, Settings: setting("vcs.revision", "abc", "vcs.modified", "false")}, ""},
		{"installed", debug.BuildInfo{Main: ours}, "module v1.2.3 h1:x"},
		{"clean", debug.BuildInfo{Main: debug.Module{Path: modulePath}, Settings: setting("vcs.revision", "abc", "vcs.modified", "false")}, "revision abc"},
		{"with changes", debug.BuildInfo{Main: debug.Module{Path: modulePath}, Settings: setting("vcs.revision", "abc", "vcs.modified", "true")}, ""},
		{"no revision", debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "(devel)"}}, ""},
	} {
		if got := versionOf(&c.info); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	c := openCache(t)
	version, err := c.compilerVersion() // of this test binary
	if err != nil || len(version) < 64 {
		t.Errorf("%q, %v", version, err)
	}
}

func TestPlace(t *testing.T) {
	t.Setenv("HOME", "/home/someone")
	t.Setenv("XDG_CACHE_HOME", "/xdg")
	for _, c := range []struct{ env, asked, want string }{
		{"off", "", ""},
		{"off", "/mine", "/mine"},
		{"/theirs", "", "/theirs"},
		{"/theirs", "off", ""},
		{"/theirs", "/mine", "/mine"},
	} {
		t.Setenv(EnvPlace, c.env)
		if got, err := Place(c.asked); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	for text, want := range map[string]int64{"": DefaultBound, "1": 1, "3k": 3 << 10, "500M": 500 << 20, "2G": 2 << 30, "1T": 1 << 40, "0": 0, "x": 0, "-1G": 0, "G": 0, "9999999T": 0} {
		got, err := boundOf(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
