//go:build amd64 && unix

package half

import "testing"

// The tests hold AVX2 too where there is more.
func TestAVX2(t *testing.T) {
	if step != 1 {
		t.Skip("there is no more than AVX2, which the other tests hold")
	}
	defer func(best int) { step = best }(step)
	step = 8
	t.Run("rows", TestRows)
	t.Run("slices", TestSlices)
	t.Run("slices stay inside", TestSlicesStayInside)
	t.Run("narrow", TestNarrow)
	t.Run("guard", TestGuard)
	t.Run("refuses", TestGuardRefuses)
}
