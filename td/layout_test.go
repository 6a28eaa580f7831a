package td

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var layouts = []*Layout{v7, v10, v256}

func TestLayouts(t *testing.T) {
	for _, l := range layouts {
		if LayoutOf(l.Version) != l {
			t.Errorf("%v: LayoutOf gives another", l.Version)
		}
		for _, b := range l.Blocks {
			used := make(map[uint32]uint32)
			for _, f := range b.Fields {
				if used[f.Addr]&f.Mask() != 0 {
					t.Errorf("%v: %v overlaps another field", l.Version, f)
				}
				used[f.Addr] |= f.Mask()
				if l.Field(f.Name) != f {
					t.Errorf("%v: %v is not found by its name", l.Version, f)
				}
				if f.Source == "" {
					t.Errorf("%v: %v has no source", l.Version, f)
				}
				if l.Version == V10 && f.Confidence != Unverified {
					t.Errorf("%v: %v is %v", l.Version, f, f.Confidence)
				}
			}
			if b.Header {
				continue
			}
			if l.Block(b.Addr) != b && b.Words > 0 || l.Block(b.Addr+4*uint32(b.Words)) == b {
				t.Errorf("%v: block %s does not hold its registers", l.Version, b.Name)
			}
			for _, other := range l.Blocks {
				if other != b && !other.Header && other.Addr < b.Addr+4*uint32(b.Words) && b.Addr < other.Addr+4*uint32(other.Words) {
					t.Errorf("%v: block %s overlaps %s", l.Version, b.Name, other.Name)
				}
			}
		}
	}
	if LayoutOf(8) != nil {
		t.Error("version 8 has a layout")
	}
}

// TestFields writes and reads every field of every version.
func TestFields(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, l := range layouts {
		for _, b := range l.Blocks {
			for _, f := range b.Fields {
				for range 20 {
					before := rng.Uint32()
					value := f.Of(rng.Uint32())
					after, err := f.Put(before, value)
					if err != nil {
						t.Fatalf("%v: %v", f, err)
					}
					if f.Of(after) != value {
						t.Fatalf("%v: put %#x, got %#x", f, value, f.Of(after))
					}
					if (before^after)&^f.Mask() != 0 {
						t.Fatalf("%v: put changed bits outside the field", f)
					}
				}
				if tooMuch := f.Mask()>>f.Lo + 1; tooMuch != 0 && f.Kind != Bytes && f.Kind != SBytes && f.Kind != Int {
					if _, err := f.Put(0, tooMuch); err == nil {
						t.Errorf("%v: took %#x", f, tooMuch)
					}
				}
			}
		}
	}
}

func TestFieldsAt(t *testing.T) {
	fields := v7.FieldsAt(0x14)
	if len(fields) != 2 || fields[0] != V7Wout || fields[1] != V7Hout {
		t.Errorf("register 0x14 has %v", fields)
	}
	if got := v7.FieldsAt(0x40); got != nil {
		t.Errorf("register 0x40 has %v", got)
	}
	if v := V7PEFinalScale.Float(0x3c800000); v != 1.0/64 {
		t.Errorf("a final scale of 1/64 reads as %g", v)
	}
}

func TestSignedFields(t *testing.T) {
	back := uint32(0xffffffc0) // -64
	w, err := V7Src1.Row.Put(0, back)
	if err != nil || V7Src1.Row.Of(w) != back {
		t.Errorf("stride -64: word %#x, %v", w, err)
	}
	if _, err := V7Src1.Row.Put(0, 32); err == nil {
		t.Error("a stride of 32 bytes was taken; its low six bits are not stored")
	}
	if _, err := V7L2Src1.Base.Put(0, 2<<20); err == nil {
		t.Error("an on-chip base of 2 MiB was taken")
	}
}

// TestOpcodeWords reads the words that the seed's table 23.8 calls opcodes: they
// are the common register 0x1c.
func TestOpcodeWords(t *testing.T) {
	for _, c := range []struct {
		word                   uint32
		kernel, pad, lanesLog2 uint32
	}{
		{0x5042a063, 3, 1, 0}, // convolution: 3x3, padding 1
		{0x5000a021, 1, 0, 0}, // reduce-mean: 1x1
		{0x5000b021, 1, 0, 4}, // matrix multiply: 1x1, 16 lanes
	} {
		task := NewV7Task(true)
		if err := task.SetWord(0x1c, c.word); err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			f *Field
			v uint32
		}{
			{V7KernelWidth, c.kernel}, {V7KernelHeight, c.kernel},
			{V7PadLeft, c.pad}, {V7PadTop, c.pad},
			{V7LanesLog2, c.lanesLog2},
			{V7StrideX, 1}, {V7StrideY, 1}, {V7Ox, 1}, {V7Oy, 1},
		} {
			if got, ok := task.Get(want.f); !ok || got != want.v {
				t.Errorf("%#x: %v is %d, want %d", c.word, want.f, got, want.v)
			}
		}
		if u := v7Common.Unnamed(0x1c, c.word); u != 0 {
			t.Errorf("%#x: bits %#x have no name", c.word, u)
		}
	}
}

// TestNames ranges over the rows of guide C.1, of which seed 23.13 has a part.
func TestNames(t *testing.T) {
	data, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	classes, codes := make(map[Class]string), make(map[MicroCode]string)
	for line := range strings.Lines(string(data)) {
		var kind, name string
		var number uint8
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscan(line, &kind, &number, &name); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if kind == "class" {
			classes[Class(number)] = name
		} else {
			codes[MicroCode(number)] = name
		}
	}
	if len(classes) != 79 || len(codes) != NumMicroCodes {
		t.Errorf("%d classes and %d micro-operations", len(classes), len(codes))
	}
	for n := range 256 {
		c, m := Class(n), MicroCode(n)
		if want, ok := classes[c]; c.Valid() != ok || ok && c.String() != want {
			t.Errorf("class %d is %v, valid %t; want %q", n, c, c.Valid(), want)
		}
		if want, ok := codes[m]; m.Valid() != ok || ok && m.String() != want {
			t.Errorf("micro-operation %d is %v, valid %t; want %q", n, m, m.Valid(), want)
		}
	}
	for f := range Function(48) {
		if !f.Valid() {
			t.Errorf("function %d of Apple's 48 has no name", uint8(f))
		}
	}
}
