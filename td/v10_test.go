package td

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestV10Tables ranges over the seed's tables 23.3 to 23.5.
func TestV10Tables(t *testing.T) {
	if len(V10Groups) != 7 {
		t.Fatalf("%d groups", len(V10Groups))
	}
	// In the image, groups follow each other with eight bytes between them; the
	// first has more.
	for i, g := range V10Groups {
		if g.StructBase != g.ImageBase+8 {
			t.Errorf("%s: the two frames are not 8 apart", g.Block.Name)
		}
		if g.HasAperture != (g.Block.Addr != 0) {
			t.Errorf("%s: aperture %#x", g.Block.Name, g.Block.Addr)
		}
		if i >= 1 && i < 6 && g.ImageBase+4*uint32(g.Block.Words)+8 != V10Groups[i+1].ImageBase {
			t.Errorf("%s does not end where %s begins", g.Block.Name, V10Groups[i+1].Block.Name)
		}
	}
	for _, c := range []struct {
		f     *Field
		image uint32 // offset in the descriptor
		mask  uint32
	}{
		{V10Win, 0x0f4, 0x07fff},
		{V10Hin, 0x0f6, 0x07fff},
		{V10Cin, 0x100, 0x1ffff},
		{V10Cout, 0x104, 0x1ffff},
		{V10OCG, 0x118, 0x07},
		{V10NumGroups, 0x11c, 0x1fff},
	} {
		if at := 0xf4 + c.f.Addr + uint32(c.f.Lo)/8; at != c.image {
			t.Errorf("%v is at %#x of the image, want %#x", c.f, at, c.image)
		}
		if m := c.f.Mask() >> c.f.Lo; m != c.mask {
			t.Errorf("%v has mask %#x, want %#x", c.f, m, c.mask)
		}
	}
	if len(V10Relocations) != 7 {
		t.Errorf("%d relocation slots", len(V10Relocations))
	}
	for _, r := range V10Relocations {
		if r.Field.Addr != 4*r.Register || v10.Block(r.Field.Addr) != r.Field.Block {
			t.Errorf("%s: register %#x is not %v", r.Slot, r.Register, r.Field)
		}
	}
	for _, s := range []V10Stream{V10Bias, V10PostScale, V10Palette, V10Activation} {
		if s.Offset.Addr != s.Enable.Addr+4 || s.Address.Addr != s.Offset.Addr+4 {
			t.Errorf("%v: the registers of the stream do not follow each other", s.Enable)
		}
	}
}

func TestV10Sparse(t *testing.T) {
	image, defaults := NewRegisters(v10), NewRegisters(v10)
	image.Write(V10Win.Addr, 64)
	image.Write(V10Cin.Addr, 17)
	image.Write(V10Src1Base.Addr, 0x30004000)
	defaults.Write(V10Cin.Addr, 17) // stays out
	defaults.Write(V10Cout.Addr, 1) // goes back to 0

	task := SparseV10(image, defaults)
	var got []uint32
	for _, r := range task.Records {
		got = append(got, r.Addr)
	}
	if want := []uint32{V10Win.Addr, V10Cout.Addr, V10Src1Base.Addr}; !slices.Equal(got, want) {
		t.Errorf("records for %#x, want %#x", got, want)
	}
	words, err := task.Encode()
	if err != nil || 4*len(words) != 44*len(got) {
		t.Fatalf("%d words, %v", len(words), err)
	}
	again, err := Decode(V10, words)
	if err != nil {
		t.Fatal(err)
	}
	defaults.Apply(again)
	for _, b := range v10.Blocks {
		for i := range b.Words {
			addr := b.Addr + 4*uint32(i)
			g, _ := defaults.Word(addr)
			if w, _ := image.Word(addr); g != w {
				t.Errorf("register %#x is %#x after the task, want %#x", addr, g, w)
			}
		}
	}
	if n := len(SparseV10(image, nil).Records); n != 3 {
		t.Errorf("%d records against zeros, want 3", n)
	}
}

func TestV10Codec(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var words []uint32
	for range 8 {
		record := make([]uint32, v10RecordWords)
		for i := range record {
			record[i] = rng.Uint32()
		}
		record[0] = 0x28
		record[1] &^= 3
		words = append(words, record...)
	}
	task, err := Decode(V10, words)
	if err != nil {
		t.Fatal(err)
	}
	again, err := task.Encode()
	if err != nil || !slices.Equal(again, words) {
		t.Errorf("differs after decode and encode (%v)", err)
	}
}

func TestV10Strides(t *testing.T) {
	for _, s := range []int64{0, 64, -64, 1<<31 - 64, -1 << 31} {
		if w, ok := PutV10Stride(s); !ok || int64(V10Stride(w)) != s {
			t.Errorf("stride %d: word %#x, back %d, %t", s, w, V10Stride(w), ok)
		}
	}
	for _, s := range []int64{32, 1 << 31, -1<<31 - 64} {
		if _, ok := PutV10Stride(s); ok {
			t.Errorf("stride %d has a word", s)
		}
	}
}

func TestV10Patches(t *testing.T) {
	r := NewRegisters(v10)
	r.Write(0x4d10, 0xffffffff)
	bar := CustomBar{PatchTarget{0x1344, 8, 16}, BarDeviceAddress, "input"}
	if err := r.Patch(bar.PatchTarget, 0x1234); err != nil {
		t.Fatal(err)
	}
	if w, _ := r.Word(0x4d10); w != 0xff1234ff {
		t.Errorf("register is %#x", w)
	}
	if err := r.Patch(PatchTarget{0x1344, 0, 32}, 0xdeadbeef); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		p PatchTarget
		v uint64
	}{
		{PatchTarget{0x1344, 8, 16}, 0x10000},
		{PatchTarget{0x1344, 20, 16}, 0},
		{PatchTarget{0x1344, 0, 0}, 0},
		{PatchTarget{0x1344, 0, 33}, 0},
		{PatchTarget{1 << 30, 0, 1}, 0},
	} {
		if err := r.Patch(c.p, c.v); err == nil {
			t.Errorf("%+v took %#x", c.p, c.v)
		}
	}

	width := LiveIn{PatchTarget{0, 0, 15}, "x", 32, 128, 32}
	if err := width.Bind(r, 96); err != nil || r.Value(V10Win) != 96 {
		t.Errorf("width %d, %v", r.Value(V10Win), err)
	}
	for _, v := range []int64{0, 33, 160, -32} {
		if width.Bind(r, v) == nil {
			t.Errorf("live-in took %d", v)
		}
	}
	if (&LiveIn{Start: 1, Stop: 2}).Check(1) == nil {
		t.Error("a range without step took 1")
	}
}
