//go:build amd64 && unix

package vec

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// The tests hold AVX2 too where there is more.
func TestAVX2(t *testing.T) {
	if !wide {
		t.Skip("there is no more than AVX2, which the other tests hold")
	}
	defer use(isa.Have())
	use(isa.AVX2)
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"pairs", TestPairs}, {"rows", TestRows}, {"limits", TestLimits}, {"curve", TestCurve}, {"functions", TestFunctions},
		{"reductions", TestReductions}, {"square", TestSquare}, {"standardize", TestStandardize}, {"rows", TestStandardizeRows}, {"finish", TestFinish},
		{"places", TestPlaces}, {"guard", TestGuard}, {"guard finish", TestGuardFinish}, {"guard places", TestGuardPlaces},
		{"refuses", TestGuardRefuses}, {"short", TestCallsAreShort},
	} {
		t.Run(tt.name, tt.test)
	}
}
