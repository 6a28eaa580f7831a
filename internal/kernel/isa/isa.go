// Package isa names what a processor can do beyond plain Go, for the rows of
// kernels to say what they need.
package isa

import (
	"fmt"
	"os"
	"strings"
)

// A Set is a set of instruction sets. The empty one is plain Go.
type Set uint8

// The instruction sets, by the names of ESPALIER_ISA.
const (
	AVX2   Set = 1 << iota // with FMA and F16C
	AVX512                 // F, BW, DQ, VL
	AMX                    // tiles of bf16
	NEON
)

var names = []string{"avx2", "avx512", "amx", "neon"}

// levels are what each name of ESPALIER_ISA allows: a machine that has the larger
// sets has the smaller ones too.
var levels = map[string]Set{
	"go": 0, "avx2": AVX2, "avx512": AVX2 | AVX512, "amx": AVX2 | AVX512 | AMX, "neon": NEON,
}

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

// have is what may be used, and what is wrong with ESPALIER_ISA.
var have, wrong = choose(detect(), os.Getenv("ESPALIER_ISA"))

// Have returns what may be used: what the processor and the system offer, of
// that what ESPALIER_ISA allows.
func Have() Set { return have }

// HaveFP16 reports whether AVX-512 has arithmetic on fp16 numbers. Machines with tiles
// have it, so that who does not allow these does not allow it.
func HaveFP16() bool { return have.Has(AMX) && hasFP16() }

// Err is what is wrong with ESPALIER_ISA, nil if it is all right. Nothing but
// plain Go is used then.
func Err() error { return wrong }

func choose(offered Set, asked string) (Set, error) {
	if asked == "" {
		return offered, nil
	}
	allowed, known := levels[asked]
	switch {
	case !known:
		return 0, fmt.Errorf("ESPALIER_ISA is %q: it should be go, avx2, avx512, amx or neon", asked)
	case !offered.Has(allowed):
		return 0, fmt.Errorf("ESPALIER_ISA is %s: this machine has %v", asked, offered)
	}
	return allowed, nil
}
