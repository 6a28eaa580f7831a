package anec

import (
	"strings"
	"testing"
)

// Every kind has an example, which has a text.
func TestExamples(t *testing.T) {
	for _, k := range Kinds() {
		g, err := k.ExampleGraph()
		if err != nil {
			t.Errorf("%v: %v", k, err)
			continue
		}
		text := Print(g)
		if len(g.Layers) != 1 || g.Layers[0].Kind() != k || !strings.Contains(text, " = anec.") {
			t.Errorf("%v: the example is\n%s", k, text)
		}
		if back, err := Parse(text, nil); err != nil || Print(back) != text {
			t.Errorf("%v: the text of the example is not read back: %v\n%s", k, err, text)
		}
	}
}
