//go:build amd64

package vec

import "github.com/espalier-ane/espalier/internal/kernel/isa"

func init() {
	if isa.Have().Has(isa.AVX512) {
		fastSquare = squareAVX512
	}
}

//go:noescape
func squareAVX512(v *float32, n int)
