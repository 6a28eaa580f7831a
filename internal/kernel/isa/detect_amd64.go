//go:build amd64

package isa

import "github.com/klauspost/cpuid/v2"

// detect asks the processor. Sets are asked for as a whole: what has AVX-512 but
// lacks a part that a kernel uses does not count as having it.
func detect() (s Set) {
	if !cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.F16C, cpuid.BMI2) {
		return s
	}
	s |= AVX2
	if !cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL) {
		return s
	}
	s |= AVX512
	if cpuid.CPU.Supports(cpuid.AMXTILE, cpuid.AMXBF16, cpuid.AVX512BF16) && tilesAllowed() {
		s |= AMX
	}
	return s
}

// hasFP16 reports whether there is arithmetic on fp16 numbers.
func hasFP16() bool { return cpuid.CPU.Supports(cpuid.AVX512FP16) }
