package ops

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// The tests here compare the catalogue with coremltools' operation set, extracted from its sources into
// testdata/coremltools_ops.json. Where the catalogue has reasons to differ they stand in deviations.

type theirOps struct {
	Operations map[string]struct {
		Dialect  string
		Versions []struct {
			Opset  string
			Inputs []theirParam
		}
	}
}

type theirParam struct {
	Name     string
	Kind     string
	Const    bool
	Optional bool
	Types    []string
	Domain   string
	Default  any
	Rule     string `json:"default_rule"`
}

// deviation is a difference from coremltools that is meant. An empty param stands for the operation itself.
type deviation struct {
	op, param, field string
	why              string
}

var deviations = []deviation{
	{"_const_symbolic", "", "operation", "a helper of the converter for symbolic shapes; it never reaches a file"},
	{"write_state", "", "operation", "what coreml_update_state is in a file; coremltools makes it when it saves"},
	{"constexpr_cast", "", "versions", "iOS18 moves its parameters from attributes to inputs, and both are read alike"},
	{"make_list", "elem_shape", "const", "coremltools checks in code that every element of the tuple is constant"},
	{"make_list", "elem_shape", "optional", "a tuple of no elements, for a list of scalars, is an argument that is not there"},
	{"reshape_like", "begins", "const", "coremltools checks in code that every element of the tuple is constant"},
	{"reshape_like", "ends", "const", "coremltools checks in code that every element of the tuple is constant"},
	{"reshape_like", "end_masks", "const", "coremltools checks in code that every element of the tuple is constant"},
	{"topk", "output_indices_dtype", "default", "it must be absent where return_indices is false, so its default depends on that"},
}

func TestCatalogue(t *testing.T) {
	theirs := readTheirOps(t)
	used := map[deviation]bool{}
	report := func(op, param, field, format string, a ...any) {
		for _, d := range deviations {
			if d.op == op && d.param == param && d.field == field {
				used[d] = true
				return
			}
		}
		where := op
		if param != "" {
			where += "." + param
		}
		t.Errorf("%s: %s: %s", where, field, fmt.Sprintf(format, a...))
	}
	for name, their := range theirs.Operations {
		def := Lookup(name)
		if their.Dialect == "complex" {
			if err := unknownOperation(name); def != nil || !strings.Contains(err.Error(), "never reaches a file") {
				t.Errorf("%s must be refused as a helper of the converter, found %v", name, err)
			}
			continue
		}
		if def == nil {
			report(name, "", "operation", "not in the catalogue")
			continue
		}
		var want, got []string
		for _, v := range their.Versions {
			want = append(want, v.Opset)
		}
		for _, v := range def.Versions {
			got = append(got, v.Since.String())
		}
		if !slices.Equal(got, want) {
			report(name, "", "versions", "%v, coremltools has %v", got, want)
		}
		for _, v := range their.Versions {
			o, err := ParseOpset(v.Opset)
			if err != nil {
				t.Fatal(err)
			}
			if ours := def.At(o); ours != nil {
				compareParams(ours, v.Inputs, func(param, field, format string, a ...any) {
					report(name, param, field, "in %v "+format, append([]any{o}, a...)...)
				})
			}
		}
	}
	for _, def := range All() {
		if _, ok := theirs.Operations[def.Name]; !ok {
			report(def.Name, "", "operation", "not in coremltools")
		}
	}
	for _, d := range deviations {
		if !used[d] {
			t.Errorf("the deviation of %s %s, %s, is no longer one", d.op, d.param, d.field)
		}
	}
}

