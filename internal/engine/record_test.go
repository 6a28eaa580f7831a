package engine_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A record is what Apple's compiler emitted for a small MIL program: the
// register words of the tasks, the shapes of the ports, and of the constants
// the size and a hash.
type record struct {
	Case    string
	MIL     string
	Program *struct {
		Text      testkit.HexWord   `json:"text_address"`
		Resources []testkit.HexWord `json:"resource_addresses"`
	} `json:"program_descriptor"`
	Constants struct{ Size int } `json:"constant_section"`
	Tensors   []struct {
		Binding int
		Element hwx.Element `json:"element_code"`
		Shape   [4]uint32
		Strides [4]uint64
	} `json:"tensor_descriptors"`
	Tasks []struct {
		Header  []testkit.HexWord `json:"header_words"`
		Records []struct {
			Address testkit.HexWord
			Count   int
		}
		Blocks map[string]struct {
			Words map[testkit.HexWord]testkit.HexWord
		}
	} `json:"task_descriptors"`
}

// records reads the H13 records that have tasks.
func records(t testing.TB) []*record {
	t.Helper()
	return testkit.Records(t, "h13", func(r *record) bool { return len(r.Tasks) > 0 })
}

// tasks are the tasks of the record, word for word.
func (r *record) tasks(t testing.TB) []*td.Task {
	t.Helper()
	var list []*td.Task
	for _, from := range r.Tasks {
		task := &td.Task{Version: td.V7}
		for _, w := range from.Header {
			task.Header = append(task.Header, uint32(w))
		}
		words := make(map[testkit.HexWord]testkit.HexWord)
		for _, b := range from.Blocks {
			for addr, w := range b.Words {
				words[addr] = w
			}
		}
		for _, rec := range from.Records {
			run := td.Record{Addr: uint32(rec.Address)}
			for i := range rec.Count {
				w, ok := words[rec.Address+testkit.HexWord(4*i)]
				if !ok {
					t.Fatalf("%s: no word for register %#x", r.Case, rec.Address+testkit.HexWord(4*i))
				}
				run.Words = append(run.Words, uint32(w))
			}
			task.Records = append(task.Records, run)
		}
		list = append(list, task)
	}
	return list
}

// A rebuilt record is a program that runs: the record's tasks, and constants
// made by us, for the record has but their hash.
type rebuilt struct {
	file   *hwx.File
	main   *mil.Function
	inputs []string // names of the input ports, which are those of MIL
	output string
}

