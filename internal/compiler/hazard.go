package compiler

import (
	"cmp"
	"strings"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/estimate"
)

// A hazard is something about a layer that no gate stops: a target takes the layer, and may then compute other numbers
// than the model means, or take longer than it must. What is said is what can be known before anything runs.

// A hazardRule is a row of the table of hazards. What it looks for, what helps and what it does to a model stand with
// its ID in package diag.
type hazardRule struct {
	id     diag.ID
	source string
	find   func(*hazardSearch, *anec.Layer) []diag.Finding // without ID and source

	// known is how sure the rule is on a target; nil: as find says, or else its ID.
	known func(*hal.Target) hal.Status
}

// byLimit is for a rule that goes by one of the target's limits.
func byLimit(name string) func(*hal.Target) hal.Status {
	return func(t *hal.Target) hal.Status { return t.LimitStatus(name) }
}

// byNumerics is for a rule that goes by one of the target's numerics.
func byNumerics(name string) func(*hal.Target) hal.Status {
	return func(t *hal.Target) hal.Status { return t.RuleStatus(name) }
}

// hazardRules is the table.
var hazardRules = []hazardRule{
	{id: diag.SaturatesAtPort, find: (*hazardSearch).saturates, known: byNumerics("saturate-at-port"),
		source: "guide 3, saturation hazard: matrix multiply, linear and convolutions of two or more products; measured on the M1"},
	{id: diag.SumOverflows, find: (*hazardSearch).sumOverflows, known: byNumerics("round-to-half"),
		source: "guide 3, saturation hazard: a reduction holds the range of fp16, up to 65504"},
	{id: diag.WidthSliceGain, find: (*hazardSearch).widthSlice, known: byNumerics("width-slice"),
		source: "guide 19, slice saturation hazard; guide 3: measured on the M1 and the A14 family, gone from A15 on"},
	{id: diag.VarianceCancels, find: (*hazardSearch).varianceCancels, known: byNumerics("round-to-half"),
		source: "guide 3, wide accumulator: operands are rounded to fp16 before the difference; guide 12, developer policy"},
	{id: diag.SumsCancel, find: (*hazardSearch).sumsCancel, known: byNumerics("round-to-half"),
		source: "guide 3, cancellation sweep: from 4096 on, units beside a large partial sum are lost"},
	{id: diag.NormLongAxis, find: (*hazardSearch).longNorm, known: byNumerics("round-to-half"),
		source: "guide 3, cancellation sweep; guide 12, developer policy: denominators of normalizations are to be verified per chip"},
	{id: diag.NetplistSubtractMax, find: (*hazardSearch).attentionOverflows,
		source: "guide 26 and B: SubtractMax is false unless it is set, which is wrong for a softmax"},
	{id: diag.WorkingSet, find: (*hazardSearch).workingSet, known: byLimit("working_set"),
		source: "guide 9, on-chip working-set threshold; guide 12: 2 MB on the M1, 4.72 MB measured on the M5"},
	{id: diag.WeightsFold, find: (*hazardSearch).weightsFold,
		source: "guide 7, what streams on each family; guide 25, the streaming check"},
	{id: diag.KernelMemorySplit, find: (*hazardSearch).kernelMemory, known: byLimit("kernel_memory_dense"),
		source: "guide 24, kernel-memory split (fields 0x200 and 0x210); oracles 6: what the recorded programs are cut into"},
	{id: diag.ReductionViaTranspose, find: (*hazardSearch).reductionRoute, known: byLimit("reduction_via_transpose"),
		source: "guide 24, field 0x3f0; guide 12: sums are taken in another order, which the wide accumulator absorbs"},
	{id: diag.TransposePasses, find: (*hazardSearch).transposePasses, known: byLimit("transpose_extent_max"),
		source: "guide 35: fields 0x468 and 0x470; appendix A, numeric limits"},
	{id: diag.StrideFactored, find: (*hazardSearch).strideFactored,
		source: "guide 35: large strides become a sequence of convolutions by the target's list of factors, at most two for an axis"},
}

// A hazardSearch is one graph for one target.
type hazardSearch struct {
	target *hal.Target
	ranges *estimate.Ranges
	atLoad map[*anec.Layer]bool
}

// FindHazards returns the hazards of a graph for a target, in the order of its layers and of the rules, and each once for
// the layers of one operation: a recurrent one has a layer for each step. It takes graphs before and after fusion, and
// without the bytes of weights. Ranges are those of the graph: they serve all targets. Our own engine has no hazards.
//
// A hazard is at the first operation of its layer that is one of the model's; nil: at the first.
func FindHazards(g *anec.Graph, t *hal.Target, r *estimate.Ranges, inModel func(operation string) bool) []*diag.Finding {
	if t.Family == hal.Virtual {
		return nil
	}
	s := &hazardSearch{target: t, ranges: r, atLoad: estimate.NewResidency(g, t).AtLoad}
	var found []*diag.Finding
	spoken := map[string]bool{} // by rule and operations
	for _, l := range g.Order() {
		if s.atLoad[l] {
			continue
		}
		for i := range hazardRules {
			rule := &hazardRules[i]
			for _, f := range rule.find(s, l) {
				key := string(rule.id) + "\x00" + strings.Join(l.Origin, "\x00")
				if spoken[key] && len(l.Origin) > 0 {
					continue
				}
				spoken[key] = true
				found = append(found, rule.say(f, l, t, inModel))
			}
		}
	}
	return found
}

// say makes a whole finding of what a rule found.
func (r *hazardRule) say(f diag.Finding, l *anec.Layer, t *hal.Target, inModel func(string) bool) *diag.Finding {
	row := r.id.Row()
	f.ID, f.Remedy, f.Source = r.id, cmp.Or(f.Remedy, row.Helps), r.source
	if r.known != nil {
		f.Confidence = r.known(t).Confidence()
	}
	return f.At(row.Severity, diag.Place{Layer: l.Name, Operation: firstOf(l.Origin, inModel)})
}

// firstOf is the first of the operations that a layer came from, of those that are the model's own.
func firstOf(origin []string, inModel func(string) bool) string {
	for _, name := range origin {
		if inModel == nil || inModel(name) {
			return name
		}
	}
	return ""
}
