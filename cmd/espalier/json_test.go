package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/explain/bench"
	"github.com/espalier-ane/espalier/explain/dump"
	"github.com/espalier-ane/espalier/explain/layers"
	"github.com/espalier-ane/espalier/explain/model"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// TestEveryFieldIsDocumented holds docs/json.md against the types of the reports. What they print is held by
// the scripts.
func TestEveryFieldIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(page), "\n## ")
	for _, report := range []struct {
		section string
		typ     any
	}{
		{"`espalier run --json`", runReport{}},
		{"`espalier bench --json`", bench.Report{}},
		{"`espalier compile --json`", compileReport{}},
		{"`espalier inspect --json`", model.Report{}},
		{"`espalier dump --json`", dump.Head{}},
		{"`espalier dump --json`", dump.Container{}},
		{"`espalier dump --json`", dump.Descriptor{}},
		{"`espalier dump --json`", dump.Bundle{}},
		{"`espalier dump --json`", dump.Firmware{}},
		{"`espalier dump --json`", dump.Program{}}, // the rest of a model is what inspect prints
		{"`espalier dump --json`", dump.WeightFile{}},
		{"`espalier dump --json`", dump.Arrays{}},
		{"`espalier layers --json`", layers.Table{}},
		{"`espalier layers --json`", layers.Kind{}},
		{"`espalier fit --json`", fitReport{}},
		{"`espalier targets --json`", targetsReport{}},
		{"`espalier cache --json`", cacheReport{}},
		{"`espalier version --json`", versionReport{}},
	} {
		text := ""
		for _, s := range sections {
			if strings.HasPrefix(s, report.section) {
				text = s
			}
		}
		for name := range jsonFields(reflect.TypeOf(report.typ), map[string]bool{}, map[reflect.Type]bool{}) {
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("docs/json.md does not have the field %q under %s", name, report.section)
			}
		}
	}
}

// jsonFields collects the names of the fields of a type and of the types in it.
func jsonFields(typ reflect.Type, names map[string]bool, seen map[reflect.Type]bool) map[string]bool {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return jsonFields(typ.Elem(), names, seen)
	}
	marshaler := reflect.TypeFor[json.Marshaler]() // has no fields in JSON but what it writes
	if typ.Kind() != reflect.Struct || seen[typ] || typ == reflect.TypeFor[report.Member]() || typ.Implements(marshaler) {
		return names
	}
	seen[typ] = true
	for i := range typ.NumField() {
		f := typ.Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		if !f.Anonymous {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names[name] = true
		}
		jsonFields(f.Type, names, seen)
	}
	return names
}

func TestArraysSurviveJSON(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, want := range []*tensor.Tensor{
		tensor.Of([]float64{0.1, -2, nan, inf, -inf, 1e-300}, 2, 3),
		tensor.Of([]int64{1, -2, math.MaxInt64, math.MinInt64}, 4),
		tensor.Of([]bool{true, false}, 1, 2, 1),
		tensor.Of([]string{"a", `"quoted" <&>`, ""}, 3),
		tensor.Of([]float64{}, 0),
		tensor.Of([]float64{}, 2, 0),
		tensor.Scalar(2.5),
	} {
		text, err := json.Marshal(report.Nested{Tensor: want})
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := parseJSON(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got.String() != want.String() || !tensor.Compare(got, want, 0).Match {
			t.Errorf("%s: read as %v, was %v", text, got, want)
		}
	}
}
