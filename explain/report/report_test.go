package report

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestPrintable(t *testing.T) {
	if got, want := Printable("a\nb\x1b[31m\u009bü×"), "a b [31m ü×"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestIndent(t *testing.T) {
	const compact = `{"a":[1,[2,"],{"]],"b":{},"c":[{"d":[]},{"e":null}],"f":"x\"y"}`
	const want = `{
  "a": [1, [2, "],{"]],
  "b": {},
  "c": [
    {
      "d": []
    },
    {
      "e": null
    }
  ],
  "f": "x\"y"
}
`
	if got := string(indented([]byte(compact))); got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
	var back bytes.Buffer
	if err := json.Compact(&back, indented([]byte(compact))); err != nil || back.String() != compact {
		t.Errorf("it does not survive: %s, %v", back.String(), err)
	}
}
