package main

import "testing"

func TestShellQuote(t *testing.T) {
	for _, c := range []struct{ arg, posix, windows string }{
		{"model.mlpackage", "model.mlpackage", "model.mlpackage"},
		{"x=random@1x3", "x=random@1x3", "x=random@1x3"},
		{"my model.mil", "'my model.mil'", `"my model.mil"`},
		{`C:\models\a.mil`, `'C:\models\a.mil'`, `C:\models\a.mil`},
		{`C:\my models\a.mil`, `'C:\my models\a.mil'`, `"C:\my models\a.mil"`},
		{"it's", `'it'\''s'`, `"it's"`},
		{"", "''", `""`},
	} {
		if got := shellQuote(c.arg, false); got != c.posix {
			t.Errorf("%q for a POSIX shell is %s, want %s", c.arg, got, c.posix)
		}
		if got := shellQuote(c.arg, true); got != c.windows {
			t.Errorf("%q for Windows is %s, want %s", c.arg, got, c.windows)
		}
	}
}

// A drive's colon is no seed, and an @ in a file's name is no shape.
func TestInputSpecOfFile(t *testing.T) {
	for flag, want := range map[string]string{
		`x=C:\data\in.npy`:   `C:\data\in.npy`,
		`x=C:/data/a@2x.png`: `C:/data/a@2x.png`,
		"x=./random":         "./random",
		"x=a=b.npy":          "a=b.npy",
		"x=zeros.npy":        "zeros.npy",
	} {
		s, err := parseInputSpec(flag)
		if err != nil || s.name != "x" || s.file != want {
			t.Errorf("--input %s: got file %q of input %q, error %v", flag, s.file, s.name, err)
		}
	}
}

func TestJSONWithByteOrderMark(t *testing.T) {
	c, err := decodeInputFile([]byte("\ufeff [[1, 2]]"))
	if err != nil || c.array == nil || c.array.Len() != 2 {
		t.Errorf("got %v, error %v", c.array, err)
	}
}
