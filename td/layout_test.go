package td

import (
	"math/rand/v2"
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

func TestNames(t *testing.T) {
	// Selected entries of seed 23.13 and the ends of the tables.
	classes := map[Class]string{
		1: "Conv", 2: "Pooling", 3: "Concat", 4: "ElementWise", 5: "ScaledElementWise", 6: "Neuron", 8: "GOC", 24: "Softmax",
		18: "MatrixMultiplication", 20: "Reduction", 60: "Linear", 68: "NEConv", 69: "NEMatMul", 70: "NEPool", 77: "SDPA", 78: "AllReduce", 79: "FunctionCall",
	}
	for c, want := range classes {
		if c.String() != want {
			t.Errorf("class %d is %v, want %s", uint8(c), c, want)
		}
	}
	seen := make(map[string]bool)
	for c := range Class(255) {
		named := c.Valid() && classNames[c] != "" && !seen[classNames[c]]
		if named != (c >= 1 && c <= 79) {
			t.Errorf("class %d: %v", uint8(c), c)
		}
		seen[c.String()] = true
	}

	codes := map[MicroCode]string{0: "CONV", 2: "SCALE_BIAS", 4: "ACTIVATION", 0x3f: "AFFINE_TRANFORM", 0x57: "SCALED_DOT_PRODUCT_ATTENTION", 0x48: "TYPE_CAST", 0x7d: "INVALID"}
	for c, want := range codes {
		if c.String() != want {
			t.Errorf("micro-operation %#x is %v, want %s", uint8(c), c, want)
		}
	}
	clear(seen)
	for c := range MicroCode(255) {
		named := c.Valid() && microNames[c] != "" && !seen[microNames[c]]
		if named != (c < 126) {
			t.Errorf("micro-operation %#x: %v", uint8(c), c)
		}
		seen[c.String()] = true
	}
	for f := range Function(48) {
		if !f.Valid() {
			t.Errorf("function %d of Apple's 48 has no name", uint8(f))
		}
	}
}
