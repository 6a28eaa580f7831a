// Package isa names what a processor can do beyond plain Go, for the rows of
// kernels to say what they need.
package isa

import "strings"

// A Set is a set of instruction sets. The empty one is plain Go.
type Set uint8

// The instruction sets, by the names of ESPALIER_ISA.
const (
	AVX2   Set = 1 << iota // with FMA and F16C
	AVX512                 // F, BW, DQ, VL
	AMX                    // tiles of bf16 and int8
	NEON
)

var names = []string{"avx2", "avx512", "amx", "neon"}

func (s Set) String() string {
	if s == 0 {
		return "go"
	}
	var list []string
	for i, name := range names {
		if s>>i&1 != 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, "+")
}

// Has reports whether all of need is in the set.
func (s Set) Has(need Set) bool { return need&^s == 0 }

// Have returns what may be used. No row needs anything yet, so nothing is looked
// for.
func Have() Set { return 0 }
