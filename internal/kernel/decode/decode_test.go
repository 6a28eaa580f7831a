package decode

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Codes of all widths, in any number, at any byte, are looked up one by one, and
// nothing beside them is read or written.
func TestLook(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var table Table
	for i := range table {
		table[i] = uint16(r.Uint32())
	}
	for _, bits := range []int{1, 2, 3, 4, 6, 8} {
		for _, n := range []int{0, 1, 8, 31, 32, 33, 64, 100, 1000, most + 40} {
			codes := random(r, Bytes(n, bits)+3)[3:]
			dst := random(r, 2*n+2)
			end := [2]byte(dst[2*n:])
			Look(dst, codes, bits, &table, n)
			for i := range n {
				var c int
				for b := range bits {
					at := i*bits + b
					c |= int(codes[at/8]) >> (at % 8) & 1 << b
				}
				if got := binary.LittleEndian.Uint16(dst[2*i:]); got != table[c] {
					t.Fatalf("%d bits: number %d of %d is %#x, want %#x", bits, i, n, got, table[c])
				}
			}
			if [2]byte(dst[2*n:]) != end {
				t.Fatalf("%d codes of %d bits: what lies behind the numbers has changed", n, bits)
			}
		}
	}
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// A number is the product of a difference and an fp16 number, rounded once.
func TestScale(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	all := make([]byte, 256+15) // every code, and some that are left over
	for i := range all {
		all[i] = byte(i)
	}
	dst := make([]byte, 2*len(all))
	for range 3000 {
		s := Scale{Signed: r.IntN(2) == 0, Zero: float32(r.IntN(512) - 256), Factor: half.Float(uint16(r.Uint32()))}
		if r.IntN(2) == 0 {
			s.Factor = half.Round(float32(r.NormFloat64() / 64))
		}
		s.Bytes8(dst, all)
		check := func(code, bits int, got uint16) {
			v := float64(code)
			if s.Signed && code >= 1<<(bits-1) {
				v -= float64(int(1) << bits)
			}
			v = (v - float64(s.Zero)) * float64(s.Factor) // exact
			if want := half.Bits(float32(v)); got != want && v == v {
				t.Fatalf("%+v: code %d of %d bits is %#x, want %#x", s, code, bits, got, want)
			} else if v != v && half.Float(got) == half.Float(got) {
				t.Fatalf("%+v: code %d is %#x, want NaN", s, code, got)
			}
		}
		for i, c := range all {
			check(int(c), 8, binary.LittleEndian.Uint16(dst[2*i:]))
		}
		var table Table
		s.Table4(&table)
		for c, got := range table[:16] {
			check(c, 4, got)
		}
	}
}

// Blocks are tables one after the other.
func TestBlocks4(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 200 {
		block, n := 32*(1+r.IntN(4)), 1+r.IntN(20)
		if i == 0 {
			n = most/block + 3
		}
		codes, factors, dst := random(r, n*block/2), make([]byte, 2*n), random(r, 2*n*block+2)
		var zeros []float32
		for j := range n {
			binary.LittleEndian.PutUint16(factors[2*j:], half.Bits(float32(r.NormFloat64())))
			if i%2 == 0 {
				zeros = append(zeros, float32(r.IntN(16)))
			}
		}
		end, signed := [2]byte(dst[2*n*block:]), r.IntN(2) == 0
		Blocks4(dst, codes, signed, block, factors, zeros)
		for j := range n * block {
			s := Scale{Signed: signed, Factor: half.Float(binary.LittleEndian.Uint16(factors[j/block*2:]))}
			if zeros != nil {
				s.Zero = zeros[j/block]
			}
			if got, want := binary.LittleEndian.Uint16(dst[2*j:]), s.number(int(Code(codes, j, 4)), 4); got != want {
				t.Fatalf("number %d of %d blocks of %d is %#x, want %#x", j, n, block, got, want)
			}
		}
		if [2]byte(dst[2*n*block:]) != end {
			t.Fatal("what lies behind the numbers has changed")
		}
	}
}

func BenchmarkLook(b *testing.B) {
	var table Table
	dst := make([]byte, 2*8192)
	for _, bits := range []int{1, 2, 3, 4, 6, 8} {
		b.Run(string(rune('0'+bits)), func(b *testing.B) {
			codes := make([]byte, Bytes(8192, bits))
			for b.Loop() {
				Look(dst, codes, bits, &table, 8192)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/8192, "ns/code")
		})
	}
	b.Run("blocks", func(b *testing.B) {
		codes, factors := make([]byte, 4096), make([]byte, 512)
		for b.Loop() {
			Blocks4(dst, codes, true, 32, factors, nil)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/8192, "ns/code")
	})
	b.Run("scale", func(b *testing.B) {
		codes, s := make([]byte, 8192), Scale{Factor: 1}
		for b.Loop() {
			s.Bytes8(dst, codes)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/8192, "ns/code")
	})
}
