package td

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func unitKernel(outputs, inputs, lanes, engines int) Kernel {
	return Kernel{
		Groups: 1, Outputs: outputs, Inputs: inputs, Height: 1, Width: 1, StrideY: 1, StrideX: 1,
		Lanes: lanes, Engines: engines, Format: KernelFP16,
	}
}

func randomWeights(rng *rand.Rand, k *Kernel, zeros float64) *Weights {
	number := func() uint16 {
		v := uint16(rng.Uint32())
		if k.Format == KernelInt8 {
			v &= 0xff
		}
		// A zero-skipping stream cannot hold a negative zero.
		if rng.Float64() < zeros || k.ZeroSkip && v&0x7fff == 0 {
			return 0
		}
		return v
	}
	w := &Weights{Values: make([]uint16, k.Values())}
	for i := range w.Values {
		w.Values[i] = number()
	}
	if k.Bias {
		w.Bias = make([]uint16, k.Groups*k.Outputs)
		for i := range w.Bias {
			w.Bias[i] = number()
		}
	}
	if k.Table {
		w.Table = GELUTable().Encode()
	}
	return w
}

// TestKernels packs, locates and unpacks kernels of every form.
func TestKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		k := Kernel{
			Groups: 1 + rng.IntN(3), Outputs: 1 + rng.IntN(40), Inputs: rng.IntN(6),
			Height: 1 + rng.IntN(4), Width: 1 + rng.IntN(4), StrideY: 1 + rng.IntN(3), StrideX: 1 + rng.IntN(3),
			Lanes: 1 << rng.IntN(6), Engines: 1 << rng.IntN(5), Format: KernelFP16,
			Table: rng.IntN(4) == 0, Bias: rng.IntN(2) == 0, ZeroSkip: rng.IntN(3) == 0, Small: rng.IntN(2) == 0,
		}
		if rng.IntN(5) == 0 {
			k.Format, k.Bias, k.ZeroSkip = KernelInt8, false, false
		}
		w := randomWeights(rng, &k, 0.3)
		streams, err := k.Pack(w)
		if err != nil {
			t.Fatalf("%+v: %v", k, err)
		}
		for e, s := range streams {
			if len(s)%streamAlign != 0 || !k.ZeroSkip && len(s) != k.StreamBytes(e) {
				t.Fatalf("%+v: stream %d has %d bytes, want %d", k, e, len(s), k.StreamBytes(e))
			}
		}
		again, err := k.Unpack(streams)
		if err != nil {
			t.Fatalf("%+v: %v", k, err)
		}
		if !slices.Equal(again.Values, w.Values) || !slices.Equal(again.Bias, w.Bias) || !slices.Equal(again.Table, w.Table) {
			t.Fatalf("%+v: other weights after pack and unpack", k)
		}
		checkLocate(t, &k, w, streams)
	}
}

func checkLocate(t *testing.T, k *Kernel, w *Weights, streams [][]byte) {
	t.Helper()
	read := func(e, at int) uint16 {
		if k.Format == KernelInt8 {
			return uint16(streams[e][at])
		}
		return binary.LittleEndian.Uint16(streams[e][at:])
	}
	i := 0
	for o := range k.Groups * k.Outputs {
		if e, at, ok := k.LocateBias(o); ok != (k.Bias && !k.ZeroSkip) || ok && read(e, at) != w.Bias[o] {
			t.Fatalf("%+v: bias of output %d is not at stream %d offset %d", *k, o, e, at)
		}
		for c := range k.Inputs {
			for y := range k.Height {
				for x := range k.Width {
					if e, at, ok := k.Locate(o, c, y, x); ok == k.ZeroSkip || ok && read(e, at) != w.Values[i] {
						t.Fatalf("%+v: weight %d,%d,%d,%d is not at stream %d offset %d", *k, o, c, y, x, e, at)
					}
					i++
				}
			}
		}
	}
	if _, _, ok := k.Locate(k.Groups*k.Outputs, 0, 0, 0); ok {
		t.Fatalf("%+v: found an output that is not there", *k)
	}
}

// TestSeedStrides holds the tiling strides of the seed's table 23.10 to what
// they are: results of the stream rule.
func TestSeedStrides(t *testing.T) {
	conv := unitKernel(8, 8, 1, 8)
	conv.Height, conv.Width = 3, 3
	matmul := unitKernel(4, 8, 1, 4)
	for _, c := range []struct {
		name   string
		kernel Kernel
		tiles  int
		stride int
	}{
		{"convolution weight", conv, 8, 0xc0},
		{"matrix-multiply weight", matmul, 4, 0x40},
		{"identity 64 to 64", unitKernel(64, 64, 4, 16), 16, 0x200},
	} {
		streams, err := c.kernel.Pack(&Weights{Values: make([]uint16, c.kernel.Values())})
		if err != nil {
			t.Fatal(err)
		}
		var s Section
		s.Append(streams...)
		if len(s.Offsets) != c.tiles {
			t.Errorf("%s: %d tiles, want %d", c.name, len(s.Offsets), c.tiles)
		}
		for i, at := range s.Offsets {
			if at != i*c.stride || s.Sizes[i] != c.stride {
				t.Errorf("%s: tile %d at %#x with %#x bytes, want stride %#x", c.name, i, at, s.Sizes[i], c.stride)
			}
		}
	}
}

