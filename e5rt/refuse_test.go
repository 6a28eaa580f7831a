package e5rt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What a descriptor says and cannot be run is refused by Open, which names the
// place.
func TestOpenRefuses(t *testing.T) {
	operation := func(m *maker, i int) *e5.Operation { return m.function.Operations()[i] }
	dense := func(d tensor.DType, shape ...int) e5.TensorDescriptor {
		typ, err := e5.Dense(d, shape...)
		check(t, err)
		return typ
	}
	for _, c := range []struct {
		name string
		make func() *maker
		want string
		is   error
	}{
		{"missing symbol", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 1).Inputs[0].Symbol = "nothing"
			return m
		}, "function main: Op1_AneInference: nothing: it is read, and no operation before has written it", nil},
		{"symbol without a name", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 1).Inputs[0].Symbol = ""
			return m
		}, "the symbol has no name", nil},
		{"read too early", func() *maker {
			m := bracketed(t, tensor.Float32)
			ops := m.function.Blocks[0].Operations
			ops[0], ops[2] = ops[2], ops[0]
			return m
		}, "y__engine: it is read, and no operation before has written it", nil},
		{"written twice", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.cast("y__engine", "y")
			return m
		}, "Op3_Cast: y: it is written a second time", nil},
		{"input written", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.cast("y__engine", "x")
			return m
		}, "x: it is written a second time", nil},
		{"two types", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 2).Inputs[0].Tensor = dense(tensor.Float16, 7)
			return m
		}, "y__engine: it is float16[7] here, and was float16[6] before", nil},
		{"gaps", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 0).Inputs[0].Tensor.Stride[0] = 64
			return m
		}, "x: a port of 24 bytes for float32[2, 3] with strides [64 4] in 128 bytes, which has 128", nil},
		{"overlap", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 0).Inputs[0].Tensor.Stride[0] = 4
			return m
		}, "x: its elements cannot lie so: extents [2 3], strides [4 4] of float32", nil},
		{"within elements", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 0).Inputs[0].Tensor.Stride[0] = 14
			return m
		}, "x: its elements cannot lie so: extents [2 3], strides [14 4] of float32", nil},
		{"port size", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.function.Inputs[0].ByteSize = 1 << 40
			return m
		}, "x: a port of 1099511627776 bytes for float32[2, 3], which has 24", nil},
		{"huge unused port", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.function.Inputs = append(m.function.Inputs, e5.IOPort{Name: "unused", ByteSize: 1 << 40})
			return m
		}, "unused: a port of 1099511627776 bytes; want 4294967296 or less", nil},
		{"huge value", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.value("huge", tensor.UInt8, 1<<40)
			m.inputs("huge")
			m.value("more", tensor.UInt8, 1<<40)
			m.cast("huge", "more")
			return m
		}, "huge: 1099511627776 bytes; want 4294967296 or less for all buffers", nil},
		{"input twice", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.function.Inputs = append(m.function.Inputs, m.function.Inputs[0])
			return m
		}, "x: there are two inputs of the name", nil},
		{"output twice", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.function.Outputs = append(m.function.Outputs, m.function.Outputs[0])
			return m
		}, "y: there are two outputs of the name", nil},
		{"output of nothing", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.function.Outputs = append(m.function.Outputs, e5.IOPort{Name: "z"})
			return m
		}, "z: no operation writes the output", nil},
		{"state of nothing", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.manifest.Functions[0].States = []bundle.Feature{{Name: "s", Kind: "state", Array: &bundle.Array{}}}
			return m
		}, "s: the manifest has a state of the name, and the descriptor no input", nil},
		{"cast of two", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 0).Inputs = append(operation(m, 0).Inputs, operation(m, 0).Inputs[0])
			return m
		}, "a cast of 2 operands to 1", nil},
		{"cast of another type", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 0).Attrs = e5.CastAttrs{Source: e5.Int8, Destination: e5.Float16}
			return m
		}, "Op0_Cast: a cast from int8 to float16 of float32[2, 3] to float16[2, 3]", nil},
		{"cast of other elements", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.value("long", tensor.Float32, 7)
			m.cast("y", "long")
			return m
		}, "a cast of float32[2, 3] to float32[7]", nil},
		{"cast of small elements", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.value("small", tensor.Int4, 6)
			m.cast("y", "small")
			return m
		}, "Op3_Cast: a cast from fp32 to int4", nil},
		{"cast of a value of the host", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.types["text"] = e5.Opaque()
			m.cast("y", "text")
			return m
		}, "a cast of a value without a layout", nil},
		{"cast of a state", func() *maker {
			m := cache(t)
			m.value("copy", tensor.Float16, 1, cacheRows, cacheWidth)
			m.cast("cache", "copy")
			return m
		}, "a state is not cast", nil},
		{"container's size", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.containers[bundle.ContainerPath(0)] = linear(t, "x__engine", "y__engine", 5, 2, 1)
			return m
		}, "x__engine: fp16 of [1 1 1 5] with strides [10 10 10 2] in the container, and float16[2, 3] here", nil},
		{"container's type", func() *maker {
			m := bracketed(t, tensor.Float32)
			dims := [td.NumAxes]int{1, 1, 1, 1, 6}
			m.containers[bundle.ContainerPath(0)] = container(t, 0,
				[]hwx.PortSpec{port("x__engine", hwx.In, tensor.BFloat16, 1, 1, 1, 6), port("y__engine", hwx.Out, tensor.Float16, 1, 1, 1, 6)},
				&td.Op{Params: &td.Copy{}, Operands: []td.Operand{td.Dense(base(1), 0, tensor.Float16, dims), td.Dense(base(0), 0, tensor.BFloat16, dims)}})
			return m
		}, "x__engine: elements of type bf16, and float16 in the descriptor", nil},
		{"container's strides", func() *maker {
			m := bracketed(t, tensor.Float32)
			dims := [td.NumAxes]int{1, 1, 1, 1, 3}
			x := port("x__engine", hwx.In, tensor.Float16, 1, 1, 2, 3)
			x.Strides = [4]uint64{128, 128, 4, 2} // rows overlap
			m.containers[bundle.ContainerPath(0)] = container(t, 0,
				[]hwx.PortSpec{x, port("y__engine", hwx.Out, tensor.Float16, 1, 1, 2, 3)},
				&td.Op{Params: &td.Copy{}, Operands: []td.Operand{td.Dense(base(1), 0, tensor.Float16, dims), td.Dense(base(0), 0, tensor.Float16, dims)}})
			return m
		}, "with strides [128 128 4 2] in the container", nil},
		{"container's port", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 1).Inputs = nil
			return m
		}, `0 inputs and 1 outputs: none for the input port "x__engine" of the container`, nil},
		{"container's direction", func() *maker {
			m := bracketed(t, tensor.Float32)
			dims := [td.NumAxes]int{1, 1, 1, 1, 6}
			m.containers[bundle.ContainerPath(0)] = container(t, 0,
				[]hwx.PortSpec{port("x__engine", hwx.In, tensor.Float16, 1, 1, 1, 6), port("y__engine", hwx.InOut, tensor.Float16, 1, 1, 1, 6)},
				&td.Op{Params: &td.Copy{}, Operands: []td.Operand{td.Dense(base(1), 0, tensor.Float16, dims), td.Dense(base(0), 0, tensor.Float16, dims)}})
			return m
		}, `1 inputs and 1 outputs: none for the state port "y__engine" of the container`, nil},
		{"no port", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 1).Inputs = append(operation(m, 1).Inputs, m.operands([]string{"x"})...)
			return m
		}, "x: the container has no port for it", nil},
		{"no state", func() *maker {
			m := cache(t)
			f := &m.manifest.Functions[0]
			f.Inputs, f.States = append(f.Inputs, f.States...), nil
			return m
		}, "cache: it is written a second time", nil},
		{"procedure", func() *maker {
			m := bracketed(t, tensor.Float32)
			operation(m, 1).Attrs = e5.AneInferenceAttrs{ProcedureName: "other", ProgramSymbol: bundle.ContainerPath(0)}
			m.manifest.Functions[0].Segments[0].Procedure = "other"
			return m
		}, `segments/0.hwx: its procedure is "net", and "other" is asked for`, nil},
		{"numerics", func() *maker {
			m := bracketed(t, tensor.Float32)
			m.manifest.Numerics = "h99"
			return m
		}, "h99", nil},
		{"host missing", func() *maker { return mixed(t, "join") }, "Op1_CpuInference: the bundle has host segments, and there is no host", e5rt.ErrNoHost},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := e5rt.Open(c.make().bundle(), e5rt.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if at, ok := errors.AsType[*e5rt.Error](err); c.name != "numerics" && (!ok || at.Function != "main") {
				t.Errorf("error %v is of type %T", err, err)
			}
		})
	}
}

