package vec

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// mostStandardized is how long a row may be: it is one call.
const mostStandardized = 1 << 14

// Standardizes reports whether Standardize takes rows of n.
func Standardizes(n int) bool { return n > 0 && n <= mostStandardized }

// standardization is what the machine code is told.
type standardization struct {
	dst, src    *byte
	gamma, beta *float32
	n           int
	inverse     float64 // 1/n
	epsilon     float64

	rest [16]byte // AVX2: what there is after the last eight
}

// Standardize makes of a row of fp16 numbers one with the mean 0 and the variance 1,
// times gamma, plus beta: (x-mean)/√(variance+epsilon)·gamma + beta. Sums are in
// fp64, elements in fp32. The result may lie where the row does.
func Standardize(dst, src []byte, gamma, beta []float32, epsilon float64) {
	n := len(gamma)
	dst, src, beta = dst[:2*n], src[:2*n], beta[:n]
	if !fast {
		goStandardize(dst, src, gamma, beta, epsilon)
		return
	}
	s := standardization{dst: &dst[0], src: &src[0], gamma: &gamma[0], beta: &beta[0], n: n, inverse: 1 / float64(n), epsilon: epsilon}
	whole := 2 * (n &^ 7)
	copy(s.rest[:], src[whole:])
	if !callStandardize(&s) {
		copy(dst[whole:], s.rest[:])
	}
}

func goStandardize(dst, src []byte, gamma, beta []float32, epsilon float64) {
	at := func(i int) float64 { return float64(half.Float(binary.LittleEndian.Uint16(src[2*i:]))) }
	mean, variance := 0.0, 0.0
	for i := range gamma {
		mean += at(i)
	}
	mean /= float64(len(gamma))
	for i := range gamma {
		variance += (at(i) - mean) * (at(i) - mean)
	}
	variance /= float64(len(gamma))
	scale := float32(1 / math.Sqrt(variance+epsilon))
	for i := range gamma {
		y := float32(at(i)-mean) * scale
		binary.LittleEndian.PutUint16(dst[2*i:], half.Bits(float32(y*gamma[i])+beta[i]))
	}
}
