package anec

import "github.com/espalier-ane/espalier/hal"

// A Unit is what runs the tasks of a kind on a chip: a half of the main engine, or the texture engine, which has a
// queue of its own.
//
// Sources: h13 4.1 and 4.6 and oracles 3 for what H13's programs show (an activation alone and every copy is a bypass of
// the array; sums of tensors, reductions and normalizations are planar); seed compiler for softmax on the planar engine
// and the texture engine's samplers; the others by likeness.
type Unit uint8

// The units.
const (
	UnknownUnit Unit = iota + 1 // no source says what runs the kind
	OnArray
	OnPlanar
	OnTexture
)

func (u Unit) String() string { return [...]string{"", "unknown", "array", "planar", "texture"}[u] }

// Class is the half of the engine that a task's rows on chip are spread for: that of the array where nothing is known.
func (u Unit) Class() hal.EngineClass {
	if u == OnPlanar || u == OnTexture {
		return hal.Planar
	}
	return hal.MultiplyAccumulate
}

// SharesEngine reports whether both are known to be of one engine.
func (u Unit) SharesEngine(v Unit) bool {
	return u != UnknownUnit && v != UnknownUnit && (u == OnTexture) == (v == OnTexture)
}
