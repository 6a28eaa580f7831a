package hwx

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/td"
)

// differing are the offsets of the bytes that differ.
func differing(t *testing.T, a, b []byte) (at []int64) {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d bytes became %d", len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			at = append(at, int64(i))
		}
	}
	return at
}

func TestPatchWeightsChangesNothingElse(t *testing.T) {
	_, before := mustBuild(t, identitySpec(t))
	kept := bytes.Clone(before)
	// Output 13 is lane 1 of engine 3; input 5 is row 5.
	w := Weight{Out: 13, In: 5, Value: 0x4248}
	at := int64(0x4280 + 3*512 + (5*4+1)*2)
	after, err := PatchWeights(before, w)
	if err != nil {
		t.Fatal(err)
	}
	if got := differing(t, before, after); len(got) != 2 || got[0] != at || got[1] != at+1 {
		t.Errorf("bytes %x differ, want %x and the next", got, at)
	}
	if le.Uint16(after[at:]) != w.Value {
		t.Errorf("the weight is 0x%x", le.Uint16(after[at:]))
	}
	if !bytes.Equal(before, kept) {
		t.Error("the container itself was changed")
	}
	// By its stream, the same.
	f := mustRead(t, before)
	streams, err := f.Streams()
	if err != nil {
		t.Fatal(err)
	}
	again, err := PatchStream(before, streams[3].Symbol, 5*4+1, []uint16{w.Value})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(after, again) {
		t.Errorf("PatchStream differs at 0x%x", firstDifference(after, again))
	}
	if none, err := PatchWeights(before); err != nil || !bytes.Equal(none, before) {
		t.Errorf("no weights: %v", err)
	}
}

func TestEveryWeightHasItsPlace(t *testing.T) {
	f, _ := mustBuild(t, identitySpec(t))
	m, err := f.Weights()
	if err != nil {
		t.Fatal(err)
	}
	k, ok := m.Kernel(0)
	if !ok || k.Outputs != 64 || k.Inputs != 64 || k.Lanes != 4 || k.Engines != 16 {
		t.Fatalf("kernel %+v, %t", k, ok)
	}
	seen := make(map[int64]bool)
	for o := range 64 {
		for i := range 64 {
			p, err := m.Locate(Weight{Out: o, In: i})
			if err != nil {
				t.Fatal(err)
			}
			if seen[p.Offset] || p.Section != f.Constants() {
				t.Fatalf("output %d, input %d: %+v", o, i, p)
			}
			seen[p.Offset] = true
			want := uint16(0)
			if o == i {
				want = 0x3c00
			}
			if got := le.Uint16(p.Section.Data[p.Offset:]); got != want {
				t.Errorf("output %d, input %d: 0x%x, want 0x%x", o, i, got, want)
			}
		}
	}
	if len(seen) != 4096 {
		t.Errorf("%d places", len(seen))
	}
}

// The strides of the seed's table 23.10, and of its identity layer, are results
// of the stream rule (h13 3.3): rows of lanes, padded to 64 bytes.
func TestWeightStrides(t *testing.T) {
	for _, row := range []struct {
		what   string
		kernel td.Kernel
		stride int
	}{
		{"convolution 3×3 of 8 channels, 8 tiles", td.Kernel{Outputs: 8, Inputs: 8, Height: 3, Width: 3, Lanes: 1, Engines: 8}, 0xc0},
		{"matrix multiply of 8 inputs, 4 tiles", td.Kernel{Outputs: 4, Inputs: 8, Height: 1, Width: 1, Lanes: 1, Engines: 4}, 0x40},
		{"matrix multiply of 32 inputs, 4 tiles", td.Kernel{Outputs: 4, Inputs: 32, Height: 1, Width: 1, Lanes: 1, Engines: 4}, 0x40},
		{"identity layer", td.Kernel{Outputs: 64, Inputs: 64, Height: 1, Width: 1, Lanes: 4, Engines: 16}, 512},
	} {
		k := row.kernel
		k.Groups, k.StrideY, k.StrideX, k.Format = 1, 1, 1, td.KernelFP16
		streams, err := k.Pack(&td.Weights{Values: make([]uint16, k.Values())})
		if err != nil {
			t.Errorf("%s: %v", row.what, err)
			continue
		}
		var section td.Section
		section.Append(streams...)
		for e, offset := range section.Offsets {
			if offset != e*row.stride || len(streams[e]) != row.stride {
				t.Errorf("%s: tile %d has 0x%x bytes at 0x%x, want a stride of 0x%x", row.what, e, len(streams[e]), offset, row.stride)
			}
		}
	}
}

