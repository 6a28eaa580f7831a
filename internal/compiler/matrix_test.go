package compiler

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// matrixColumns are the chips of the guide's matrix, and of docs/ops.md; its last column is two of them.
var matrixColumns = []struct {
	chip, target string
	column       int
}{
	{"M1", "h13", 0}, {"M2", "h14", 1}, {"M3", "h15", 2}, {"M4", "h16", 3}, {"M5 Pro", "h17s", 3},
}

func lookup(t testing.TB, name string) *hal.Target {
	t.Helper()
	target, err := hal.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// notInMIL are the rows of the matrix that no MIL program holds.
var notInMIL = []struct {
	why  string
	rows []string
}{
	{"which unit of the engine runs a convolution, a product, a pooling or elementwise work is the compiler's choice",
		[]string{"ne_matmul", "ne_conv", "ne_pool", "ne_bypass", "pe_pool", "pe_elementwise", "pe_goc"}},
	{"images come as inputs of the function: the compiler puts the operation at the border",
		[]string{"pixel_buffer_to_tensor", "tensor_to_pixel_buffer"}},
	{"of the image-signal path: coremltools has no such operation",
		[]string{"gamma", "degamma"}},
	{"buffers come as states of the function, which read_state and write_state move",
		[]string{"tensor_buffer_to_tensor", "tensor_to_tensor_buffer", "circular_buffer_to_tensor", "tensor_to_circular_buffer"}},
	{"functions of a program do not call each other",
		[]string{"call"}},
	{"a native layer that no operation of MIL becomes",
		[]string{"cross_product", "cost_volume", "matrix_decomposition"}},
	{"coremltools has no such operation",
		[]string{"asinh", "acosh"}},
}

// disagreements are the rows where a verdict is not the matrix's, with the cells as ours are: n native, f family-gated,
// b bridge, - no path. Why is argued in the conflict of that matter, which docs/targets.md has.
var disagreements = map[string]struct{ ours, matter string }{
	"constexpr_affine_dequantize": {"bnnnn", "int8 weights that stream, in the matrix"},
	"constexpr_lut_to_sparse":     {"bbnnn", "sparse weights of a palette"},
}

// readMatrix returns the rows of the guide's matrix in order, and the cells of each.
func readMatrix(t testing.TB) (order []string, cells map[string][]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "matrix.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	cells = map[string][]string{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) != 5 || cells[fields[0]] != nil {
			t.Fatalf("line %q has %d fields or an operation that was there, want 5", line, len(fields))
		}
		order, cells[fields[0]] = append(order, fields[0]), fields[1:]
	}
	return order, cells
}

// verdictOf is the verdict on the operation that a model is about.
func (m *oneModel) verdictOf(t testing.TB, e *Examination, target *hal.Target) Verdict {
	t.Helper()
	for _, o := range slices.Concat(e.On(target).Ops, e.ConstantsOn(target)) {
		if o.Op.Kind == m.kind {
			return o.Verdict
		}
	}
	t.Fatalf("%s is not in the model", m.kind)
	return Verdict{}
}

// TestMatrix holds the verdicts to the guide's matrix, cell by cell, on models of one operation.
func TestMatrix(t *testing.T) {
	order, cells := readMatrix(t)
	if len(order) != 187 {
		t.Errorf("the matrix has %d rows, want 187", len(order))
	}
	models := map[string]*oneModel{}
	for _, m := range oneModels() {
		if models[m.kind] != nil {
			t.Errorf("%s has two models", m.kind)
		}
		models[m.kind] = &m
	}
	absent := map[string]bool{}
	for _, group := range notInMIL {
		for _, row := range group.rows {
			absent[row] = true
			if ops.Lookup(row) != nil || cells[row] == nil {
				t.Errorf("%s is an operation of MIL, or no row", row)
			}
		}
	}
	held := 0
	for _, row := range order {
		m := models[row]
		switch {
		case absent[row]:
			continue
		case m == nil:
			t.Errorf("%s has no model, and is not listed as one that MIL cannot hold", row)
			continue
		}
		held++
		t.Run(row, func(t *testing.T) { m.compare(t, cells[row]) })
	}
	t.Logf("%d rows of %d are held to the matrix", held, len(order))
	for row, d := range disagreements {
		if !slices.ContainsFunc(hal.Conflicts(), func(c hal.Conflict) bool { return c.Matter == d.matter }) {
			t.Errorf("%s: there is no conflict on %q", row, d.matter)
		}
	}
}

