package v7_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/mil"
)

// No rule goes by a recorded shape: for each row of operations that a record of Apple's compiler has, there is a case that
// is run and compared, at shapes that no record of these operations has.
func TestCasesAreBeyondTheRecords(t *testing.T) {
	kindsOf := func(name, text string, weights mil.Files) (kinds, shapes string) {
		program, err := mil.ParseText(name, []byte(text), weights)
		if err != nil {
			t.Fatal(err)
		}
		fn := program.Functions[0]
		var list []string
		for _, o := range fn.Body.Operations {
			if o.Kind != "const" && o.Kind != "cast" {
				list = append(list, o.Kind)
			}
		}
		if len(list) == 0 {
			list = []string{"cast"} // else it is there because no port of a case is of bools
		}
		for _, in := range fn.Inputs {
			shapes += fmt.Sprint(in.Type, " ")
		}
		return strings.Join(list, " "), shapes
	}
	recorded := map[string][]string{}
	for _, r := range appleRecords(t) {
		kinds, shapes := kindsOf(r.Case, r.MIL, &appleWeights{record: r})
		recorded[kinds] = append(recorded[kinds], shapes)
	}
	beyond := map[string]bool{}
	for _, file := range families {
		for _, c := range casesOf(t, file) {
			kinds, shapes := kindsOf(c.name, c.text(), randomWeights{})
			beyond[kinds] = beyond[kinds] || !slices.Contains(recorded[kinds], shapes)
		}
	}
	for kinds := range recorded {
		if !beyond[kinds] {
			t.Errorf("no case has %q at shapes that no record has", kinds)
		}
	}
}
