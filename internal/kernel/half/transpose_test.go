package half

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

func TestTranspose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int{1, 7, 8, 9, 16, 31, 48} {
		for _, cols := range []int{1, 5, 8, 13, 16, 40, 129} {
			srcApart, dstApart := 2*cols+2*r.IntN(5), 2*rows+2*r.IntN(5)
			src, dst := make([]byte, (rows-1)*srcApart+2*cols), make([]byte, (cols-1)*dstApart+2*rows)
			for i := range src {
				src[i] = byte(r.Uint32())
			}
			for i := range dst {
				dst[i] = byte(r.Uint32())
			}
			want := bytes.Clone(dst)
			for i := range rows {
				for j := range cols {
					copy(want[j*dstApart+2*i:][:2], src[i*srcApart+2*j:])
				}
			}
			if Transpose(dst, dstApart, src, srcApart, rows, cols); !bytes.Equal(dst, want) {
				t.Errorf("%d × %d, %d and %d bytes apart", rows, cols, srcApart, dstApart)
			}
		}
	}
}

// All 65,536 numbers, and each of them among others that stay.
func TestFlush(t *testing.T) {
	all, want := make([]byte, 1<<17), make([]byte, 1<<17)
	for i := range 1 << 16 {
		b := uint16(i)
		binary.LittleEndian.PutUint16(all[2*i:], b)
		switch v := Float(b); {
		case v != v:
			b = Inf
		case v < LeastNormal && v > -LeastNormal:
			b = 0
		}
		binary.LittleEndian.PutUint16(want[2*i:], b)
	}
	got := make([]byte, len(all))
	if Flush(got, all); !bytes.Equal(got, want) {
		t.Error("all numbers")
	}
	for _, flush := range []bool{false, true} {
		for _, n := range []int{1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 1 << 16} {
			floats := make([]float32, n)
			FloatsFlushed(floats, all[len(all)-2*n:], flush)
			for i, v := range floats {
				want := Float(binary.LittleEndian.Uint16(all[len(all)-2*n+2*i:]))
				switch {
				case want != want:
					want = float32(math.Inf(1))
				case flush && max(want, -want) < LeastNormal:
					want = 0
				}
				if math.Float32bits(v) != math.Float32bits(want) {
					t.Fatalf("number %d of %d, flush %v: %v, want %v", i, n, flush, v, want)
				}
			}
		}
	}
	for _, n := range []int{1, 3, 31, 32, 33, 70} {
		some := make([]byte, 2*n)
		for i := 0; i < 1<<16; i += 2*n - 1 {
			for at := range n {
				clear(some)
				copy(some[2*at:], all[2*i:][:2])
				if found := Flushes(some); found != !bytes.Equal(all[2*i:][:2], want[2*i:][:2]) {
					t.Fatalf("%#x as number %d of %d: %v", i, at, n, found)
				}
			}
		}
		if Flush(got[:2*n], all[:2*n]); !bytes.Equal(got[:2*n], want[:2*n]) {
			t.Errorf("the first %d", n)
		}
	}
}
