package compiler

import (
	"cmp"
	"strings"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
)

// A Hazard is something about a layer that no gate stops: a target takes the layer, and may then compute other numbers
// than the model means, or take longer than it must. What is said is what can be known before anything runs.
type Hazard struct {
	ID     string // stable: that of a row of HazardRules
	Effect Effect

	Layer  string
	Kind   anec.Kind
	Origin []string // the operations of the model
	Layers int      // how many layers of these operations have it; the first one speaks for them

	Note bool // it is how the target goes about the layer, and no reason to change the model

	Text         string // what was found, in a sentence
	Limit, Found string // of the target and of the layer
	Remedy       string // what to write instead
	Source       string // where the rule is from
}

// An Effect is what a hazard does.
type Effect uint8

// The effects.
const (
	WrongNumbers Effect = iota + 1 // results may be infinite or inexact
	LostTime                       // results are right and come late
)

func (e Effect) String() string { return [...]string{"", "numbers", "time"}[e] }

// A HazardRule is a row of the table of hazards.
type HazardRule struct {
	ID     string
	Effect Effect
	Doc    string // what it looks for, in a line
	Remedy string
	Source string
	Note   bool // see Hazard

	find func(*hazardSearch, *anec.Layer) []finding
}

// A finding is what a rule says of a layer. It may have a remedy of its own.
type finding struct{ text, limit, found, remedy string }

// hazardRules is the table.
var hazardRules = []HazardRule{
	{ID: "saturates-at-port", Effect: WrongNumbers,
		Doc:    "sums of products that can reach the magnitude from which on the array's output port gives infinity",
		Remedy: "scale the weights or the operand down, so that every sum stays below the limit, and scale the result back after the layer",
		Source: "guide 3, saturation hazard: matrix multiply, linear and convolutions of two or more products; measured on the M1",
		find:   (*hazardSearch).saturates},
	{ID: "sum-overflows", Effect: WrongNumbers,
		Doc:    "sums of so many elements that they can leave fp16",
		Remedy: "take the mean and scale it, or sum in two steps with a scale between them",
		Source: "guide 3, saturation hazard: a reduction holds the range of fp16, up to 65504",
		find:   (*hazardSearch).sumOverflows},
	{ID: "width-slice-gain", Effect: WrongNumbers,
		Doc:    "slices along the last axis that do not begin at 0, which some targets copy with a gain of 16",
		Remedy: "let the slice begin at 0, slice along another axis (transpose before), or keep the values within the limit",
		Source: "guide 19, slice saturation hazard; guide 3: measured on the M1 and the A14 family, gone from A15 on",
		find:   (*hazardSearch).widthSlice},
	{ID: "variance-cancels", Effect: WrongNumbers,
		Doc:    "a variance written as the mean of squares less the square of the mean",
		Remedy: "subtract the mean first and square the difference, or use layer_norm or instance_norm",
		Source: "guide 3, wide accumulator: operands are rounded to fp16 before the difference; guide 12, developer policy",
		find:   (*hazardSearch).varianceCancels},
	{ID: "sums-cancel", Effect: WrongNumbers,
		Doc:    "a difference of two sums over many elements",
		Remedy: "subtract element by element and sum the differences, or compute this step on the host",
		Source: "guide 3, cancellation sweep: from 4096 on, units beside a large partial sum are lost",
		find:   (*hazardSearch).sumsCancel},
	{ID: "norm-long-axis", Effect: WrongNumbers,
		Doc:    "normalizations over so many elements that the sums behind them lose units",
		Remedy: "verify the result on the chip; normalize over fewer elements, or scale the operand down",
		Source: "guide 3, cancellation sweep; guide 12, developer policy: denominators of normalizations are to be verified per chip",
		find:   (*hazardSearch).longNorm},
	{ID: "working-set", Effect: LostTime,
		Doc:    "layers whose tensors do not fit on chip together",
		Remedy: "make the batch or the picture smaller, or split the layer, so that what it reads and writes fits on chip",
		Source: "guide 9, on-chip working-set threshold; guide 12: 2 MB on the M1, 4.72 MB measured on the M5",
		find:   (*hazardSearch).workingSet},
	{ID: "weights-fold", Effect: LostTime,
		Doc:    "compressed weights that the target makes dense before it reads them",
		Remedy: "compress in a form that the target streams, of which every chip from the M1 on has palettes of 4 bits; or keep fp16",
		Source: "guide 7, what streams on each family; guide 25, the streaming check",
		find:   (*hazardSearch).weightsFold},
	{ID: "kernel-memory-split", Effect: LostTime,
		Doc:    "weights beyond the kernel memory, for which the compiler splits the layer",
		Remedy: "compress the weights in a form that the target streams, for which the limit is larger",
		Note:   true,
		Source: "guide 24, kernel-memory split (fields 0x200 and 0x210); oracles 6: what the recorded programs are cut into",
		find:   (*hazardSearch).kernelMemory},
	{ID: "reduction-via-transpose", Effect: LostTime,
		Doc:    "reductions over an extent from which on the target transposes first",
		Remedy: "reduce in two steps of smaller extents; the numbers do not change",
		Source: "guide 24, field 0x3f0; guide 12: sums are taken in another order, which the wide accumulator absorbs",
		find:   (*hazardSearch).reductionRoute},
	{ID: "transpose-passes", Effect: LostTime,
		Doc:    "transposes of extents that the target does not do in one go",
		Remedy: "split the tensor along the axis that is too long, or keep the layout",
		Source: "guide 35: fields 0x468 and 0x470; appendix A, numeric limits",
		find:   (*hazardSearch).transposePasses},
	{ID: "stride-factored", Effect: LostTime,
		Doc:    "convolutions with a stride that the target makes of several",
		Remedy: "use a stride of the list, or a pooling after a smaller stride",
		Source: "guide 35: large strides become a sequence of convolutions by the target's list of factors, at most two for an axis",
		find:   (*hazardSearch).strideFactored},
}

// HazardRules returns the table.
func HazardRules() []HazardRule { return hazardRules }

// A hazardSearch is one graph for one target.
type hazardSearch struct {
	target *hal.Target
	ranges *Ranges
	atLoad map[*anec.Layer]bool
}

// FindHazards returns the hazards of a graph for a target, in the order of its layers and of the rules, and each once for
// the layers of one operation: a recurrent one has a layer for each step. It takes graphs before and after fusion, and
// without the bytes of weights. Ranges are those of the graph: they serve all targets. Our own engine has no hazards.
func FindHazards(g *anec.Graph, t *hal.Target, r *Ranges) []Hazard {
	if t.Family == hal.Virtual {
		return nil
	}
	s := &hazardSearch{target: t, ranges: r, atLoad: newResidency(g, t).atLoad}
	var found []Hazard
	spoken := map[string]int{} // index into found, by rule and operations
	for _, l := range g.Order() {
		if s.atLoad[l] {
			continue
		}
		for i := range hazardRules {
			rule := &hazardRules[i]
			for _, f := range rule.find(s, l) {
				key := rule.ID + "\x00" + strings.Join(l.Origin, "\x00")
				if at, ok := spoken[key]; ok && len(l.Origin) > 0 {
					found[at].Layers++
					continue
				}
				spoken[key] = len(found)
				found = append(found, Hazard{
					ID: rule.ID, Effect: rule.Effect, Note: rule.Note,
					Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Layers: 1,
					Text: f.text, Limit: f.limit, Found: f.found,
					Remedy: cmp.Or(f.remedy, rule.Remedy), Source: rule.Source,
				})
			}
		}
	}
	return found
}