func readTheirOps(t *testing.T) theirOps {
	data, err := os.ReadFile(filepath.Join("testdata", "coremltools_ops.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ops theirOps
	if err := json.Unmarshal(data, &ops); err != nil {
		t.Fatal(err)
	}
	return ops
}

func compareParams(ours *Version, theirs []theirParam, report func(param, field, format string, a ...any)) {
	theirs = slices.DeleteFunc(slices.Clone(theirs), func(p theirParam) bool {
		return strings.HasPrefix(p.Name, "_") // Python functions, which files hold as blocks
	})
	for _, their := range theirs {
		our := ours.Param(their.Name)
		if our == nil {
			report(their.Name, "parameter", "is missing")
			continue
		}
		if our.Const != their.Const {
			report(our.Name, "const", "is %v", our.Const)
		}
		if our.Optional != their.Optional {
			report(our.Name, "optional", "is %v", our.Optional)
		}
		compareTypes(our, &their, report)
		if their.Default != nil && !sameDefault(our, their.Default) {
			report(our.Name, "default", "is %v, coremltools has %v", our.Default, their.Default)
		}
	}
	for i := range ours.Params {
		our := &ours.Params[i]
		at := slices.IndexFunc(theirs, func(p theirParam) bool { return p.Name == our.Name })
		if at < 0 {
			report(our.Name, "parameter", "is not in coremltools")
			continue
		}
		// Domains have the same letters nowhere, but they must tie the same parameters.
		for j := range ours.Params[:i] {
			other := &ours.Params[j]
			k := slices.IndexFunc(theirs, func(p theirParam) bool { return p.Name == other.Name })
			if k < 0 {
				continue
			}
			if our.Types == other.Types && bits.OnesCount32(uint32(our.Types)) == 1 {
				continue // they have one type, tied or not
			}
			our := our.Domain != "" && our.Domain == other.Domain
			if their := theirs[at].Domain != "" && theirs[at].Domain == theirs[k].Domain; our != their {
				report(ours.Params[i].Name, "domain", "has the type of %s: %v", other.Name, our)
			}
		}
	}
}

// kinds are coremltools' kinds of parameter that are not tensors. It says nothing of their element types.
var kinds = map[string][]ParamKind{
	"tuple":               {ManyTensors, AnyValues},
	"list":                {OneList},
	"state":               {OneState},
	"list_tensor_or_dict": {AnyValues},
	"internal":            {AnyValues},
}

func compareTypes(our *Param, their *theirParam, report func(param, field, format string, a ...any)) {
	if their.Kind != "tensor" {
		if !slices.Contains(kinds[their.Kind], our.Kind) {
			report(our.Name, "kind", "is %d, coremltools has %s", our.Kind, their.Kind)
		}
		return
	}
	if our.Kind != OneTensor {
		report(our.Name, "kind", "is %d, coremltools has a tensor", our.Kind)
	}
	var want TypeSet
	for _, name := range their.Types {
		if name == "any" {
			want = AnyType
			break
		}
		d, err := tensor.ParseDType(name)
		if err != nil {
			report(our.Name, "types", "%v", err)
			return
		}
		want |= Types(d)
	}
	if our.Types != want {
		report(our.Name, "types", "are %v, coremltools has %v", our.Types, want)
	}
}

// sameDefault compares a default with coremltools', read from JSON.
func sameDefault(p *Param, want any) bool {
	switch got := p.Default.(type) {
	case int:
		return want == float64(got)
	case float32:
		w, ok := want.(float64)
		return ok && float32(w) == got
	case float64:
		return want == got
	case []int:
		list := make([]any, len(got))
		for i, v := range got {
			list[i] = float64(v)
		}
		return reflect.DeepEqual(want, list)
	}
	return want == p.Default
}

// Every operation says what it computes, and its versions are in order.
func TestCatalogueIsWhole(t *testing.T) {
	for _, def := range All() {
		if def.Doc == "" || strings.Contains(def.Doc, "\n") {
			t.Errorf("%s: the documentation is %q, expected one line", def.Name, def.Doc)
		}
		if len(def.Versions) == 0 {
			t.Errorf("%s has no versions", def.Name)
		}
		for i := range def.Versions {
			v := &def.Versions[i]
			if i > 0 && v.Since <= def.Versions[i-1].Since {
				t.Errorf("%s: version %v follows %v", def.Name, v.Since, def.Versions[i-1].Since)
			}
			if v.Infer == nil && def.Infer == nil || v.Eval == nil && def.Eval == nil {
				t.Errorf("%s in %v has no type rule or no evaluation", def.Name, v.Since)
			}
			for _, p := range v.Params {
				if p.Default != nil && !p.Optional {
					t.Errorf("%s.%s is required but has a default", def.Name, p.Name)
				}
			}
		}
	}
}
