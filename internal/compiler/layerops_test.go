package compiler

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// TestLayerOperations writes down which operations become which kinds of layers, and from which chip on, for `espalier
// layers`. As docs/ops.md, it asks the models of one operation.
func TestLayerOperations(t *testing.T) {
	models := oneModels()
	slices.SortFunc(models, func(a, b oneModel) int { return cmp.Compare(a.kind, b.kind) })
	var b bytes.Buffer
	fmt.Fprint(&b, `# The operations of MIL that become native layers: their names, the first target by the conversion route of which the engine
# runs them natively (- for none), the kinds. This file is made by a test that asks the lowerings and the verdicts:
# go test ./internal/compiler -run TestLayerOperations -update
`)
	for i := range models {
		m := &models[i]
		e := m.examine(t)
		for _, x := range e.Operations {
			if x.Op.Kind != m.kind || x.Refusal != nil || len(x.Layers.Layers) == 0 {
				continue
			}
			fmt.Fprintf(&b, "%s\t%s\t%s\n", m.kind, m.firstTarget(t, e), strings.ReplaceAll(kindsOf(x.Layers), ", ", " "))
			break
		}
	}
	testkit.Golden(t, filepath.Join(testkit.Root(t), "explain", "layers", "operations.txt"), b.Bytes())
}

// firstTarget is the first target of the oldest family of which the engine runs the operation, and not by other layers that stand in.
func (m *oneModel) firstTarget(t *testing.T, e *Examination) string {
	for f := hal.A11Legacy; f <= hal.A18; f++ {
		i := slices.IndexFunc(hal.Targets(), func(t *hal.Target) bool { return t.Family == f })
		target := hal.Targets()[i]
		if v := m.verdictOf(t, e, target); v.Backend != OnHost && (v.Status == Native || v.Finding == nil) {
			return target.Name
		}
	}
	return "-"
}
