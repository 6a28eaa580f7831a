//go:build amd64

package gemm

import (
	"math"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/kernel/decode"
	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// amx multiplies 32 lines with 32, by tiles of bf16 numbers. Every fp16 number is
// the sum of two of these, its high and its low part, so that a product is
//
//	x·y = hi(x)·hi(y) + hi(x)·lo(y) + lo(x)·hi(y) + lo(x)·lo(y)
//
// of which the last is left out. Lines with numbers that do not split, infinities,
// NaN and floats of more bits, are for another row.
//
// The error of a block, in units of 2^-24 of the sum of the magnitudes: up to 254
// for the product that is left out, where both factors lie halfway between two bf16
// numbers just above a power of two, and a quarter of it for most; 18 within a
// tile, which adds up 16 pairs; and one for each of the 24 tiles that are added to
// the sum.
var amx = Row{
	Name: "amx-32x32", Needs: isa.AVX2 | isa.AVX512 | isa.AMX, A: tilePanel(false), B: tilePanel(true), Depth: 256, Terms: 296,
	Run: runAMX, Sets: true, Else: &avx512, Doc: "tiles of bf16; three products for one of fp16",
}

// A panel of tiles has, for each group of 32 factors, four tiles of 1024 bytes:
// the high parts of lines 0 to 15 and 16 to 31, then the low parts. A tile of A has
// a line in each row, one of B a pair of factors in each row:
//
//	A  line 0   k0 k1 k2 … k31      B  k0 k1  line 0, line 1 … line 15
//	   line 1   k0 k1 k2 … k31         k2 k3  line 0, line 1 … line 15
//	   …                               …
const (
	tileLines   = 16
	tileFactors = 32
	tileBytes   = 1024
	groupWords  = 4 * tileBytes / 4
	lowWords    = 2 * tileBytes / 4 // from a high part to its low part
)

func tilePanel(columns bool) Panel {
	takes := []Elem{F32, F16}
	if !columns {
		takes = append(takes, Scaled, Looked)
	}
	return Panel{
		Lines: 2 * tileLines, KR: tileFactors, Bytes: 4, Takes: takes,
		Pack:    func(panels []float32, apart int, s *Source) bool { return packTiles(panels, apart, s, columns) },
		Holds:   splits,
		Unpack:  func(dst, panel []float32, line int) { unpackTiles(dst, panel, line, columns) },
		Squares: func(sums, panel []float32, depth int) { tileSquares(sums, panel, depth, columns) },
	}
}

// tiles is what the machine code takes: one panel of B with several of A.
type tiles struct {
	a, b   *float32
	groups int
	c      *float32
	stride int // bytes
	panels int // of A
	apart  int // bytes
	fresh  bool
	ahead  uintptr // what to ask for next; no pointer, since it may be behind the end
	asks   int     // how many lines of the cache in each group
}

func runAMX(t *Tile) {
	groups := (t.Depth + tileFactors - 1) / tileFactors
	if groups == 0 || t.Rows == 0 || t.Cols == 0 {
		return
	}
	t.check(2*tileLines, 2*tileLines, groups*tileFactors)
	panels := (t.Rows + 2*tileLines - 1) / (2 * tileLines)
	b := tiles{a: &t.A[0], groups: groups, stride: 4 * t.Stride, panels: panels, apart: 4 * t.DistA, fresh: t.Fresh}
	if len(t.Ahead) > 0 { // a part of it in each group
		const line = 64
		steps := panels * groups * ((t.Cols + 2*tileLines - 1) / (2 * tileLines))
		b.ahead, b.asks = uintptr(unsafe.Pointer(&t.Ahead[0])), (len(t.Ahead)/line+steps-1)/steps
	}
	for c := 0; c < t.Cols; c += 2 * tileLines {
		b.b, b.c, b.panels = &t.B[c/(2*tileLines)*t.DistB], &t.C[c], panels
		multiplyTiles(&b)
	}
}

// multiplyTiles is a call of its own so that the scheduler can stop a loop over
// panels: machine code it cannot.
//
//go:noinline
func multiplyTiles(b *tiles) { addTiles(b) }

//go:noescape
func addTiles(t *tiles)

// A splitting is what the machine code is told that splits floats into tiles.
type splitting struct {
	dst, src unsafe.Pointer
	count    int // lines, or steps
	from     int // bytes from one to the next
	there    uint64
	halves   uint64
	bad      uint64 // of the result: lanes that did not split
}

//go:noescape
func splitRows(p *splitting)

//go:noescape
func splitSide(p *splitting)

// packTiles makes panels, group by group. It reports whether all numbers split.
func packTiles(panels []float32, apart int, s *Source, columns bool) bool {
	if s.Elem == Looked || s.Elem == Scaled {
		packCodes(panels, apart, s)
		return true
	}
	held := true
	for k := 0; k < s.Depth; k += tileFactors {
		for l := 0; l < s.Lines; l += 2 * tileLines {
			at := l/(2*tileLines)*apart + k/tileFactors*groupWords
			held = packGroup(panels[at:][:groupWords], s, l, k, columns) && held
		}
	}
	return held
}

// packCodes makes panels of codes: the 32 lines of two tiles follow each other.
func packCodes(panels []float32, apart int, s *Source) {
	groups := (s.Depth + tileFactors - 1) / tileFactors
	for l := 0; l < s.Lines; l += 2 * tileLines {
		panel, lines := panels[l/(2*tileLines)*apart:][:groups*groupWords], min(2*tileLines, s.Lines-l)
		if lines < 2*tileLines {
			for g := range groups {
				clear(panel[g*groupWords:][lines*tileLines : lowWords])
				clear(panel[g*groupWords+lowWords:][lines*tileLines : lowWords])
			}
		}
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(&panel[0])), 4*len(panel))
		if s.Elem == Scaled {
			c := *s.Codes
			c.Dst, c.Line, c.Codes, c.Factors, c.Zeros = bytes, 4*tileLines, c.Codes[l*c.Apart:], c.Factors[l:][:lines], c.Zeros[l:][:lines]
			c.Split(4*groupWords, 4*lowWords)
			continue
		}
		p, bits := s.Palette, s.Palette.Bits
		if !p.Splits || s.Depth%tileFactors != 0 || s.Line*bits%8 != 0 {
			panic("bug: codes that tiles do not take")
		}
		t := decode.Twice{
			Dst: bytes, Group: 4 * groupWords, Second: 4 * lowWords, Line: 4 * tileLines,
			Codes: s.Bytes[l*s.Line*bits/8:], Apart: s.Line * bits / 8, Bits: bits, Lines: lines, Groups: groups, First: &p.High, Last: &p.Low,
		}
		t.Look()
	}
}

