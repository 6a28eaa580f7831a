package td

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// These tests rebuild the constant sections of the recorded programs from their
// registers and their weights, to the recorded SHA-256 (oracles 1 and 5).

// blobFile is the weight file behind the records (oracles 1): it was malformed
// on purpose, so that the compiler read its constants from byte 0, header and
// all.
func blobFile(payload int) []byte {
	b := make([]byte, 128, 128+payload)
	binary.LittleEndian.PutUint32(b[0:], 1)
	binary.LittleEndian.PutUint32(b[4:], 2)
	binary.LittleEndian.PutUint32(b[64:], 0xdeadbeef)
	binary.LittleEndian.PutUint64(b[68:], uint64(payload))
	binary.LittleEndian.PutUint64(b[76:], 128)
	for range payload / 2 {
		b = binary.LittleEndian.AppendUint16(b, 0x3800)
	}
	return b
}

// constant returns the values of constant i of a record.
func (r *record) constant(i int) []uint16 {
	shape := r.Weights.Shape
	if len(r.Weights.Shapes) > 0 {
		shape = r.Weights.Shapes[i]
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	values := make([]uint16, n)
	blob := blobFile(r.Weights.Payload)
	for j := range values {
		if len(r.Weights.Offsets) > 0 { // a chain: one value per constant
			values[j] = 0x3400 + uint16(i)
		} else {
			values[j] = binary.LittleEndian.Uint16(blob[2*j:])
		}
	}
	return values
}

// tablesOf are the activation tables of a record, in the order of its tasks.
func tablesOf(r *record) []*Table {
	half := uint16(0x3800)
	for _, c := range []struct {
		prefix string
		tables []*Table
	}{
		{"binary_maximum_", []*Table{MaxTable(half)}},
		{"binary_minimum_", []*Table{MinTable(half)}},
		{"binary_pow_", []*Table{Log2Table(), Exp2Table()}},
		{"binary_real_div_", []*Table{ReciprocalTable()}},
		{"chain_attn_", []*Table{Exp2Table()}},
		{"floor_", []*Table{FractionTable(), LessThanZeroTable(), IntegerTable()}},
		{"less_", []*Table{LessThanZeroTable()}},
		{"softmax_", []*Table{Exp2Table()}},
		{"unary_exp_", []*Table{Exp2Table()}},
		{"unary_leaky_relu_", []*Table{LeakyReLUTable(0x3000)}},
		{"unary_rsqrt_", []*Table{RSqrtTable()}},
		{"unary_sigmoid_", []*Table{SigmoidTable()}},
		{"unary_tanh_", []*Table{TanhTable()}},
	} {
		if strings.HasPrefix(r.Case, c.prefix) {
			return c.tables
		}
	}
	if strings.Contains(r.MIL, "gelu(") {
		return []*Table{GELUTable()}
	}
	return nil
}

// rebuild makes the constant section of an H13 record.
func rebuild(t *testing.T, r *record) ([]byte, error) {
	section := make([]byte, r.Constants.Size)
	if data := perChannel(r); data != nil {
		copy(section, data)
		return section, nil
	}
	tables := tablesOf(r)
	constant := 0
	regs := NewRegisters(v7)
	for i, task := range r.tasks(t) {
		regs.Apply(task)
		k, ok, err := KernelOf(regs)
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
		if !ok || regs.Value(V7NERuntimeKernel) != 0 {
			continue
		}
		var w Weights
		if k.Table {
			w.Table, tables = tables[0].Encode(), tables[1:]
		}
		switch {
		case k.Format == KernelInt8: // less: x - y of neighbouring channels
			for range k.Outputs {
				w.Values = append(w.Values, 0x01, 0xff)
			}
		case k.Inputs > 0:
			w.Values = r.constant(constant)
			constant++
			if k.Bias {
				w.Bias = r.constant(constant)
				constant++
			}
		}
		streams, err := k.Pack(&w)
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
		for e, stream := range streams {
			c := &V7KernelChannel[e]
			offset, size := int(regs.Value(c.Offset)), int(regs.Value(c.Size))
			if on := regs.Value(c.Config.Enable) != 0; on != (len(stream) > 0) || on && size != len(stream) {
				return nil, fmt.Errorf("task %d: stream %d has %d bytes, the registers say %#x (enable %t)", i, e, len(stream), size, on)
			}
			if len(stream) > 0 {
				if offset+size > len(section) {
					return nil, fmt.Errorf("task %d: stream %d leaves the section", i, e)
				}
				copy(section[offset:], stream)
			}
		}
	}
	return section, nil
}

// perChannel is the section of an operation with a constant per channel (h13
// 3.4): offsets, then gains.
func perChannel(r *record) []byte {
	if !strings.Contains(r.Case, "constant_blob") && !strings.Contains(r.Case, "_blob_") {
		return nil
	}
	var b []byte
	put := func(values []uint16) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	}
	fill := func(n int, v uint16) {
		for range n {
			put([]uint16{v})
		}
	}
	c := r.constant(0)
	if strings.Contains(r.Case, "_mul_") {
		fill(len(c), 0)
		put(c)
	} else {
		put(c)
		fill(len(c), fp16One)
	}
	return b
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func TestRecordedSections(t *testing.T) {
	same, empty, all := 0, 0, 0
	for _, r := range records(t, "h13") {
		if r.Constants == nil {
			continue
		}
		all++
		if sum(make([]byte, 0x4000)) == r.Constants.SHA256 {
			empty++
			continue
		}
		section, err := rebuild(t, r)
		switch {
		case err != nil:
			t.Errorf("%s: %v", r.Case, err)
		case sum(section) != r.Constants.SHA256:
			t.Errorf("%s: the section of %d bytes has another hash", r.Case, len(section))
		default:
			same++
		}
	}
	t.Logf("%d sections: %d rebuilt to the recorded SHA-256, %d of zeros, %d not", all, same, empty, all-same-empty)
}

// TestH14Sections rebuilds those sections of H14 that follow the same rules. Its
// registers are another version: the shapes stand here. Its stride-2 streams are
// not known.
func TestH14Sections(t *testing.T) {
	linear := func(outputs, inputs, lanes int) Kernel {
		return Kernel{Groups: 1, Outputs: outputs, Inputs: inputs, Height: 1, Width: 1, StrideY: 1, StrideX: 1, Lanes: lanes, Engines: 16, Format: KernelFP16}
	}
	withTable := linear(256, 256, 16)
	withTable.Table = true
	depthwise := linear(64, 1, 1)
	depthwise.Height, depthwise.Width = 3, 3

	shapes := map[string]Kernel{
		"chain_base_matmul_d256_s64":            linear(256, 256, 16),
		"chain_pair_mm_gelu_d256_s64":           withTable,
		"env_conv_k1_c64_n64_s16_st1_g1_bias0":  linear(64, 64, 4),
		"env_conv_k3_c64_n64_s16_st1_g64_bias0": depthwise,
	}
	bare := map[string]*Table{
		"binary_real_div_1x64x1x1":    ReciprocalTable(),
		"env_act_gelu_1x64x8x8_exact": GELUTable(),
		"unary_sigmoid_c64":           SigmoidTable(),
	}
	same := 0
	for _, r := range records(t, "h14") {
		var section Section
		if table := bare[r.Case]; table != nil {
			section.Append(table.Encode())
		} else if k, ok := shapes[r.Case]; ok {
			w := Weights{Values: r.constant(0)}
			if k.Table {
				w.Table = GELUTable().Encode()
			}
			streams, err := k.Pack(&w)
			if err != nil {
				t.Fatalf("%s: %v", r.Case, err)
			}
			section.Append(streams...)
		} else {
			continue
		}
		if sum(section.Data) != r.Constants.SHA256 {
			t.Errorf("%s: the section of %d bytes has another hash", r.Case, len(section.Data))
			continue
		}
		same++
	}
	if want := len(shapes) + len(bare); same != want {
		t.Errorf("%d of %d sections rebuilt", same, want)
	}
}