func TestRealWeights(t *testing.T) {
	files := realFiles(t)
	read := func(name string, w Weight) uint16 {
		m, err := mustRead(t, files[name]).Weights()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p, err := m.Locate(w)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return le.Uint16(p.Section.Data[p.Offset:])
	}
	// This file's weights are the numbers 0 to 8 in row-major order.
	for o := range 3 {
		for i := range 3 {
			if got := read("conv_8a6bd427", Weight{Out: o, In: i}); got != uint16(3*o+i) {
				t.Errorf("weight %d,%d is 0x%x", o, i, got)
			}
		}
	}
	for o := range 2 {
		if got := read("golden_50e38bf9", Weight{Bias: true, Out: o}); got != 0x3c00 {
			t.Errorf("bias %d is 0x%x, want 1.0", o, got)
		}
		for i := range 3 {
			if got := read("golden_50e38bf9", Weight{Out: o, In: i}); got != 0x4200 {
				t.Errorf("weight %d,%d is 0x%x, want 3.0", o, i, got)
			}
		}
	}
	for name, data := range files {
		f := mustRead(t, data)
		tasks, err := f.Tasks()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// The relocations follow from the tasks.
		got, want := KernelRelocs(tasks), f.Text().Relocs
		if len(got) != len(want) {
			t.Errorf("%s: %d relocations, want %d", name, len(got), len(want))
			continue
		}
		for i, off := range got {
			if off != want[i].Offset || want[i].Info != RelocInfo(2) {
				t.Errorf("%s: relocation %d at 0x%x, want %+v", name, i, off, want[i])
			}
		}
	}
	// Real weights change as ours do, in the file with 32 lanes too.
	for _, name := range []string{"gemm_bc27a277", "gemm_ef7e5c24", "conv_ea5905f3", "golden_50e38bf9"} {
		w := Weight{Out: 1, In: 2, Value: 0x5678}
		after, err := PatchWeights(files[name], w)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := differing(t, files[name], after); len(got) != 2 || got[1] != got[0]+1 {
			t.Errorf("%s: bytes %x differ", name, got)
		}
	}
	for _, name := range []string{"relu_d66a665b", "sum_1b1855b8", "concat_0f988933", "sigmoid_7cc79341"} {
		if _, err := PatchWeights(files[name], Weight{}); err == nil {
			t.Errorf("%s has no weights", name)
		}
	}
}

// strideSpec is a convolution of stride 2, whose streams leave out zeros.
func strideSpec(t *testing.T, values []uint16) Spec {
	k := td.Kernel{Groups: 1, Outputs: 2, Inputs: 4, Height: 3, Width: 3, StrideY: 2, StrideX: 2, Lanes: 1, Engines: 2, Format: td.KernelFP16, ZeroSkip: true, Small: true}
	streams, err := k.Pack(&td.Weights{Values: values})
	if err != nil {
		t.Fatal(err)
	}
	var section td.Section
	section.Append(streams...)
	regs := common(8, 2)
	noKernels(regs)
	regs[0x0c] = 4
	regs[0x1c] = 3 | 3<<5 | 2<<13 | 2<<15
	regs[0x34], regs[0x1f800], regs[0xc800], regs[0xc804] = 0x040c4405, 0x60, 0x182, 0x101c00
	s := reluSpec(16)
	s.Kernels = []KernelSpec{{}}
	for e := range streams {
		regs[0x1f808+4*uint32(e)] = 0x81
		regs[0x1f848+4*uint32(e)] = uint32(section.Offsets[e])
		regs[0x1f888+4*uint32(e)] = uint32(section.Sizes[e])
		s.Kernels[0].Offsets = append(s.Kernels[0].Offsets, uint64(section.Offsets[e]))
		s.Relocs = append(s.Relocs, 0x74+4*uint32(e))
	}
	s.Constants = section.Data
	s.Text = taskText(lastTask(0x02024025, 0x21), regs)
	return s
}

