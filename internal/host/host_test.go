package host_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// program has a function for each way in which values come and go.
const program = `program(1.3)
{
    func scale<ios18>(tensor<fp16, [4]> x) {
            tensor<fp16, [4]> w = const()[name = string("w"), val = tensor<fp16, [4]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(64)))];
            tensor<fp16, [4]> y = mul(x = x, y = w)[name = string("y")];
        } -> (y);
    func count<ios18>(state<tensor<fp16, [2]>> held, tensor<fp16, [2]> by) {
            tensor<fp16, [2]> before = read_state(input = held)[name = string("before")];
            tensor<fp16, [2]> sum = add(x = before, y = by)[name = string("sum")];
            write_state(data = sum, input = held)[name = string("write")];
        } -> (before);
    func positive<ios18>(tensor<fp16, [4]> x) {
            fp16 zero = const()[name = string("zero"), val = fp16(0x0p+0)];
            tensor<bool, [4]> p = greater(x = x, y = zero)[name = string("p")];
            tensor<int32, [?, 1]> places = non_zero(x = p)[name = string("places")];
        } -> (p, places);
    func many<ios18>(tensor<int32, [?, 1]> places) {
            tensor<int32, [2]> n = shape(x = places)[name = string("n")];
        } -> (n);
}
`

// weightFile is a weight file with one record.
func weightFile(t *tensor.Tensor) []byte {
	data := make([]byte, 128, 128+len(t.Bytes()))
	binary.LittleEndian.PutUint32(data, 1)
	binary.LittleEndian.PutUint32(data[4:], 2)
	binary.LittleEndian.PutUint32(data[64:], 0xdeadbeef)
	binary.LittleEndian.PutUint32(data[68:], 1) // fp16
	binary.LittleEndian.PutUint64(data[72:], uint64(len(t.Bytes())))
	binary.LittleEndian.PutUint64(data[80:], 128)
	return append(data, t.Bytes()...)
}

