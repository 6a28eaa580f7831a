//go:build amd64

package gemm

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/decode"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// The instructions that are spelled as bytes are what a disassembler reads, in their
// order.
func TestTileInstructions(t *testing.T) {
	products := []string{"tdpbf16ps tmm0,tmm4,tmm6", "tdpbf16ps tmm1,tmm4,tmm7", "tdpbf16ps tmm2,tmm5,tmm6", "tdpbf16ps tmm3,tmm5,tmm7"}
	halves := []string{"vcvtne2ps2bf16 zmm2,zmm1,zmm0", "vcvtne2ps2bf16 zmm3,zmm1,zmm0"}
	others := []string{"vcvtne2ps2bf16 zmm6,zmm5,zmm4", "vcvtne2ps2bf16 zmm7,zmm5,zmm4"}
	for name, want := range map[string][]string{
		"gemm.addTiles": slices.Concat(
			[]string{"ldtilecfg [rax]"},
			[]string{"tileloadd tmm0,[rdi+rdx*1+0x0]", "tileloadd tmm1,[rdi+rdx*1+0x40]", "tileloadd tmm2,[rsi+rdx*1+0x0]", "tileloadd tmm3,[rsi+rdx*1+0x40]"},
			[]string{"tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3"},
			[]string{"tileloadd tmm6,[rbx+rcx*1+0x0]", "tileloadd tmm7,[rbx+rcx*1+0x400]", "tileloadd tmm4,[rax+rcx*1+0x800]", "tileloadd tmm5,[rax+rcx*1+0xc00]"},
			products,
			[]string{"tileloadd tmm4,[rax+rcx*1+0x0]", "tileloadd tmm5,[rax+rcx*1+0x400]"},
			products,
			[]string{"tileloadd tmm6,[rbx+rcx*1+0x800]", "tileloadd tmm7,[rbx+rcx*1+0xc00]"},
			products,
			[]string{"tilestored [rdi+rdx*1+0x0],tmm0", "tilestored [rdi+rdx*1+0x40],tmm1", "tilestored [rsi+rdx*1+0x0],tmm2", "tilestored [rsi+rdx*1+0x40],tmm3"},
			[]string{"tilerelease"},
		),
		"gemm.splitRows": halves,
		"gemm.splitSide": slices.Concat(halves, others, halves, others),
	} {
		got := testkit.Disassemble(t, name, `ldtilecfg|tile\w+|tdp\w+|vcvtne2\w+`)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the disassembler reads\n%s\nexpected\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// Panels of codes are those of the numbers that the codes stand for.
func TestCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	for _, row := range Usable() {
		p := &row.A
		for _, lines := range []int{1, 16, 31, 32, 33, 70} {
			for _, depth := range []int{32, 96, 256, 17, 40} {
				codes, apart := make([]byte, lines*(depth+32)), p.Words(depth)+3
				for i := range codes {
					codes[i] = byte(r.Uint32())
				}
				numbers := Source{Elem: F16, Bytes: make([]byte, 2*lines*depth), Line: depth, Step: 1, Lines: lines, Depth: depth}
				check := func(what string, s *Source) {
					t.Helper()
					var panels [2][]float32
					for i, from := range []*Source{&numbers, s} {
						panels[i] = make([]float32, p.Panels(lines)*apart)
						for j := range panels[i] {
							panels[i][j] = 7 // of the last user
						}
						if !p.Pack(panels[i], apart, from) {
							t.Fatalf("%s: %s are not held", row.Name, what)
						}
					}
					for i, x := range panels[0] {
						if math.Float32bits(x) != math.Float32bits(panels[1][i]) {
							t.Fatalf("%s: %d lines of %d %s: word %d is %#x, want %#x", row.Name, lines, depth, what, i, math.Float32bits(panels[1][i]), math.Float32bits(x))
						}
					}
				}
				if p.Reads(Scaled) {
					l := decode.Lines8{Codes: codes, Apart: depth + 5, N: depth, Signed: true, Factors: make([]float32, lines), Zeros: make([]float32, lines)}
					for i := range lines {
						l.Factors[i], l.Zeros[i] = half.Round(float32(r.NormFloat64()/64)), float32(r.IntN(9)-4)
					}
					to := l
					to.Dst, to.Line = numbers.Bytes, 2*depth
					to.Write()
					check("scaled", &Source{Elem: Scaled, Codes: &l, Lines: lines, Depth: depth})
				}
				if p.Reads(Looked) && depth%32 == 0 {
					var table decode.Table
					for i := range table {
						table[i] = half.Bits(float32(r.NormFloat64()))
					}
					var palette Palette
					palette.Set(&table, 6)
					for l := range lines {
						decode.Look(numbers.Bytes[2*l*depth:], codes[l*(depth+32)*6/8:], 6, &table, depth)
					}
					check("looked up", &Source{Elem: Looked, Bytes: codes, Line: depth + 32, Step: 1, Palette: &palette, Lines: lines, Depth: depth})
				}
			}
		}
	}
}
