package anec

import (
	"reflect"
	"slices"
	"testing"
)

// mayBeEmpty are the fields of a row that say something by being empty. TestKinds and tests of the compiler hold them to
// what else is known of a kind.
var mayBeEmpty = []string{"Desc", "Unsure", "Pattern", "NoValidator", "Check", "Codegen", "Refused", "NoTask"}

// No row leaves out a fact.
func TestFacts(t *testing.T) {
	for _, k := range Kinds() {
		row := reflect.ValueOf(k.Info()).Elem()
		for i := range row.NumField() {
			if name := row.Type().Field(i).Name; row.Field(i).IsZero() && !slices.Contains(mayBeEmpty, name) {
				t.Errorf("%v says nothing of %s", k, name)
			}
		}
	}
}

// Facts of a kind that say something of each other.
func TestFactsAgree(t *testing.T) {
	for _, k := range Kinds() {
		info := k.Info()
		ways := 0
		for _, is := range []bool{info.Cost.FLOPs != nil, info.Cost.Free, info.Cost.None != ""} {
			if is {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("%v: want operations, a view or a reason, one of them; got %d", k, ways)
		}
		if info.View.When == nil {
			t.Errorf("%v does not say when it is a view", k)
		}
		if info.View.Only && (info.Epilogue != EpilogueOwn || info.InPlace(&Layer{Params: NewParams(k)}, 0)) {
			t.Errorf("%v is nothing but a view, and has the epilogue of a task, or writes", k)
		}
		one := len(info.Contract.Bottoms) == 1 && len(info.Contract.Tops) == 1
		if info.TextureSlot == Yes && !one {
			t.Errorf("%v stands in the texture slot with %v", k, &info.Contract)
		}
		if info.Epilogue.Steps() && len(info.Contract.Tops) != 1 {
			t.Errorf("%v takes steps, and has tops %v", k, info.Contract.Tops)
		}
		if info.Broadcasts == Yes && !info.Epilogue.Steps() {
			t.Errorf("%v broadcasts its sources, and takes no steps", k)
		}
	}
}
