package td

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// TestStridedSections rebuilds the constant sections of recorded convolutions
// with stride 2, to the recorded SHA-256. Weights and biases both begin at byte 0
// of the weight file (oracles 1).
func TestStridedSections(t *testing.T) {
	for _, c := range []struct {
		record          string
		channels        int
		groups, kernel  int
		lanes           int
		bias, depthwise bool
		hash            string
	}{ // all of them small
		{"conv_probe_k3_c64_n64_s16_st2_g1_bias1_same", 64, 1, 3, 4, true, false, "4c1355b2df33593c"},
		{"conv_probe_k3_c64_n64_s16_st2_g4_bias1_same", 64, 4, 3, 1, true, false, "d2d3a75e866ade94"},
		{"conv_probe_k3_c128_n128_s16_st2_g4_bias0_same", 128, 4, 3, 2, false, false, "668493a0a5eb1e9e"},
		{"conv_probe_k3_c64_n64_s16_st2_g64_bias0_same", 64, 1, 3, 1, false, true, "72c39c85606d3d74"},
		{"conv_probe_k3_c128_n128_s16_st2_g128_bias1_same", 128, 1, 3, 1, true, true, "866b429756051842"},
	} {
		k := Kernel{
			Groups: c.groups, Outputs: c.channels / c.groups, Inputs: c.channels / c.groups,
			Height: c.kernel, Width: c.kernel, StrideY: 2, StrideX: 2,
			Lanes: c.lanes, Engines: 16, Format: KernelFP16, Bias: c.bias, ZeroSkip: true, Small: true,
		}
		if c.depthwise {
			k.Inputs = 1
		}
		file := blobFile(2 * k.Values())
		first := func(n int) []uint16 {
			values := make([]uint16, n)
			for i := range values {
				values[i] = binary.LittleEndian.Uint16(file[2*i:])
			}
			return values
		}
		w := &Weights{Values: first(k.Values())}
		if c.bias {
			w.Bias = first(c.channels)
		}
		streams, err := k.Pack(w)
		if err != nil {
			t.Fatal(err)
		}
		if got := sum(bytes.Join(streams, nil))[:16]; got != c.hash {
			t.Errorf("%s: hash %s, want %s", c.record, got, c.hash)
		}
	}
}

// TestZeroSkipWide rebuilds the section of encoder_conv_c16_n16_k9x9_s1_g16_bias0_same.
// A kernel of nine columns is stored for two columns of the result, one beside the
// other as lanes: stride 2, and each tap with its left neighbour.
func TestZeroSkipWide(t *testing.T) {
	const channels, size, weight = 16, 9, 0x3400
	k := Kernel{
		Groups: 1, Outputs: 2 * channels, Inputs: 1, Height: size, Width: size + 1, StrideY: 1, StrideX: 2,
		Lanes: 2, Engines: 16, Format: KernelFP16, ZeroSkip: true,
	}
	w := &Weights{}
	for o := range k.Outputs {
		for range size {
			for x := range size + 1 {
				v := uint16(weight)
				if x == size-o%2*size { // the last of the first column, the first of the second
					v = 0
				}
				w.Values = append(w.Values, v)
			}
		}
	}
	streams, err := k.Pack(w)
	if err != nil {
		t.Fatal(err)
	}
	if got := sum(bytes.Join(streams, nil))[:16]; got != "134cf6291b7ce326" {
		t.Errorf("hash %s", got)
	}
}

// TestZeroSkipLarge rebuilds the section of
// encoder_conv_c256_n256_k3x3_s2_g256_bias1_same, whose images are not small. Its
// bias is one for all outputs, and not in the streams.
func TestZeroSkipLarge(t *testing.T) {
	k := Kernel{
		Groups: 1, Outputs: 256, Inputs: 1, Height: 3, Width: 3, StrideY: 2, StrideX: 2,
		Lanes: 1, Engines: 16, Format: KernelFP16, ZeroSkip: true,
	}
	w := &Weights{Values: make([]uint16, k.Values())}
	for i := range w.Values {
		w.Values[i] = 0x3400
	}
	streams, err := k.Pack(w)
	if err != nil {
		t.Fatal(err)
	}
	if got := sum(bytes.Join(streams, nil))[:16]; got != "77c6bdeef12b0e13" {
		t.Errorf("hash %s", got)
	}
}

// TestZeroSkipLanes has fewer lanes than a tap has slots: the others are empty.
func TestZeroSkipLanes(t *testing.T) {
	k := Kernel{
		Groups: 1, Outputs: 1, Inputs: 1, Height: 1, Width: 2, StrideY: 2, StrideX: 2,
		Lanes: 1, Engines: 1, Format: KernelFP16, ZeroSkip: true, Small: true,
	}
	streams, err := k.Pack(&Weights{Values: []uint16{0x0101, 0x0202}})
	if err != nil {
		t.Fatal(err)
	}
	want := []byte{6, 0, 0, 0b0001_0001, 1, 1, 2, 2, 0}
	if got := streams[0][:len(want)]; !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	streams[0][3] |= 2
	if _, err := k.Unpack(streams); err == nil {
		t.Error("a weight outside the lanes was unpacked")
	}
}