// Operands of a host segment are held to what the host says.
func TestOpenRefusesHost(t *testing.T) {
	x := known("x", tensor.Float16, 6)
	for want, f := range map[string]*function{
		"no function join": nil,
		"1 inputs, and the function join of the host has 2":                        {inputs: []e5rt.HostType{x, x}, outputs: []e5rt.HostType{{Name: "text"}}},
		"1 outputs, and the function join of the host has 0":                       {inputs: []e5rt.HostType{x}},
		"doubled: float16[6] instead of fp16[7], for x of the host's function":     {inputs: []e5rt.HostType{known("x", tensor.Float16, 7)}, outputs: []e5rt.HostType{{}}},
		"doubled: elements of type fp32, and float16 in the descriptor":            {inputs: []e5rt.HostType{known("x", tensor.Float32, 6)}, outputs: []e5rt.HostType{{}}},
		"doubled: elements of type string":                                         {inputs: []e5rt.HostType{known("x", tensor.String, 6)}, outputs: []e5rt.HostType{{}}},
		"doubled: float16[6] instead of a value without a layout":                  {inputs: []e5rt.HostType{{Name: "x"}}, outputs: []e5rt.HostType{{}}},
		"doubled: one is a state, the other is none, for x of the host's function": {inputs: []e5rt.HostType{{Name: "x", State: true, Type: tensor.Float16}}, outputs: []e5rt.HostType{{}}},
	} {
		host := functions{"long": texts["long"]}
		if f != nil {
			host["join"] = f
		}
		_, err := e5rt.Open(mixed(t, "join").bundle(), e5rt.Options{Host: host})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
