package vec

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// mostStandardized is how many elements one call may have, and a row.
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

	rest [16]byte // AVX2: what there is after the last eight; of one row only

	dstStep, srcStep int // bytes from a row to the next
	rows             int
}

// Rows says where rows lie: how many, and how many bytes from one to the next.
type Rows struct{ N, DstStep, SrcStep int }

// Standardize makes of each row of fp16 numbers one with the mean 0 and the variance 1,
// times gamma, plus beta: (x-mean)/√(variance+epsilon)·gamma + beta. Sums are in
// fp64, elements in fp32. The results may lie where the rows do.
func Standardize(dst, src []byte, rows Rows, gamma, beta []float32, epsilon float64) {
	n := len(gamma)
	beta = beta[:n]
	for rows.N > 0 {
		now := 1
		if fast && rowsInOneCall(n) {
			now = min(rows.N, max(1, mostStandardized/n))
		}
		d, s := dst[:(now-1)*rows.DstStep+2*n], src[:(now-1)*rows.SrcStep+2*n]
		if fast {
			standardize(d, s, Rows{now, rows.DstStep, rows.SrcStep}, gamma, beta, epsilon)
		} else {
			goStandardize(d, s, gamma, beta, epsilon)
		}
		if rows.N -= now; rows.N > 0 {
			dst, src = dst[now*rows.DstStep:], src[now*rows.SrcStep:]
		}
	}
}

// standardize is one call.
func standardize(dst, src []byte, rows Rows, gamma, beta []float32, epsilon float64) {
	n := len(gamma)
	s := standardization{
		dst: &dst[0], src: &src[0], gamma: &gamma[0], beta: &beta[0], n: n, inverse: 1 / float64(n), epsilon: epsilon,
		dstStep: rows.DstStep, srcStep: rows.SrcStep, rows: rows.N,
	}
	whole := 2 * (n &^ 7)
	if rows.N == 1 {
		copy(s.rest[:], src[whole:])
	}
	if !callStandardize(&s) && rows.N == 1 {
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