func TestPatchStreamsWithoutZeros(t *testing.T) {
	values := make([]uint16, 2*4*9)
	for i := range values {
		if i%3 != 0 {
			values[i] = uint16(0x3c00 + i)
		}
	}
	_, before := mustBuild(t, strideSpec(t, values))
	check := func(w Weight, i int) []int64 {
		t.Helper()
		after, err := PatchWeights(before, w)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(before)
		patched := append([]uint16(nil), values...)
		patched[i] = w.Value
		_, want := mustBuild(t, strideSpec(t, patched))
		// The name of the kernel is a digest of its content; a patch leaves it.
		f := mustRead(t, after)
		at := int64(f.Constants().Offset)
		copy(changed[at:at+int64(f.Constants().Size)], want[at:])
		if !bytes.Equal(after, changed) {
			t.Errorf("%v: differs at 0x%x", w, firstDifference(after, changed))
		}
		return differing(t, before, after)
	}
	// A value for a value stays where it is.
	if got := check(Weight{Out: 1, In: 0, Y: 0, X: 1, Value: 0x4444}, 36+1); len(got) > 2 {
		t.Errorf("bytes %x differ", got)
	}
	// A value for a zero moves what follows, if there is room.
	check(Weight{Out: 0, In: 1, Y: 1, X: 0, Value: 0x4444}, 9+3)
	if _, err := PatchWeights(before, Weight{Out: 2, Value: 1}); err == nil {
		t.Error("an output too many is not refused")
	}
	f := mustRead(t, before)
	m, err := f.Weights()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Locate(Weight{}); err == nil {
		t.Error("a weight of such a stream has no place")
	}
	// All nonzero does not fit into what few weights took.
	few := make([]uint16, len(values))
	few[0] = 0x3c00
	_, before = mustBuild(t, strideSpec(t, few))
	var all []Weight
	for i := range few {
		all = append(all, Weight{Out: i / 36, In: i / 9 % 4, Y: i / 3 % 3, X: i % 3, Value: 0x3c01})
	}
	if _, err := PatchWeights(before, all...); err == nil || !strings.Contains(err.Error(), "its place in the file") {
		t.Errorf("streams that grow: %v", err)
	}
}

func TestPatchByteWeights(t *testing.T) {
	s := identitySpec(t)
	regs := 10 + 63 + 17 + 29 + 19 + 5 // words before the block of register 0xc800
	le.PutUint32(s.Text[4*(regs+1):], 0x81)
	_, before := mustBuild(t, s)
	after, err := PatchWeights(before, Weight{Out: 5, In: 3, Value: 0xfe})
	if err != nil {
		t.Fatal(err)
	}
	if got := differing(t, before, after); len(got) != 1 || got[0] != 0x4280+512+3*4+1 {
		t.Errorf("bytes %x differ", got)
	}
	if _, err := PatchWeights(before, Weight{Value: 0x100}); err == nil {
		t.Error("a value that is no byte is not refused")
	}
}

func TestPatchRefuses(t *testing.T) {
	_, data := mustBuild(t, identitySpec(t))
	for want, w := range map[string]Weight{
		"there are 1 tasks": {Task: 1},
		"64 outputs":        {Out: 64},
		"64 inputs":         {In: 64},
		"1×1 taps":          {X: 1},
		"bias false":        {Bias: true},
		"output -1":         {Out: -1},
	} {
		if _, err := PatchWeights(data, w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", w, err, want)
		}
	}
	if _, err := PatchStream(data, "image", 0, nil); err == nil {
		t.Error("a port is no kernel stream")
	}
	streams, err := mustRead(t, data).Streams()
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []int{-1, 256, 257} {
		if _, err := PatchStream(data, streams[0].Symbol, first, []uint16{1}); err == nil {
			t.Errorf("halfword %d of 256 is not refused", first)
		}
	}
	if _, err := PatchWeights(data[:40]); err == nil {
		t.Error("a damaged container is not refused")
	}
}

func TestTasksAreChecked(t *testing.T) {
	var format *FormatError
	s := addSpec()
	s.Tasks = 2
	f, _ := mustBuild(t, s)
	if _, err := f.Tasks(); !errors.As(err, &format) || !strings.Contains(err.Error(), "1 tasks are linked, the program counts 2") {
		t.Errorf("a task too few: %v", err)
	}
	s = addSpec()
	le.PutUint32(s.Text[0x1c:], 0x100) // the next task, inside the first
	_, data := mustBuild(t, s)
	f = mustRead(t, data)
	if _, err := f.Tasks(); !errors.As(err, &format) || format.Offset < 0x4000 || format.Offset >= 0x4274 {
		t.Errorf("a task within another: %v", err)
	}
	s = addSpec()
	s.Subtype = 77
	f, _ = mustBuild(t, s)
	if _, err := f.Tasks(); !errors.As(err, &format) || format.Offset != 8 {
		t.Errorf("an unknown target: %v", err)
	}
}