// rebuild makes a container of a record. Ports stand in the base-address table
// as the tasks use them; inputs come in the order of their names.
func (r *record) rebuild(t testing.TB) *rebuilt {
	t.Helper()
	program, err := mil.ParseText(r.Case, []byte(r.MIL), blobs{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ops.Verify(program); err != nil {
		t.Fatal(err)
	}
	b := &rebuilt{main: program.Functions[0]}
	for _, in := range b.main.Inputs {
		b.inputs = append(b.inputs, in.Name)
	}
	slices.Sort(b.inputs)
	b.output = b.main.Body.Outputs[0].Name

	tasks := r.tasks(t)
	written := make(map[uint32]bool) // base-address entries that are written
	for _, task := range tasks {
		base, _ := task.Get(td.V7WriteBase)
		if on, _ := task.Word(0x17800); on&1 != 0 {
			written[base] = true
		}
	}
	spec := hwx.Spec{
		Form: hwx.Form2026, Constants: r.constants(t, b.main, tasks),
		Scratch: uint64(r.Program.Resources[0] - 0x30000000),
	}
	if err := spec.SetTasks(tasks); err != nil {
		t.Fatal(err)
	}
	inputs := slices.Clone(b.inputs)
	for _, tensor := range r.Tensors {
		p := hwx.PortSpec{Name: b.output, Direction: hwx.Out, Element: tensor.Element, Shape: tensor.Shape, Strides: tensor.Strides}
		if tensor.Binding == 1 {
			p.Name, p.Direction, inputs = inputs[0], hwx.In, inputs[1:]
		}
		spec.Ports = append(spec.Ports, p)
	}
	// The output is the entry that is written, the inputs are the others.
	next := 0
	for i, addr := range r.Program.Resources {
		switch {
		case addr == 0:
		case written[uint32(hwx.BasePorts+i)]:
			spec.Windows = append(spec.Windows, len(spec.Ports)-1)
		default:
			spec.Windows = append(spec.Windows, next)
			next++
		}
	}
	if b.file, err = hwx.Build(spec); err != nil {
		t.Fatal(err)
	}
	return b
}

// blobs makes up the arrays of weight files: random numbers that depend on
// where an array is said to be, and on its shape.
type blobs struct{}

func (blobs) Bytes(path string) ([]byte, error) { return nil, fmt.Errorf("%s: there is no file", path) }

func (blobs) Load(path string, offset uint64, typ *mil.TensorType) (*tensor.Tensor, error) {
	shape, ok := typ.Shape.Ints()
	if !ok {
		return nil, fmt.Errorf("%s: unknown shape", path)
	}
	h := fnv.New64()
	fmt.Fprint(h, path, offset, shape)
	r := newRand(h.Sum64())
	n, _ := tensor.Count(shape)
	values := make([]float32, n)
	for i := range values {
		values[i] = tensor.RoundF16(float32(r.NormFloat64()) / 8)
		if n >= 1<<12 && i < 64 {
			// Apple's array has zeros there, and the size of a recorded
			// zero-skipping stream counts on them.
			values[i] = 0
		}
	}
	return tensor.FromFloat32s(typ.DType, values, shape...), nil
}

// constants makes the constant section that the tasks expect: kernel streams
// with the weights of the MIL program, tables, and constants of a channel.
func (r *record) constants(t testing.TB, main *mil.Function, tasks []*td.Task) []byte {
	t.Helper()
	section := make([]byte, r.Constants.Size)
	weights := weightsOf(t, main)
	tables := tablesOf(t, main)
	registers := td.NewRegisters(td.LayoutOf(td.V7))
	for i, task := range tasks {
		registers.Apply(task)
		if base, _ := task.Get(td.V7Read0Base); base == hwx.BaseConst && registers.Value(td.V7SourceConfig.Type) != 0 {
			// The two rows of a constant of each channel.
			c := int(registers.Value(td.V7Win))
			offset, gain := perChannel(t, main, c)
			putHalves(section, append(offset, gain...))
		}
		k, ok, err := td.KernelOf(registers)
		if err != nil {
			t.Fatalf("%s: task %d: %v", r.Case, i, err)
		}
		if !ok || registers.Value(td.V7NERuntimeKernel) != 0 {
			continue
		}
		w := new(td.Weights)
		switch {
		case k.Format == td.KernelInt8: // of a comparison: x less y
			for range k.Outputs {
				w.Values = append(w.Values, 1, 0xff)
			}
		case k.Values() > 0:
			if len(weights) == 0 || len(weights[0].values) != k.Values() {
				t.Fatalf("%s: task %d: no weights for a kernel of %d", r.Case, i, k.Values())
			}
			w.Values, weights = weights[0].values, weights[1:]
		}
		if k.Bias {
			w.Bias, weights = weights[0].values, weights[1:]
		}
		if k.Table {
			if len(tables) == 0 {
				t.Fatalf("%s: task %d: no table", r.Case, i)
			}
			w.Table, tables = tables[0].Encode(), tables[1:]
		}
		streams, err := k.Pack(w)
		if err != nil {
			t.Fatalf("%s: task %d: %v", r.Case, i, err)
		}
		for e, s := range streams {
			channel := &td.V7KernelChannel[e]
			if len(s) > int(registers.Value(channel.Size)) {
				t.Fatalf("%s: task %d: the stream of engine %d has %#x bytes, the record %#x", r.Case, i, e, len(s), registers.Value(channel.Size))
			}
			copy(section[registers.Value(channel.Offset):], s)
		}
	}
	return section
}

func putHalves(b []byte, halves []uint16) {
	for i, h := range halves {
		binary.LittleEndian.PutUint16(b[2*i:], h)
	}
}

// A blob is a constant of the program that came from a weight file.
type blob struct {
	name   string
	values []uint16
}

// weightsOf lists the constants from weight files, in the order of the program.
func weightsOf(t testing.TB, main *mil.Function) []blob {
	t.Helper()
	var list []blob
	for _, op := range main.Body.Operations {
		if op.Kind != "const" {
			continue
		}
		val := op.Attributes.Get("val")
		if val == nil || val.File == nil {
			continue
		}
		x, err := val.Load()
		if err != nil {
			t.Fatal(err)
		}
		b := blob{name: op.Outputs[0].Name}
		for _, v := range x.Float32s() {
			b.values = append(b.values, tensor.ToF16(v))
		}
		list = append(list, b)
	}
	return list
}

// perChannel returns the offsets and gains for x + z or x * z.
func perChannel(t testing.TB, main *mil.Function, channels int) (offset, gain []uint16) {
	t.Helper()
	z := weightsOf(t, main)
	if len(z) != 1 || len(z[0].values) != channels {
		t.Fatalf("no constant of %d channels", channels)
	}
	offset, gain = make([]uint16, channels), make([]uint16, channels)
	for _, op := range main.Body.Operations {
		switch op.Kind {
		case "add":
			for i := range gain {
				gain[i] = 0x3c00
			}
			return z[0].values, gain
		case "mul":
			return offset, z[0].values
		}
	}
	t.Fatal("neither add nor mul")
	return nil, nil
}

// tablesOf lists the tables that the operations need, in the order of the
// tasks.
func tablesOf(t testing.TB, main *mil.Function) []*td.Table {
	t.Helper()
	scalar := func(op *mil.Operation, param string) uint16 {
		for _, in := range op.Inputs {
			if in.Param == param {
				c := in.Args[0].Const
				if v := in.Args[0].Value; v != nil {
					c = v.Const()
				}
				x, err := c.Load()
				if err != nil {
					t.Fatal(err)
				}
				return tensor.ToF16(x.Float32s()[0])
			}
		}
		t.Fatalf("%s has no %s", op.Kind, param)
		return 0
	}
	var list []*td.Table
	for _, op := range main.Body.Operations {
		switch op.Kind {
		case "sigmoid":
			list = append(list, td.SigmoidTable())
		case "tanh":
			list = append(list, td.TanhTable())
		case "gelu":
			list = append(list, td.GELUTable())
		case "exp", "softmax":
			list = append(list, td.Exp2Table())
		case "rsqrt":
			list = append(list, td.RSqrtTable())
		case "real_div":
			list = append(list, td.ReciprocalTable())
		case "leaky_relu":
			list = append(list, td.LeakyReLUTable(scalar(op, "alpha")))
		case "pow":
			list = append(list, td.Log2Table(), td.Exp2Table())
		case "floor":
			list = append(list, td.FractionTable(), td.LessThanZeroTable(), td.IntegerTable())
		case "less":
			list = append(list, td.LessThanZeroTable())
		case "maximum", "minimum":
			switch {
			case len(main.Inputs) == 2: // computed by the planar engine
			case op.Kind == "maximum":
				list = append(list, td.MaxTable(scalar(op, "y")))
			default:
				list = append(list, td.MinTable(scalar(op, "y")))
			}
		}
	}
	return list
}

// isLarge reports whether one run takes long.
func (b *rebuilt) isLarge() bool {
	n, _ := b.main.Inputs[0].Type.(*mil.TensorType).Shape.Count()
	return n > 1<<16
}

// inputValues makes random inputs of both signs, away from where an operation
// has no answer.
func (b *rebuilt) inputValues(r *rand.Rand) map[string][]float32 {
	kinds := make(map[string]bool)
	for _, op := range b.main.Body.Operations {
		kinds[op.Kind] = true
	}
	values := make(map[string][]float32)
	for _, in := range b.main.Inputs {
		typ := in.Type.(*mil.TensorType)
		n, _ := typ.Shape.Count()
		x := make([]float32, n)
		for i := range x {
			v := tensor.RoundF16(float32(r.NormFloat64()))
			switch {
			case typ.DType == tensor.Bool:
				v = float32(r.IntN(2))
			case kinds["rsqrt"]:
				v = tensor.RoundF16(max(v, -v, 0x1p-24) * float32(int(1)<<r.IntN(12)) / 1024)
			case kinds["real_div"] && in.Name == "z":
				v = tensor.RoundF16(float32(1-2*r.IntN(2)) * (0.1 + 4*r.Float32()))
			case kinds["pow"] && in.Name == "x":
				v = tensor.RoundF16(0.1 + 4*r.Float32())
			case kinds["floor"]:
				v = tensor.RoundF16(8 * v)
			case kinds["layer_norm"]:
				v = tensor.RoundF16(v + 1.5) // so that the mean matters
			}
			x[i] = v
		}
		values[in.Name] = x
	}
	return values
}

// evaluate computes what the MIL program says.
func (b *rebuilt) evaluate(t testing.TB, values map[string][]float32) []float32 {
	t.Helper()
	ev, err := ops.NewEvaluator(b.main, ops.FP32)
	if err != nil {
		t.Fatal(err)
	}
	inputs := make(map[string]ops.Value)
	for _, in := range b.main.Inputs {
		typ := in.Type.(*mil.TensorType)
		shape, _ := typ.Shape.Ints()
		if typ.DType == tensor.Bool {
			bools := make([]bool, len(values[in.Name]))
			for i, v := range values[in.Name] {
				bools[i] = v != 0
			}
			inputs[in.Name] = tensor.Of(bools, shape...)
			continue
		}
		inputs[in.Name] = tensor.FromFloat32s(tensor.Float32, values[in.Name], shape...)
	}
	out, err := ev.Run(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	return out[0].(*tensor.Tensor).Float32s()
}
