//go:build amd64

package roof

import (
	"github.com/klauspost/cpuid/v2"

	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// fmaLoops are loops of multiply-adds in registers alone.
func fmaLoops() []func() loop {
	const n = 5000 // a few ten µs
	var list []func() loop
	if isa.Have().Has(isa.AVX2) {
		list = append(list, func() loop { return loop{"fma avx2", 2 * 8 * 12 * n, func() { fmaAVX2(n) }} })
	}
	if isa.Have().Has(isa.AVX512) {
		list = append(list, func() loop { return loop{"fma avx512", 2 * 16 * 24 * n, func() { fmaAVX512(n) }} })
	}
	return list
}

// read reads all floats.
func read(b []float32) {
	const step = 128 // floats
	n := len(b) / step
	switch {
	case n > 0 && isa.Have().Has(isa.AVX512):
		readAVX512(&b[0], n)
	case n > 0 && isa.Have().Has(isa.AVX2):
		readAVX2(&b[0], n)
	default:
		n = 0
	}
	readGo(b[n*step:])
}

// Caches are the sizes of the second and third level, 0 if they are not known.
func Caches() (l2, l3 int) { return max(cpuid.CPU.Cache.L2, 0), max(cpuid.CPU.Cache.L3, 0) }

//go:noescape
func fmaAVX512(n int)

//go:noescape
func fmaAVX2(n int)

//go:noescape
func readAVX512(p *float32, n int)

//go:noescape
func readAVX2(p *float32, n int)
