package main

import "github.com/espalier-ane/espalier/internal/kernel/isa"

// fma256 and fma512 add products to peakSums vectors, so many times.

//go:noescape
func fma256(steps int)

//go:noescape
func fma512(steps int)

// peakKernel is the loop for the widest vectors that may be used; nil if none may.
func peakKernel() *peak {
	switch have := isa.Have(); {
	case have.Has(isa.AVX512):
		return &peak{func() { fma512(peakSteps) }, 2 * 16 * peakSums * peakSteps}
	case have.Has(isa.AVX2):
		return &peak{func() { fma256(peakSteps) }, 2 * 8 * peakSums * peakSteps}
	}
	return nil
}