// TestIdentityLinear has the weight bank that the seed decodes: sixteen
// sub-kernels at 512 bytes, 64 non-zero halfwords.
func TestIdentityLinear(t *testing.T) {
	k := unitKernel(64, 64, 4, 16)
	w := Weights{Values: make([]uint16, 64*64)}
	for i := range 64 {
		w.Values[65*i] = fp16One
	}
	streams, err := k.Pack(&w)
	if err != nil {
		t.Fatal(err)
	}
	var s Section
	s.Append(streams...)
	ones := 0
	for i := 0; i < len(s.Data); i += 2 {
		switch h := binary.LittleEndian.Uint16(s.Data[i:]); h {
		case 0:
		case fp16One:
			ones++
		default:
			t.Fatalf("halfword %#x at %#x", h, i)
		}
	}
	if len(s.Data) != 8192 || ones != 64 {
		t.Errorf("%d bytes, %d ones; want 8192 and 64", len(s.Data), ones)
	}
}

func TestKernelOf(t *testing.T) {
	task := NewV7Task(true)
	for f, v := range map[*Field]uint32{
		V7KernelEnable: 1, V7Groups: 1, V7Cin: 64, V7Cout: 64, V7KernelHeight: 3, V7KernelWidth: 3,
		V7StrideX: 1, V7StrideY: 1, V7EnginesLog2: 4, V7Unicast: 1, V7UnicastInputs: 1, V7NEKernelFormat: 2,
	} {
		if err := task.Set(f, v); err != nil {
			t.Fatal(err)
		}
	}
	r := NewRegisters(v7)
	r.Apply(task)
	k, ok, err := KernelOf(r)
	want := Kernel{Groups: 1, Outputs: 64, Inputs: 1, Height: 3, Width: 3, StrideY: 1, StrideX: 1, Lanes: 1, Engines: 16, Format: KernelFP16}
	if !ok || err != nil || k != want {
		t.Errorf("depthwise: %+v, %t, %v", k, ok, err)
	}
	for name, spoil := range map[string]struct {
		f *Field
		v uint32
	}{
		"no output":         {V7Cout, 0},
		"no groups":         {V7Groups, 0},
		"format":            {V7NEKernelFormat, 3},
		"too many engines":  {V7EnginesLog2, 7},
		"kernel of width 0": {V7KernelWidth, 0},
	} {
		c := task.Clone()
		if err := c.Set(spoil.f, spoil.v); err != nil {
			t.Fatal(err)
		}
		r := NewRegisters(v7)
		r.Apply(c)
		if _, _, err := KernelOf(r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	huge := Kernel{Groups: 8191, Outputs: 131071, Inputs: 131071, Height: 31, Width: 31, StrideY: 1, StrideX: 1, Lanes: 1, Engines: 1, Format: KernelFP16}
	if _, err := huge.Unpack([][]byte{nil}); err == nil {
		t.Error("a kernel of 10^16 weights was unpacked")
	}
}

func TestKernelStreams(t *testing.T) {
	section := make([]byte, 0x100)
	place := func(offset, size uint32) error {
		task := NewV7Task(true)
		for f, v := range map[*Field]uint32{V7KernelChannel[0].Config.Enable: 1, V7KernelChannel[0].Offset: offset, V7KernelChannel[0].Size: size} {
			if err := task.Set(f, v); err != nil {
				t.Fatal(err)
			}
		}
		r := NewRegisters(v7)
		r.Apply(task)
		_, err := KernelStreams(r, section)
		return err
	}
	for _, c := range []struct {
		offset, size uint32
		ok           bool
	}{
		{0, 0x100, true}, {0xc0, 0x40, true}, {0x100, 0, true},
		{0, 0x140, false}, {0x140, 0, false}, {0xffffffc0, 0x40, false}, {0x40, 0xffffffc0, false},
	} {
		if err := place(c.offset, c.size); (err == nil) != c.ok {
			t.Errorf("%#x bytes at %#x: %v", c.size, c.offset, err)
		}
	}
}

// TestZeroSkip holds the form to an example worked by hand: two lanes, a kernel
// of 1x3 with stride 1x2, one input.
func TestZeroSkip(t *testing.T) {
	k := Kernel{
		Groups: 1, Outputs: 2, Inputs: 1, Height: 1, Width: 3, StrideY: 1, StrideX: 2,
		Lanes: 2, Engines: 1, Format: KernelFP16, ZeroSkip: true,
	}
	w := &Weights{Values: []uint16{
		0x0101, 0x0202, 0, // output 0
		0x0303, 0x8000, 0x0404, // output 1: a negative zero in the middle
	}}
	streams, err := k.Pack(w)
	if err != nil {
		t.Fatal(err)
	}
	// Slots: phase 0 is x = 0, 2; phase 1 is x = 1, 3. Lanes side by side.
	want := []byte{
		9, 0, 0, // bytes of the body
		0b0001_1011, // x=0: both, x=2: lane 1 only, x=1: lane 0 only, x=3: none
		1, 1, 3, 3, 4, 4, 2, 2,
	}
	if got := streams[0][:len(want)]; !slices.Equal(got, want) || len(streams[0]) != 64 {
		t.Errorf("got %x (%d bytes), want %x", got, len(streams[0]), want)
	}
	again, err := k.Unpack(streams)
	if err != nil {
		t.Fatal(err)
	}
	w.Values[4] = 0
	if !slices.Equal(again.Values, w.Values) {
		t.Errorf("got %#x, want %#x", again.Values, w.Values)
	}

	for name, spoil := range map[string]func([]byte) []byte{
		"body shorter than its weights": func(s []byte) []byte { s[0] = 8; return s },
		"body longer than its weights":  func(s []byte) []byte { s[0] = 10; return s },
		"body longer than the stream":   func(s []byte) []byte { s[2] = 1; return s },
		"weight outside the kernel":     func(s []byte) []byte { s[3] |= 0x40; return s },
		"stream without its masks":      func(s []byte) []byte { return s[:3] },
		"no stream":                     func([]byte) []byte { return nil },
	} {
		_, err := k.Unpack([][]byte{spoil(slices.Clone(streams[0]))})
		var f *FormatError
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPackErrors(t *testing.T) {
	k := unitKernel(4, 4, 1, 4)
	for name, w := range map[string]*Weights{
		"too few":        {Values: make([]uint16, 15)},
		"unwanted bias":  {Values: make([]uint16, 16), Bias: make([]uint16, 4)},
		"unwanted table": {Values: make([]uint16, 16), Table: make([]byte, 128)},
	} {
		if _, err := k.Pack(w); err == nil {
			t.Errorf("%s: packed", name)
		}
	}
	k.Table = true
	w := &Weights{Values: make([]uint16, 16), Table: TanhTable().Encode()}
	streams, err := k.Pack(w)
	if err != nil {
		t.Fatal(err)
	}
	streams[2][0] = 1
	if _, err := k.Unpack(streams); err == nil {
		t.Error("engines with different tables were unpacked as one kernel")
	}
	if _, err := k.Unpack(streams[:3]); err == nil {
		t.Error("three streams were unpacked for four engines")
	}
}

// TestRuntimeKernel holds kernels made at run time to the same streams: the image
// of a matrix that an earlier task writes with the lanes as its interleave, or
// with one lane the matrix itself (h13 3.1, 3.3).
func TestRuntimeKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, c := range []struct{ rows, columns, lanes int }{{64, 64, 4}, {16, 64, 1}, {32, 96, 2}} {
		k := unitKernel(c.rows, c.columns, c.lanes, 16)
		w := randomWeights(rng, &k, 0)
		streams, err := k.Pack(w)
		if err != nil {
			t.Fatal(err)
		}
		var s Section
		s.Append(streams...)
		plane := 2 * c.lanes * c.columns
		for row := range c.rows {
			for column := range c.columns {
				at := row/c.lanes*plane + 2*(column*c.lanes+row%c.lanes)
				if got := binary.LittleEndian.Uint16(s.Data[at:]); got != w.Values[row*c.columns+column] {
					t.Fatalf("%+v: element %d,%d is not at %#x", c, row, column, at)
				}
			}
		}
	}
}

func TestKernelFormat(t *testing.T) {
	if v := KernelInt8.Float(0xff); v != -1 {
		t.Errorf("byte 0xff is %g", v)
	}
	if v := KernelFP16.Float(0xc000); v != -2 {
		t.Errorf("halfword 0xc000 is %g", v)
	}
}

func ExampleKernel_Locate() {
	// A linear layer of 64 to 64: four lanes on each of sixteen engines.
	k := Kernel{Groups: 1, Outputs: 64, Inputs: 64, Height: 1, Width: 1, StrideY: 1, StrideX: 1, Lanes: 4, Engines: 16, Format: KernelFP16}
	engine, offset, _ := k.Locate(9, 10, 0, 0)
	fmt.Printf("weight of output 9, input 10: stream %d, byte %d\n", engine, offset)
	// Output: weight of output 9, input 10: stream 2, byte 82
}
