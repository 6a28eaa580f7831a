package hwx

import (
	"maps"
	"math/bits"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The task streams here follow the formulas of h13 5, by which Apple's own files
// of these shapes are regenerated word for word; TestFixturesAreAppleWords
// holds them to that.

// taskBlocks are the records of a 157-word task: addresses and words.
var taskBlocks = []struct{ addr, words uint32 }{
	{0x1f800, 62}, {0x0, 16}, {0x13800, 28}, {0x4800, 18}, {0x8800, 4}, {0xc800, 5}, {0x17800, 7},
}

// lastTask is the header of a task that ends its list: its base addresses are
// those of source, second source and result, and of the kernel.
func lastTask(bases, kernel uint32) []uint32 {
	return []uint32{0x02000000, 0, 0x422, 0, 0xfff86a, 0, 0x30009800, 0, bases, kernel}
}

// taskText is the text of one task.
func taskText(header []uint32, registers map[uint32]uint32) []byte {
	words := header
	for _, b := range taskBlocks {
		words = append(words, (b.words-1)<<26|b.addr)
		for i := range b.words {
			words = append(words, registers[b.addr+4*i])
		}
	}
	text := make([]byte, 0, 4*len(words))
	for _, w := range words {
		text = le.AppendUint32(text, w)
	}
	return text
}

// common are the registers that most operations share, for one image of w
// columns, one row and c channels.
func common(w, c uint32) map[uint32]uint32 {
	row := alignUp(uint64(2*w), 64)
	batch := uint32(row) * c
	return map[uint32]uint32{
		0x00: 1<<16 | w, 0x04: 1, 0x08: 0x22, 0x0c: c, 0x10: c, 0x14: 1<<16 | w, 0x18: 1,
		0x1c: 0x5000a021, 0x20: 0x2041, 0x24: 0x10001, 0x28: 1, 0x38: 0x100000,
		0x13800: 0x33881, 0x13804: 0x8880, 0x1380c: uint32(row), 0x13810: uint32(row), 0x13814: batch,
		0x13838: 0x01002031, 0x13840: 0x100,
		0x4804: 0x500172, 0x4830: 0x500172,
		0xc810:  0x3c00,
		0x17808: uint32(row), 0x1780c: uint32(row), 0x17810: batch, 0x17818: 0x01302031,
	}
}

// noKernels are the registers of kernel channels that are off.
func noKernels(regs map[uint32]uint32) {
	for i := range uint32(16) {
		regs[0x1f808+4*i], regs[0x1f888+4*i] = 0x80, 0x40
	}
	for i := range uint32(4) {
		regs[0x1f8c8+4*i] = 0x80
	}
}

// bypass are the registers of a task that passes w columns of c channels on.
func bypass(w, c uint32) map[uint32]uint32 {
	regs := common(w, c)
	noKernels(regs)
	ch := uint32(alignUp(uint64(2*w), 16))
	maps.Copy(regs, map[uint32]uint32{
		0x24: 0x14001, 0x34: 0x04010101 | log2Engines(c)<<19,
		0x480c: ch, 0x4810: c * ch, 0x4814: c * ch, 0x4818: c * ch, 0x4830: 0x50017a, 0x4834: c * ch,
		0xc800: 0x80, 0xc804: 0x10000c,
		0x17800: 0x040000c1,
	})
	if w <= 16 {
		regs[0x34] |= 0x1000
	}
	return regs
}

// log2Engines says how many engines share c outputs.
func log2Engines(c uint32) uint32 { return min(4, uint32(bits.Len32(c-1))) }

func port(name string, d Direction, c, w uint32) PortSpec {
	return PortSpec{Name: name, Direction: d, Element: ElementFloat16, Shape: [4]uint32{1, c, 1, w}}
}

// reluSpec is a ReLU on one row of w elements, on one engine.
func reluSpec(w uint32) Spec {
	regs := bypass(w, 1)
	regs[0xc804] |= 1 << 16
	return Spec{
		Text: taskText(lastTask(0x01024025, 0), regs), Tasks: 1, FirstTaskWords: 157,
		Ports: []PortSpec{port("image", In, 1, w), port("probs@output", Out, 1, w)},
	}
}

// concatSpec puts two tensors of 16 channels one behind the other: two tasks.
func concatSpec() Spec {
	first, second := bypass(1, 16), bypass(1, 16)
	first[0x17810], second[0x17810] = 0x800, 0x800
	second[0x17804] = 0x400
	second[0x4804], second[0x4830] = 0x172, 0x17a
	text := taskText([]uint32{0, 156 << 16, 0x400, 0, 0x68, 0, 0x30009800, 0x300, 0x05824026, 0}, first)
	text = append(text, make([]byte, 0x300-len(text))...)
	text = append(text, taskText([]uint32{0x03000001, 0, 0x422, 0, 0x6a, 0, 0x30009800, 0, 0x05024025, 0}, second)...)
	return Spec{
		Text: text, Tasks: 2, FirstTaskWords: 157, Unknown850: 7, Unknown858: 4,
		Ports: []PortSpec{port("input_0", In, 16, 1), port("input_1", In, 16, 1), port("output@output", Out, 32, 1)},
	}
}

// addSpec adds two tensors of 64 channels.
func addSpec() Spec {
	regs := common(1, 64)
	delete(regs, 0x38)
	delete(regs, 0xc810)
	delete(regs, 0x13840)
	maps.Copy(regs, map[uint32]uint32{
		0x08: 0x2a, 0x2c: 4, 0x34: 0x33,
		0x13804: 0x33880, 0x13820: 0x40, 0x13824: 0x40, 0x13828: 0x1000, 0x1383c: 0x2030,
		0x4804: 0x1500172, 0x480c: 0x10, 0x4810: 0x420, 0x4814: 0x400, 0x4818: 0x400,
		0x481c: 0x440, 0x4820: 0x10, 0x4824: 0x420, 0x4828: 0x400, 0x482c: 0x400, 0x4830: 0x50017a, 0x4834: 0x860,
		0x8800: 0x80000, 0x8804: 0x3c000000, 0x8808: 0x3c000000, 0x880c: 0x3f800000,
		0x17800: 0x040000c1, 0x17818: 0x01002031,
	})
	return Spec{
		Text: taskText(lastTask(0x00024966, 0), regs), Tasks: 1, FirstTaskWords: 157,
		Ports: []PortSpec{port("image", In, 64, 1), port("image2", In, 64, 1), port("probs@output", Out, 64, 1)},
	}
}

// linearSpec is a linear layer, which is a 1×1 convolution: weight(o, i) is what
// output o takes of input i, and bias, if it is not nil, is added.
func linearSpec(t testing.TB, cin, cout uint32, weight func(o, i int) float32, bias []float32) Spec {
	t.Helper()
	lanes := uint32(1)
	for lanes < 32 && 2*lanes*16 <= cout {
		lanes *= 2
	}
	engines := uint32(1) << log2Engines(cout)
	k := td.Kernel{
		Groups: 1, Outputs: int(cout), Inputs: int(cin), Height: 1, Width: 1, StrideY: 1, StrideX: 1,
		Lanes: int(lanes), Engines: int(engines), Format: td.KernelFP16, Bias: bias != nil,
	}
	w := td.Weights{}
	for o := range int(cout) {
		for i := range int(cin) {
			w.Values = append(w.Values, tensor.ToF16(weight(o, i)))
		}
	}
	for _, b := range bias {
		w.Bias = append(w.Bias, tensor.ToF16(b))
	}
	streams, err := k.Pack(&w)
	if err != nil {
		t.Fatal(err)
	}
	var section td.Section
	used := slices.IndexFunc(streams, func(s []byte) bool { return len(s) == 0 })
	if used < 0 {
		used = len(streams)
	}
	section.Append(streams[:used]...)

	// Rows in on-chip memory avoid multiples of 0x400.
	sourceRow, resultRow := 16*cin, 16*cout
	if sourceRow%0x400 == 0 {
		sourceRow += 0x30
	}
	if resultRow%0x400 == 0 {
		resultRow += 0x20
	}
	regs := common(1, cin)
	noKernels(regs)
	s := Spec{
		Tasks: 1, FirstTaskWords: 157,
		Ports:     []PortSpec{port("image", In, cin, 1), port("probs@output", Out, cout, 1)},
		Constants: section.Data,
		Kernels:   []KernelSpec{{}},
	}
	for e := range section.Offsets {
		at := 4 * uint32(e)
		regs[0x1f808+at], regs[0x1f848+at], regs[0x1f888+at] = 0x81, uint32(section.Offsets[e]), uint32(section.Sizes[e])
		s.Kernels[0].Offsets = append(s.Kernels[0].Offsets, uint64(section.Offsets[e]))
	}
	maps.Copy(regs, map[uint32]uint32{
		0x1f800: 0x40,
		0x10:    cout, 0x1c: 0x5000a021 | uint32(bits.Len32(lanes)-1)<<10, 0x34: 0x00044405 | log2Engines(cout)<<19,
		0x480c: 0x10, 0x4810: sourceRow, 0x4814: 16 * cin, 0x4818: 16 * cin,
		0x4834: sourceRow, 0x4838: 0x10, 0x483c: resultRow, 0x4840: 16 * cout, 0x4844: 16 * cout,
		0xc800: 0x82, 0xc804: 0x101c00, 0x17800: 0xc1, 0x17810: 64 * cout,
	})
	if lanes < 32 {
		regs[0x34] |= 1 << 26
	}
	if bias != nil {
		regs[0xc804] |= 0x10
	}
	s.Text = taskText(lastTask((log2Engines(cout)+1)<<24|0x24025, 0x21), regs)
	tasks, err := td.DecodeStream(td.V7, s.Text, 0, 157)
	if err != nil {
		t.Fatal(err)
	}
	s.Relocs = KernelRelocs(tasks)
	return s
}

// identitySpec is the linear layer of 64 inputs and outputs that changes
// nothing.
func identitySpec(t testing.TB) Spec {
	return linearSpec(t, 64, 64, func(o, i int) float32 {
		if o == i {
			return 1
		}
		return 0
	}, nil)
}

// convSpec is a 1×1 convolution from 3 to 2 channels with bias: few engines, of
// which each has a stream that is mostly padding.
func convSpec(t testing.TB) Spec {
	return linearSpec(t, 3, 2, func(o, i int) float32 { return float32(3*o+i+1) / 4 }, []float32{0.5, -0.5})
}

func mustBuild(t testing.TB, s Spec) (*File, []byte) {
	t.Helper()
	f, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return f, data
}

func mustRead(t testing.TB, data []byte) *File {
	t.Helper()
	f, err := NewFile(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