// packGroup makes a group of a panel, of the lines from one on and the factors from one
// on. It is a call of its own so that the scheduler can stop a loop over groups: machine
// code it cannot.
//
//go:noinline
func packGroup(group []float32, s *Source, l, k int, columns bool) bool {
	lines, depth := min(2*tileLines, s.Lines-l), min(tileFactors, s.Depth-k)
	size := 4
	p := splitting{dst: unsafe.Pointer(&group[0])}
	if s.Elem == F16 {
		size, p.halves = 2, 1
	}
	if s.Step != 1 && s.Line != 1 {
		return packGroupSlowly(group, s, l, k, lines, depth, columns)
	}
	first := s.element(l, k)
	s.element(l+lines-1, k+depth-1)
	if s.Step != 1 {
		if rows := (depth + 1) / 2; rows < tileLines {
			for tile := 0; tile < groupWords; tile += tileBytes / 4 {
				clear(group[tile+16*rows : tile+tileBytes/4])
			}
		}
		p.src, p.count, p.from, p.there = first, depth, size*s.Step, 1<<lines-1
		splitSide(&p)
		if !columns {
			exchangeTiles(group)
		}
		return p.bad == 0
	}
	if lines < 2*tileLines {
		clear(group)
	}
	bad := uint64(0)
	for i := 0; i < lines; i += tileLines {
		p.dst, p.src = unsafe.Pointer(&group[i/tileLines*(tileBytes/4)]), s.element(l+i, k)
		p.count, p.from, p.there = min(tileLines, lines-i), size*s.Line, 1<<depth-1
		splitTile(&p)
		bad |= p.bad
	}
	if columns {
		exchangeTiles(group)
	}
	return bad == 0
}

// splitTile is a call of its own for the same reason.
//
//go:noinline
func splitTile(p *splitting) { splitRows(p) }

// exchangeTiles exchanges the rows and columns of the tiles of a group.
func exchangeTiles(group []float32) {
	for tile := 0; tile < groupWords; tile += tileBytes / 4 {
		exchangeTile(group[tile:][:tileBytes/4])
	}
}

//go:noinline
func exchangeTile(tile []float32) { exchangeWords(&tile[0]) }

// packGroupSlowly packs lines whose factors lie apart in both directions, by way of
// lines in which they do not.
func packGroupSlowly(group []float32, s *Source, l, k, lines, depth int, columns bool) bool {
	var buf [2 * tileLines * tileFactors]float32
	for i := range lines {
		for j := range depth {
			buf[i*tileFactors+j] = s.float(l+i, k+j)
		}
	}
	dense := Source{Floats: buf[:], Line: tileFactors, Step: 1, Lines: lines, Depth: depth}
	return packGroup(group, &dense, 0, 0, columns)
}

// splits reports whether a number is the sum of two bf16 ones, as the machine code
// splits it.
func splits(x float32) bool {
	_, _, ok := split(x)
	return ok
}

// exchangeWords exchanges the rows and columns of 16 by 16 words.
//
//go:noescape
func exchangeWords(tile *float32)

// tileFactor is where a factor of a line stands: the word of its pair, and how far
// it has to be moved to be the upper half of a float.
func tileFactor(line, k int, columns bool) (word int, shift uint) {
	group, pair := k/tileFactors*groupWords+line/tileLines*(tileBytes/4), k%tileFactors/2
	line %= tileLines
	if columns {
		line, pair = pair, line
	}
	return group + line*tileLines + pair, uint(16 - 16*(k%2))
}

// bf16At is one of the two numbers of a word.
func bf16At(panel []float32, word int, shift uint) float32 {
	return math.Float32frombits(math.Float32bits(panel[word]) << shift & 0xffff0000)
}

func unpackTiles(dst, panel []float32, line int, columns bool) {
	for k := range dst {
		word, shift := tileFactor(line, k, columns)
		dst[k] = bf16At(panel, word, shift) + bf16At(panel, word+lowWords, shift)
	}
}
