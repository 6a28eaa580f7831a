package estimate

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// work is what the roofline is held against.
type work struct {
	flops float64
	bytes float64
}

// noCostForm says why the model has no number for a layer; empty if it has one.
func noCostForm(l *anec.Layer) string {
	form := &l.Info().Cost
	switch {
	case segment.IsAttention(l) || isPartOfAttention(l):
		return WhyAttention
	case form.None != "":
		return fmt.Sprintf("%v has no cost form: %s", l.Kind(), form.None)
	}
	return ""
}

func layerFLOPs(l *anec.Layer) float64 {
	form := &l.Info().Cost
	if form.Free {
		return 0
	}
	return form.FLOPs(l)
}

// Contraction is the number of products that each element of a sum of products takes; false for other kinds.
func Contraction(l *anec.Layer) (int, bool) {
	switch p := l.Params.(type) {
	case *anec.Conv:
		w := l.Bottoms[1].Type.Dims
		if p.Transposed {
			return w[anec.N] / p.Groups * p.Kernel[0] * p.Kernel[1] * p.Kernel[2], true
		}
		return w[anec.C] * p.Kernel[0] * p.Kernel[1] * p.Kernel[2], true
	case *anec.MatMul:
		if p.TransposeX {
			return l.Bottoms[0].Type.Dims[anec.H], true
		}
		return l.Bottoms[0].Type.Dims[anec.W], true
	case *anec.Linear:
		return l.Bottoms[1].Type.Dims[anec.W], true
	}
	return 0, false
}

// layerBytes are the operand bytes of a layer: what it reads and makes, each value once. With a residency, those that
// stay on chip do not count.
func layerBytes(l *anec.Layer, t *hal.Target, r *residency) float64 {
	if l.Info().Cost.Free {
		return 0
	}
	switch l.Kind() {
	case anec.KindRingBufferWriter: // in place: only the update moves
		return 2 * ValueBytes(l.Bottoms[1])
	case anec.KindRingBufferReader:
		return 2 * ValueBytes(l.Top())
	}
	sum := 0.0
	reads := l.Reads()
	for i, v := range reads {
		if slices.Contains(reads[:i], v) || r.isOnChip(v) {
			continue
		}
		switch {
		case v == segment.WeightBottom(l):
			sum += KernelBytes(l, t)
		case v.Const != nil && !slices.Contains(l.Bottoms, v): // gains, offsets, scales of the epilogue
		default:
			sum += ValueBytes(v)
		}
	}
	for _, v := range l.Tops {
		if !r.isOnChip(v) {
			sum += ValueBytes(v)
		}
	}
	return sum
}

// ValueBytes is what a value takes on the engine.
func ValueBytes(v *anec.Value) float64 { return DenseBytes(v.Type.DType, v.Type.Dims.Elements()) }

// DenseBytes is the size of so many elements on the engine: floats are fp16 there, whatever the model says.
func DenseBytes(d tensor.DType, n float64) float64 {
	bits := d.Bits()
	if d.IsFloat() {
		bits = min(bits, 16)
	}
	return n * float64(bits) / 8
}

// residency knows which values of a graph never leave the chip.
type residency struct {
	limit  float64              // bytes of the working set; 0: not known
	inside map[*anec.Value]bool // made and read in the graph
	AtLoad map[*anec.Layer]bool // layers fed by constants alone, which run once, when the program is loaded
}

func NewResidency(g *anec.Graph, t *hal.Target) *residency {
	r := &residency{limit: float64(t.Limits.WorkingSet), inside: map[*anec.Value]bool{}, AtLoad: map[*anec.Layer]bool{}}
	outside := map[*anec.Value]bool{}
	for _, v := range g.Outputs {
		outside[v] = true
	}
	for _, s := range g.States {
		outside[s.Before], outside[s.After] = true, true
	}
	for _, l := range g.Order() {
		known := len(l.Reads()) > 0
		for _, v := range l.Reads() {
			known = known && (v.Const != nil || v.Def != nil && r.AtLoad[v.Def])
		}
		r.AtLoad[l] = known
		view := l.Info().Cost.Free
		for _, v := range l.Tops {
			// A view lies where its operand lies.
			if !outside[v] && !known && (!view || r.inside[l.Bottoms[0]]) {
				r.inside[v] = true
			}
		}
	}
	return r
}

func (r *residency) isOnChip(v *anec.Value) bool {
	return r != nil && r.inside[v] && r.limit > 0 && ValueBytes(v) <= r.limit
}
