//go:build amd64 && unix

package depthwise

import "testing"

// The tests hold AVX2 too where there is more.
func TestAVX2(t *testing.T) {
	if !wide {
		t.Skip("there is no more than AVX2, which the other tests hold")
	}
	defer func() { wide = true }()
	wide = false
	t.Run("taps", TestTaps)
	t.Run("in parts", TestTapsInParts)
	t.Run("outside", TestOutside)
	t.Run("guard", TestGuard)
	t.Run("odd pitch", TestGuardOddPitch)
}
