package espalier_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// chipTargets are the chips that all models are run for.
var chipTargets = []string{"h13", "h14", "h15", "h16", "h17"}

// maxChipError bounds what the rules of a chip may do to any output of a model, in units of the reference's root mean
// square.
const maxChipError = 0.05

// An outcome is what became of a model on a target.
type outcome struct {
	segments, hosts int // 0: a pipeline, whose stages are models of their own
	tasks, native   int // native-encoded
	worst           float64
	over            bool   // an output is further from its reference than the model's own tolerance
	rule            string // that explains it
}

// On a chip, a model gives what the reference has, within the model's own tolerance or within what a rule of the chip
// explains: with that rule switched off, it is within the tolerance. docs/chips.md says so for each model.
func TestModelsOnChips(t *testing.T) {
	names := modelNames(t)
	results := make([][]outcome, len(names))
	t.Run("models", func(t *testing.T) {
		for i, name := range names {
			results[i] = make([]outcome, len(chipTargets))
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for j, target := range chipTargets {
					results[i][j] = onChip(t, name, target)
				}
			})
		}
	})
	if !t.Failed() {
		checkChipsPage(t, names, results)
	}
}

// onChip runs the cases of a model for a target. Where the result is too far off, it finds the rule that is behind it.
func onChip(t *testing.T, name, target string) outcome {
	o := runForChip(t, name, espalier.Config{Target: target})
	if math.IsInf(o.worst, 1) || o.worst > maxChipError {
		t.Errorf("%s: worst error %.3g; want %g or less", target, o.worst, maxChipError)
	}
	if !o.over && o.worst <= 0.01 {
		return o
	}
	row, err := hal.Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range hal.Rules() {
		plain := r.Value(virtualNumerics())
		if r.Value(row.Numerics) == plain {
			continue
		}
		without := runForChip(t, name, espalier.Config{Target: target, Numerics: espalier.Numerics(target + "," + r.Name + "=" + plain)})
		if without.worst <= 0.01 && without.worst < o.worst && !without.over {
			o.rule = r.Name
			return o
		}
	}
	t.Errorf("%s: worst error %.3g is more than 1 %% or than the model's tolerance, and no rule of the chip explains it", target, o.worst)
	return o
}

var virtualNumerics = sync.OnceValue(func() hal.Numerics {
	n, err := hal.ParseNumerics(string(espalier.Virtual))
	if err != nil {
		panic(err)
	}
	return n
})

func runForChip(t *testing.T, name string, config espalier.Config) (o outcome) {
	t.Helper()
	meta := readMeta(t, name)
	m := openModel(t, config, name)
	states := map[string]*espalier.State{}
	for _, c := range meta.Cases {
		f, err := m.Function(functionName(m, c.Function))
		if err != nil {
			t.Fatal(err)
		}
		if states[f.Name()] == nil || !meta.SequentialStateful {
			states[f.Name()] = f.NewState()
		}
		got, err := f.PredictWithState(context.Background(), asInputs(readArrays(t, modelsDir, name, c.Inputs)), states[f.Name()])
		if err != nil {
			t.Fatalf("%s: %s: %v", config.Target, c.Inputs, err)
		}
		for output, want := range readArrays(t, modelsDir, name, c.Outputs) {
			have := got[strings.TrimSuffix(output, ".labels")]
			if have == nil {
				t.Fatalf("%s: output %q is missing", config.Target, output)
			}
			array := have.Tensor
			if strings.HasSuffix(output, ".labels") {
				array = have.Labels
			}
			compared := tensor.Compare(array, want, c.Tolerance[output])
			o.worst = max(o.worst, compared.Error)
			o.over = o.over || !compared.Match
		}
	}
	p, err := m.Compile(context.Background(), espalier.CompileOptions{})
	if errors.Is(err, espalier.ErrUnsupported) {
		return o // a pipeline
	}
	if err != nil {
		t.Fatalf("%s: %v", config.Target, err)
	}
	for _, f := range p.Functions() {
		for _, s := range f.Segments {
			o.segments++
			if s.Backend == "host" {
				o.hosts++
				continue
			}
			tasks, err := s.Container.Tasks()
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range tasks {
				if o.tasks++; task.Version == td.V7 && !task.Extension() {
					o.native++
				}
			}
		}
	}
	return o
}

const chipsHead = `# Models on chips

Every model of testdata/models compiled for a chip and run there, with the chip's gates, limits and numerics: how many
segments it has, how many of them the host runs, and how far the worst element of any output is from its reference, in
units of the reference's root mean square. The last column is about results further off than 1 % or than the model's own
tolerance: the rule of the chip (docs/numerics.md) without which they are not. A pipeline counts no segments: its stages
are models of their own. No result is off by more than 5 %. The second column is how many of the model's tasks for h13 are
native-encoded; the others are extension records.

This page is made by a test: after a change, run ` + "`go test . -run TestModelsOnChips -update`" + `.

`

// checkChipsPage holds docs/chips.md to the outcomes. Errors may differ a little: sums are ordered by the instruction set.
func checkChipsPage(t *testing.T, names []string, results [][]outcome) {
	var page bytes.Buffer
	page.WriteString(chipsHead)
	fmt.Fprintf(&page, "| Model | Native-encoded | %s | Rule |\n|---|--:|%s---|\n", strings.Join(chipTargets, " | "), strings.Repeat("--:|", len(chipTargets)))
	native, tasks := 0, 0
	for i, name := range names {
		fmt.Fprintf(&page, "| %s | ", name)
		if h13 := results[i][0]; h13.tasks > 0 {
			fmt.Fprintf(&page, "%d of %d ", h13.native, h13.tasks)
			native, tasks = native+h13.native, tasks+h13.tasks
		}
		page.WriteString("|")
		explained := map[string][]string{}
		var order []string
		for j, o := range results[i] {
			hosts := ""
			if o.hosts > 0 {
				hosts = fmt.Sprintf(" (host %d)", o.hosts)
			}
			segments := strconv.Itoa(o.segments) + hosts + ", "
			if o.segments == 0 {
				segments = ""
			}
			fmt.Fprintf(&page, " %s%.2f %% |", segments, 100*o.worst)
			if o.rule != "" {
				if explained[o.rule] == nil {
					order = append(order, o.rule)
				}
				explained[o.rule] = append(explained[o.rule], chipTargets[j])
			}
		}
		var rules []string
		for _, r := range order {
			rules = append(rules, r+" ("+strings.Join(explained[r], ", ")+")")
		}
		fmt.Fprintf(&page, " %s |\n", strings.Join(rules, "; "))
	}
	fmt.Fprintf(&page, "\nOf all %d tasks for h13, %d are native-encoded.\n", tasks, native)
	path := filepath.Join("docs", "chips.md")
	have, err := os.ReadFile(path)
	if err != nil || testkit.Update() || !samePage(string(have), page.String()) {
		testkit.Golden(t, path, page.Bytes())
	}
}

var percent = regexp.MustCompile(`[0-9.e+-]+ %`)

// samePage reports whether two pages have the same text, and figures that are close.
func samePage(a, b string) bool {
	if percent.ReplaceAllString(a, "%") != percent.ReplaceAllString(b, "%") {
		return false
	}
	x, y := percent.FindAllString(a, -1), percent.FindAllString(b, -1)
	for i := range x {
		v, _ := strconv.ParseFloat(strings.TrimSuffix(x[i], " %"), 64)
		w, _ := strconv.ParseFloat(strings.TrimSuffix(y[i], " %"), 64)
		if math.Abs(v-w) > 0.25*max(v, w)+0.01 {
			return false
		}
	}
	return true
}