func halves(values ...float32) *tensor.Tensor {
	return tensor.FromFloat32s(tensor.Float16, values, len(values))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hosted makes a bundle whose function main is a run of host segments.
func hosted(t testing.TB, text string) *bundle.Bundle {
	t.Helper()
	types := map[string]e5.TensorDescriptor{"places": e5.Opaque()}
	for name, of := range map[string]*tensor.Tensor{
		"x": halves(0, 0, 0, 0), "y": halves(0, 0, 0, 0), "p": tensor.New(tensor.Bool, 4), "n": tensor.New(tensor.Int32, 2),
		"held": halves(0, 0), "by": halves(0, 0), "before": halves(0, 0),
	} {
		d, err := e5.Dense(of.DType(), of.Shape()...)
		check(t, err)
		types[name] = d
	}
	f := e5.NewFunction("main")
	m := bundle.Function{Name: "main"}
	feature := func(name string) (e5.IOPort, bundle.Feature) {
		d := types[name]
		shape, size, _ := d.Dense()
		return e5.IOPort{Name: name, ByteSize: uint64(size)}, bundle.Feature{Name: name, Kind: "array", Array: &bundle.Array{Shape: shape}}
	}
	for _, name := range []string{"x", "by", "held"} {
		port, described := feature(name)
		f.Inputs = append(f.Inputs, port)
		if name == "held" {
			described.Kind = "state"
			m.States = append(m.States, described)
			continue
		}
		m.Inputs = append(m.Inputs, described)
	}
	for _, name := range []string{"y", "p", "places", "n", "before"} {
		port, described := feature(name)
		f.Outputs, m.Outputs = append(f.Outputs, port), append(m.Outputs, described)
	}
	operands := func(names string) (list []e5.Operand) {
		for name := range strings.FieldsSeq(names) {
			list = append(list, e5.Operand{Symbol: name, Tensor: types[name]})
		}
		return list
	}
	for _, s := range [][3]string{{"scale", "x", "y"}, {"positive", "y", "p places"}, {"many", "places", "n"}, {"count", "held by", "held before"}} {
		op := f.Add(operands(s[1]), operands(s[2]), e5.CpuInferenceAttrs{Function: s[0]})
		m.Segments = append(m.Segments, bundle.Segment{Operation: op.Name, Backend: bundle.Host, Function: s[0]})
	}
	weights := weightFile(halves(1, 2, -3, 0.5))
	b, err := bundle.New(bundle.Manifest{
		Target: "virtual", Numerics: "virtual", Functions: []bundle.Function{m},
		Weights: []bundle.Weight{{Name: "@model_path/weights/w.bin", File: "weights/w.bin", Size: int64(len(weights))}},
	}, &e5.Program{Functions: []*e5.Function{f}}, nil, text, map[string][]byte{"weights/w.bin": weights})
	check(t, err)
	return b
}

// Values go through buffers, through the evaluator, and through a state, whether
// the bundle is in memory or on disk.
func TestHost(t *testing.T) {
	b := hosted(t, program)
	dir := filepath.Join(t.TempDir(), "net.bundle")
	_, err := bundle.Write(dir, b.Content())
	check(t, err)
	fromDisk, err := bundle.Open(dir)
	check(t, err)
	defer fromDisk.Close()
	for _, b := range []*bundle.Bundle{b, fromDisk} {
		h, _, err := host.FromBundle(b)
		check(t, err)
		lib, err := e5rt.Open(b, e5rt.Options{Host: h})
		check(t, err)
		f := lib.Functions()[0]
		o, s := f.NewOperation(), f.NewState()
		held, err := s.Tensor("held")
		check(t, err)
		address, _ := held.Memory()
		for k := range 3 {
			check(t, o.Set("x", halves(3, -2, -1, 2)))
			check(t, o.Set("by", halves(1, 0x1p-11)))
			check(t, o.Run(context.Background(), s))
			value := func(name string) *tensor.Tensor {
				v, err := o.Value(name)
				check(t, err)
				return v.(*tensor.Tensor)
			}
			if y := value("y"); y.DType() != tensor.Float16 || !slices.Equal(y.Float32s(), []float32{3, -4, 3, 1}) {
				t.Errorf("y is %v: %v", y, y.Float32s())
			}
			if p := value("p"); !slices.Equal(tensor.Data[bool](p), []bool{true, false, true, true}) {
				t.Errorf("p is %v: %v", p, p.Int64s())
			}
			if places := value("places"); !slices.Equal(places.Int64s(), []int64{0, 2, 3}) {
				t.Errorf("places is %v: %v", places, places.Int64s())
			}
			if n := value("n"); !slices.Equal(n.Int64s(), []int64{3, 1}) {
				t.Errorf("n is %v", n.Int64s())
			}
			if before := value("before").Float32s(); before[0] != float32(k) {
				t.Errorf("before run %d the state is %v", k, before)
			}
		}
		// As the evaluator alone has it: halves are rounded when they are stored.
		if got := held.Float32s(); !slices.Equal(got, []float32{3, 3 * 0x1p-11}) {
			t.Errorf("the state is %v", got)
		}
		if now, _ := held.Memory(); now != address {
			t.Error("the state has moved")
		}
	}
}

func TestFromBundleRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
		is   error
	}{
		{"program(1.3)\n{ nonsense }", "host.mil", nil},
		{strings.Replace(program, "mul(", "nonsense(", 1), "nonsense", nil},
		{strings.Replace(program, "func count", "func other", 1), `the host program has no function "count"`, e5rt.ErrNotFound},
		{strings.Replace(program, "state<tensor<fp16, [2]>>", "state<tensor<fp16, [?]>>", 1), "", nil},
		{strings.ReplaceAll(program, "tensor<fp16, [4]> x", "tensor<fp16, [5]> x"), "", nil},
	} {
		b := hosted(t, c.text)
		h, _, err := host.FromBundle(b)
		if err == nil {
			_, err = e5rt.Open(b, e5rt.Options{Host: h})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	// A weight file that is not there.
	b := hosted(t, strings.Replace(program, "weights/w.bin", "weights/v.bin", 1))
	h, _, err := host.FromBundle(b)
	if err == nil {
		lib, opened := e5rt.Open(b, e5rt.Options{Host: h})
		check(t, opened)
		f := lib.Functions()[0]
		err = f.NewOperation().Run(context.Background(), f.NewState())
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its weights: %v", err)
	}
	// No host program, no host.
	plain, err := bundle.New(bundle.Manifest{Numerics: "virtual"}, &e5.Program{}, nil, "", nil)
	check(t, err)
	if h, p, err := host.FromBundle(plain); h != nil || p != nil || err != nil {
		t.Errorf("got %v, %v, %v", h, p, err)
	}
}

// The host gives what the evaluator gives, bit for bit.
func TestSameAsEvaluator(t *testing.T) {
	text := `program(1.3)
{
    func f<ios18>(tensor<fp16, [8]> x, tensor<fp32, [8]> z) {
            tensor<fp16, [8]> y = exp(x = x)[name = string("y")];
            tensor<fp32, [8]> w = sin(x = z)[name = string("w")];
        } -> (y, w);
}
`
	p, err := mil.ParseText("f.mil", []byte(text), nil)
	check(t, err)
	h, err := host.New(p)
	check(t, err)
	f, err := h.Function("f")
	check(t, err)
	x, z := halves(0, 1, -2, 3, 5, -7, 0.1, 0.3), tensor.Of([]float32{0, 1, 2, 3, 4, 5, 6, 7}, 8)
	outputs := []e5rt.Value{tensor.New(tensor.Float16, 8), tensor.New(tensor.Float32, 8)}
	check(t, f.Run(context.Background(), []e5rt.Value{x, z}, outputs))
	eval, err := ops.NewEvaluator(p.Function("f"), ops.Virtual)
	check(t, err)
	want, err := eval.Run(context.Background(), map[string]ops.Value{"x": x, "z": z})
	check(t, err)
	for i, v := range want {
		w, err := v.(*tensor.Tensor).Convert(outputs[i].(*tensor.Tensor).DType())
		check(t, err)
		if !bytes.Equal(w.Bytes(), outputs[i].(*tensor.Tensor).Bytes()) {
			t.Errorf("output %d differs", i)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.Run(ctx, []e5rt.Value{x, z}, outputs); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := f.Run(context.Background(), []e5rt.Value{x, nil}, outputs); err == nil || !strings.Contains(err.Error(), `input "z" has no value`) {
		t.Errorf("got %v", err)
	}
}
