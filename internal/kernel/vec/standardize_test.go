package vec

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Rows are standardized as by the plain form, within a few units of fp32 and what
// rounding to fp16 makes of them, and nothing beside them is written.
func TestStandardize(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, n := range []int{1, 2, 15, 16, 17, 31, 32, 33, 47, 64, 100, 384, 1000, mostStandardized} {
		for _, mean := range []float64{0, 3, -1000} {
			src, gamma, beta := make([]byte, 2*n+6), make([]float32, n), make([]float32, n)
			for i := range gamma {
				gamma[i], beta[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
				binary.LittleEndian.PutUint16(src[2*i:], half.Bits(float32(mean+r.NormFloat64())))
			}
			want, got := make([]byte, 2*n), append([]byte(nil), src...)
			goStandardize(want, src, gamma, beta, 1e-5)
			Standardize(got, got, Rows{N: 1}, gamma, beta, 1e-5) // where it lies
			for i := range gamma {
				g, w := half.Float(binary.LittleEndian.Uint16(got[2*i:])), half.Float(binary.LittleEndian.Uint16(want[2*i:]))
				terms := float32(math.Abs(float64(beta[i])) + math.Abs(float64(w)))
				if d := math.Abs(float64(g - w)); d > math.Abs(float64(w))*0x1p-10+float64(terms)*0x1p-20 {
					t.Fatalf("element %d of %d about %g is %g, expected %g", i, n, mean, g, w)
				}
			}
			for _, b := range got[2*n:] {
				if b != 0 {
					t.Fatalf("wrote after %d elements", n)
				}
			}
		}
	}
	for _, special := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		for n := 1; n < 40; n += 6 {
			row, ones := make([]byte, 2*n), make([]float32, n)
			binary.LittleEndian.PutUint16(row[2*(n-1):], half.Bits(special))
			Standardize(row, row, Rows{N: 1}, ones, ones, 1e-5)
			for i := range ones {
				if x := half.Float(binary.LittleEndian.Uint16(row[2*i:])); x == x {
					t.Fatalf("element %d of %d with %g among them is %g", i, n, special, x)
				}
			}
		}
	}
}

// Rows in one call are what they are one by one, however far apart they lie, and what
// is between them stays.
func TestStandardizeRows(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, n := range []int{1, 7, 8, 16, 24, 33, 64, 4096} {
		for _, rows := range []Rows{{1, 0, 0}, {2, 2 * n, 2*n + 4}, {9, 2*n + 6, 2 * n}, {5, 2*n + 2, 0}} {
			gamma, beta := make([]float32, n), make([]float32, n)
			src := make([]byte, (rows.N-1)*rows.SrcStep+2*n)
			for i := range src[:len(src)/2] {
				binary.LittleEndian.PutUint16(src[2*i:], half.Bits(float32(r.NormFloat64())))
			}
			for i := range gamma {
				gamma[i], beta[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			}
			got := make([]byte, (rows.N-1)*rows.DstStep+2*n+2)
			for i := range got {
				got[i] = 0xa5
			}
			want := bytes.Clone(got)
			for i := range rows.N {
				Standardize(want[i*rows.DstStep:], src[i*rows.SrcStep:], Rows{N: 1}, gamma, beta, 1e-5)
			}
			Standardize(got, src, rows, gamma, beta, 1e-5)
			if !bytes.Equal(got, want) {
				t.Errorf("rows of %d, %+v: together they are not what they are one by one", n, rows)
			}
		}
	}
}
