// Package edit holds the edits of a mutable procedure to the constants that they
// change: one check for network descriptions, the compiler and the runtime, none
// of which knows the others.
package edit

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/diag"
)

// An Edit is one change that a mutable procedure makes: other bytes for a
// constant.
type Edit struct {
	Weight string // the name of the constant
	Bytes  int
}

// A Weight is what an edit is held to: a constant that was compiled.
type Weight struct {
	Bytes     int  // of all that is stored of it
	AnyForm   bool // the target edits constants in whatever form
	Vectors   bool // its palette has vectors
	Quantized bool
}

// Check finds what is wrong with the edits of a procedure, by the names of the
// weights.
func Check(weights map[string]Weight, edits []Edit) []*diag.Finding {
	var found []*diag.Finding
	seen := map[string]bool{}
	for _, e := range edits {
		w, known := weights[e.Weight]
		if f := w.check(e, known, seen[e.Weight]); f != nil {
			found = append(found, f.At(diag.Refusal, diag.Place{Layer: e.Weight}))
		}
		seen[e.Weight] = true
	}
	return found
}

func (w Weight) check(e Edit, known, again bool) *diag.Finding {
	reject := func(id diag.ID, text, limit, found, source string) *diag.Finding {
		return &diag.Finding{ID: id, Text: text, Limit: limit, Found: found, Remedy: "edit plain constants, each once and whole", Source: source}
	}
	const (
		role       = "guide 22: the role; text: ours"
		strings    = "strings of ANECompiler, as listed in github.com/pkhairkh/MILLer"
		decompiled = "ANECompiler of iOS 26.1, public decompilation (github.com/EthanArbuckle/iPhone18-3_26.1_23B85_Restore)"
	)
	switch {
	case !known:
		return reject(diag.MutableWeight, fmt.Sprintf("mutable weight %q is no constant of the network", e.Weight), "a constant", "none", role)
	case again:
		return reject(diag.MutableTwice, fmt.Sprintf("mutable weight %q is edited twice", e.Weight), "once", "twice", role)
	case e.Bytes != w.Bytes:
		return reject(diag.MutableSize, fmt.Sprintf("mutable weight %q: %d bytes for one of %d", e.Weight, e.Bytes, w.Bytes), fmt.Sprint(w.Bytes), fmt.Sprint(e.Bytes), role)
	case w.AnyForm:
		return nil
	case w.Vectors:
		return reject(diag.MutablePalette, "Mutable kernels are not supported with vector palettization.", "single elements", "vectors", decompiled)
	case w.Quantized:
		return reject(diag.MutableQuantized, "mutable kernels are not supported with kernel quantization", "plain or palettized", "quantized", strings)
	}
	return nil
}