// compare holds a model to its row.
func (m *oneModel) compare(t *testing.T, row []string) {
	e := m.examine(t)
	other, argued := disagreements[m.kind]
	differs := false
	for i, c := range matrixColumns {
		got := m.verdictOf(t, e, lookup(t, c.target))
		want := row[c.column]
		if argued {
			differs = differs || got.Status.String() != want
			want = map[byte]string{'n': "native", 'f': "family-gated", 'b': "bridge", '-': "no path"}[other.ours[i]]
		}
		if got.Status.String() != want {
			t.Errorf("%s: %v, want %s; %+v", c.target, got.Status, want, got.Finding)
		}
		if got.Backend == OnHost && got.Finding == nil {
			t.Errorf("%s: on the host and no reason", c.target)
		}
	}
	if argued && !differs {
		t.Errorf("the verdicts are those of the matrix: there is no disagreement")
	}
}

// Numbers that are new in every run are a chip's, never a task's of ours: such a task would repeat itself.
func TestFreshNumbersAreTheHosts(t *testing.T) {
	m := oneModel{kind: "random_uniform", args: mil.Args{"shape": []int32{2}, "low": mil.F16(0), "high": mil.F16(1)}}
	for seed, want := range map[int]Backend{-1: OnHost, 3: OnEngine} {
		m.args["seed"] = seed
		e := m.examine(t)
		if got := m.verdictOf(t, e, virtual(t)); got.Backend != want {
			t.Errorf("seed %d: on the %v, want %v", seed, got.Backend, want)
		}
		if got := m.verdictOf(t, e, lookup(t, "h15")); got.Status != Native {
			t.Errorf("seed %d: %v on h15", seed, got.Status)
		}
	}
}

// TestConversions: every operation is known to the conversion route, and one kind of row.
func TestConversions(t *testing.T) {
	models := map[string]bool{}
	for _, m := range oneModels() {
		models[m.kind] = true
	}
	unused := maps.Clone(noFloor)
	for _, def := range ops.All() {
		c, ok := ops.ConversionOf(def.Name)
		if !ok {
			t.Errorf("%s has no conversion", def.Name)
			continue
		}
		if !models[def.Name] {
			t.Errorf("%s has no model of one operation", def.Name)
		}
		kinds := 0
		for _, s := range []string{c.Native, c.Internal, c.Instead} {
			if s != "" {
				kinds++
			}
		}
		if kinds != 1 || c.Host != "" && c.Native == "" || c.Engine && c.Internal == "" {
			t.Errorf("%s: not one kind of conversion: %+v", def.Name, c)
		}
		if c.Native == "" {
			continue
		}
		_, has := hal.MinimumFamily(c.Native)
		_, without := noFloor[c.Native]
		if has == without {
			t.Errorf("%s becomes %s: has a floor %v, is listed without one %v", def.Name, c.Native, has, without)
		}
		delete(unused, c.Native)
	}
	for name := range unused {
		t.Errorf("%s is listed without a floor, and no operation becomes it", name)
	}
}

// noFloor are operations of the compiler's dialect whose floor no source gives, with what decides instead.
var noFloor = map[string]string{
	"affine_transform": "byte 0x81d: the texture engine",
	"batch_to_space":   "guide A: the M1",
	"crop":             "guide A: the M1",
	"cumsum":           "guide A: the M1, by a path of its own",
	"fill":             "a constant",
	"gather":           "the envelope of the M1, byte 0x81d after it",
	"gather_nd":        "the envelope of the M1, byte 0x81d after it",
	"identity":         "guide A: the M1",
	"pad":              "byte 0x81d, but for constants",
	"pixel_shuffle":    "guide A: the M1",
	"pixel_unshuffle":  "guide A: the M1",
	"random":           "byte 0x4a9",
	"read_state":       "guide A: the M1",
	"reverse":          "guide A: the M1",
	"slice_update":     "guide A: the M1",
	"sort":             "code generation: A14",
	"space_to_batch":   "guide A: the M1",
	"topk":             "code generation: A14",
	"write_state":      "guide A: the M1",
}
