package anec

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/tensor"
)

// Where texts and gates of the movers are from. A text that no source has is
// ours, and its Source says so.
const (
	fromGates     = "guide B, validator gates"
	fromEnvelopes = "guide 17, validator envelopes"
	fromFamilies  = "guide 35"

	fromForge = "github.com/sbryngelson/ANEForge, aneforge/_capabilities.py and docs: measured on M5"
	fromStudy = "github.com/751K/Apple-Neural-Engine-Microarchitecture-Study-M6: operators on M4, compiled for h16g and h18g"

	textOurs = "; text: ours"
)

// onChip returns the element type in which a chip holds what a graph types as d:
// models are typed in fp32 and count in int32, chips compute in fp16 and count in
// uint16 (guide 4, type limits; B, index outputs).
func onChip(d tensor.DType) tensor.DType {
	switch d {
	case tensor.Float32:
		return tensor.Float16
	case tensor.Int32:
		return tensor.UInt16
	}
	return d
}

// factorsInto reports whether n is a product of some of the factors.
func factorsInto(n int, factors []int) bool {
	for _, f := range factors {
		for f > 1 && n > 1 && n%f == 0 {
			n /= f
		}
	}
	return n == 1
}

// legacy reports whether the target is of the two oldest families, which have
// another, smaller set of layers (guide 35).
func legacy(t *hal.Target) bool { return t.Family < hal.A13 }

// interleaveOf returns the interleave of a value; 0 stands for 1.
func interleaveOf(v *Value) int { return max(v.Type.Interleave, 1) }
