package td

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func dense(d tensor.DType, dims ...int) Operand {
	return Dense(4, 0x40, d, [NumAxes]int(dims))
}

// samples has an operation of every class.
func samples() []*Op {
	const f16 = tensor.Float16
	window := Window{
		Kernel: [3]int{1, 3, 5}, Stride: [3]int{1, 2, 1}, Dilation: [3]int{1, 1, 2},
		PadBefore: [3]int{0, 1, 4}, PadAfter: [3]int{0, 0, 4},
	}
	interleaved := dense(f16, 2, 1, 8, 7, 9)
	interleaved.Interleave = 4
	interleaved.Strides = [NumAxes]int64{1024, 1024, 512, 72, 8}
	return slices.Concat([]*Op{
		{
			ID: 3, Params: &Convolution{Window: window, Groups: 2},
			Operands: []Operand{
				dense(f16, 2, 1, 6, 3, 9), interleaved, dense(tensor.Int4, 6, 1, 4, 3, 5), dense(tensor.Float32, 1, 1, 6, 1, 1),
				dense(f16, 1, 1, 6, 1, 1),
			},
			Epilogue: []MicroOp{
				{Code: MicroScaleBias, A: 2, B: -1},
				{Code: MicroActivation, Function: uint8(FuncSwish), A: 1},
				{Code: MicroEW, Function: uint8(EWMult), Source: FromOperand(4)},
				{Code: MicroEW, Function: uint8(EWSub), Source: FromStep(-1), Swap: true},
				{Code: MicroEW, Function: uint8(EWMax), A: float32(math.Inf(-1))},
				{Code: MicroTypeCast, Function: 3},
			},
		},
		{
			Params:   &Pooling{Window: window, Kind: PoolAvg, CountPad: true},
			Operands: []Operand{dense(f16, 2, 1, 8, 3, 9), interleaved},
		},
		{
			Params:   &ElementWise{Kind: EWAdd},
			Operands: []Operand{dense(f16, 1, 1, 8, 7, 9), dense(f16, 1, 1, 8, 7, 9), dense(f16, 1, 1, 1, 7, 1)},
		},
		{
			Params:   &ElementWise{Kind: EWNone},
			Operands: []Operand{dense(tensor.Bool, 1, 1, 8, 0, 9), dense(f16, 1, 1, 8, 0, 9), {}, dense(f16, 1, 1, 1, 1, 9)},
			Epilogue: []MicroOp{{Code: MicroEW, Function: uint8(EWLessThan), Source: FromOperand(3)}},
		},
		{
			Params:   &MatMul{TransposeZ: true},
			Operands: []Operand{dense(f16, 1, 2, 3, 5, 7), dense(f16, 1, 2, 3, 5, 4), dense(f16, 1, 1, 3, 7, 4)},
		},
		{
			Params:   &Reduction{Kind: ReduceL2, Axes: AxesOf(AxisC, AxisW)},
			Operands: []Operand{dense(tensor.Float32, 2, 1, 1, 7, 1), dense(f16, 2, 1, 8, 7, 9)},
		},
		{
			Params:   &Softmax{Axis: AxisC},
			Operands: []Operand{dense(f16, 2, 1, 8, 7, 9), dense(f16, 2, 1, 8, 7, 9)},
		},
		{
			Params:   &LayerNorm{Axes: AxesOf(AxisC), Epsilon: 1e-5},
			Operands: []Operand{dense(f16, 2, 1, 8, 7, 9), dense(f16, 2, 1, 8, 7, 9), {}, dense(f16, 1, 1, 8, 1, 1)},
		},
		{
			Params:   &Gather{Axis: AxisH},
			Operands: []Operand{dense(f16, 2, 1, 8, 3, 9), dense(f16, 2, 1, 8, 7, 9), dense(tensor.Int32, 1, 1, 1, 3, 1)},
		},
		{
			Params: &Copy{},
			Operands: []Operand{
				dense(f16, 1, 1, 2, 3, 4),
				{Base: 255, Offset: 1 << 40, Type: f16, Interleave: 1, Dims: [5]int{1, 1, 2, 3, 4}, Strides: [5]int64{0, 0, 1 << 33, -8, 2}},
			},
		},
		{
			Params:   &InputView{},
			Operands: []Operand{dense(f16, 1, 1, 2, 3, 4), {Type: f16, Offset: 4, Interleave: 1, Dims: [5]int{1, 1, 2, 3, 4}, Strides: [5]int64{0, 0, 48, 16, 2}}},
		},
		{
			Params: &Attention{Scale: 0.125},
			Operands: []Operand{
				dense(f16, 1, 1, 4, 6, 9), dense(f16, 1, 1, 4, 6, 8), dense(f16, 1, 1, 1, 5, 8), dense(f16, 1, 1, 1, 5, 9),
				dense(tensor.Bool, 1, 1, 1, 6, 5),
			},
		},
		{
			Params:   &NeuronCustom{*SigmoidTable()},
			Operands: []Operand{dense(f16, 1, 1, 8, 7, 9), dense(f16, 1, 1, 8, 7, 9)},
		},
	},
		normSamples(), rankingSamples(),
		samplingSamples(),
		quantSamples(),
		geometrySamples(),
	)
}

// TestOps holds encode and decode to the identity, for every class, in both
// places that an operation may stand in.
func TestOps(t *testing.T) {
	var seen []Class
	for _, op := range samples() {
		seen = append(seen, op.Class())
		for _, v := range []Version{V256, V7} {
			task, err := op.Task(v)
			if err != nil {
				t.Errorf("%v: %v", op.Class(), err)
				continue
			}
			if task.Extension() != (v == V7) {
				t.Errorf("%v: extension of %v: %t", op.Class(), v, task.Extension())
			}
			words, err := task.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if len(words) > v256.Links.maxWords() {
				t.Errorf("%v: %d words", op.Class(), len(words))
			}
			again, err := Decode(v, words)
			if err != nil {
				t.Fatal(err)
			}
			got, err := again.Op()
			if err != nil {
				t.Errorf("%v: %v", op.Class(), err)
				continue
			}
			if !reflect.DeepEqual(op, got) {
				t.Errorf("%v: got %+v, want %+v", op.Class(), got, op)
			}
		}
	}
	slices.Sort(seen)
	if want := OpClasses(); !slices.Equal(slices.Compact(seen), slices.Sorted(slices.Values(want))) {
		t.Errorf("samples have the classes %v, the table %v", seen, want)
	}
	for _, c := range OpClasses() {
		if p := NewParams(c); p == nil || len(p.values()) != len(p.row().fields) {
			t.Errorf("%v: fields and registers differ in number", c)
		}
	}
	if NewParams(ClassConcat) != nil {
		t.Error("a class without row has fields")
	}
}

// TestFullOp fills a task to the brim: eight operands, sixteen steps.
func TestFullOp(t *testing.T) {
	op := samples()[0]
	for len(op.Operands) < maxOperands {
		op.Operands = append(op.Operands, dense(tensor.Float16, 1, 1, 6, 1, 1))
	}
	for len(op.Epilogue) < maxSteps {
		op.Epilogue = append(op.Epilogue, MicroOp{Code: MicroEW, Function: uint8(EWAdd), Source: FromStep(len(op.Epilogue) - 1)})
	}
	task, err := op.Task(V256)
	if err != nil {
		t.Fatal(err)
	}
	words, err := task.Encode()
	if err != nil || len(words) > v256.Links.maxWords() {
		t.Fatalf("%d words, %v", len(words), err)
	}
	got, err := task.Op()
	if err != nil || !reflect.DeepEqual(got, op) {
		t.Errorf("differs (%v)", err)
	}
	op.Operands = append(op.Operands, op.Operands[1])
	if _, err := op.Task(V256); err == nil {
		t.Error("nine operands were taken")
	}
}

func TestOpErrors(t *testing.T) {
	sample := func(c Class) *Op {
		for _, op := range samples() {
			if op.Class() == c {
				return op
			}
		}
		t.Fatalf("no sample of %v", c)
		return nil
	}
	for _, c := range []struct {
		class   Class
		spoil   func(*Op)
		message string
	}{
		{ClassConv, func(o *Op) { o.Operands = o.Operands[:2] }, "operands"},
		{ClassConv, func(o *Op) { o.Operands[1] = Operand{} }, "x is not there"},
		{ClassConv, func(o *Op) { o.Operands[4] = Operand{}; o.Epilogue = nil }, "the last operand is not there"},
		{ClassConv, func(o *Op) { o.Params.(*Convolution).Groups = 0 }, "0 groups"},
		{ClassConv, func(o *Op) { o.Params.(*Convolution).Groups = 4 }, "channels"},
		{ClassConv, func(o *Op) { o.Params.(*Convolution).Stride[1] = 0 }, "stride"},
		{ClassConv, func(o *Op) { o.Params.(*Convolution).Kernel[1] = 2 }, "kernel"},
		{ClassConv, func(o *Op) { o.Params.(*Convolution).PadAfter[2] = 3 }, "along W"},
		{ClassConv, func(o *Op) { o.Params.(*Convolution).PadAfter[2] = -1 }, "PadAfterW"},
		{ClassConv, func(o *Op) { o.Operands[0].Dims[AxisN] = 1 }, "along N"},
		{ClassConv, func(o *Op) { o.Operands[3].Dims[AxisC] = 5 }, "bias"},
		{ClassConv, func(o *Op) { o.Operands[2].Strides[0] = 2 }, "packed"},
		{ClassConv, func(o *Op) { o.Operands[1].Interleave = 0 }, "interleave"},
		{ClassConv, func(o *Op) { o.Operands[1].Offset = -1 }, "offset"},
		{ClassConv, func(o *Op) { o.Operands[1].Type = tensor.String }, "no code"},
		{ClassConv, func(o *Op) { o.Operands[1].Strides[0] = math.MinInt64 }, "address space"},
		{ClassConv, func(o *Op) { o.Operands[1].Strides[0] = -4096 }, "address space"},
		{ClassConv, func(o *Op) { o.Operands[1].Dims[0] = -1 }, "extent"},
		{ClassConv, func(o *Op) { o.Epilogue[0].Code = 0 }, "not for an epilogue"},
		{ClassConv, func(o *Op) { o.Epilogue[0].Function = 1 }, "no function"},
		{ClassConv, func(o *Op) { o.Epilogue[0].Source = FromStep(-1) }, "second value"},
		{ClassConv, func(o *Op) { o.Epilogue[1].Function = 200 }, "not known"},
		{ClassConv, func(o *Op) { o.Epilogue[2].Function = 200 }, "not known"},
		{ClassConv, func(o *Op) { o.Epilogue[5].Function = 200 }, "not known"},
		{ClassConv, func(o *Op) { o.Epilogue[2].Source = FromOperand(5) }, "cannot be read"},
		{ClassConv, func(o *Op) { o.Epilogue[2].Source = FromOperand(0) }, "cannot be read"},
		{ClassConv, func(o *Op) { o.Epilogue[2].Source = FromOperand(1) }, "along"},
		{ClassConv, func(o *Op) { o.Epilogue[2].Source = FromStep(2) }, "not there"},
		{ClassConv, func(o *Op) { o.Epilogue[2].Source = 63 }, "not there"},
		{ClassConv, func(o *Op) { o.Epilogue = make([]MicroOp, 17) }, "16 steps"},
		{ClassConv, func(o *Op) { o.Operands[4].Dims[AxisC] = 2 }, "operand 4"},
		{ClassConv, func(o *Op) { o.Params = nil }, "without class"},
		{ClassPooling, func(o *Op) { o.Params.(*Pooling).Kind = 0 }, "not known"},
		{ClassPooling, func(o *Op) { o.Operands[0].Dims[AxisC]-- }, "N and C"},
		{ClassElementWise, func(o *Op) { o.Params.(*ElementWise).Kind = 63 }, "not known"},
		{ClassElementWise, func(o *Op) { o.Params.(*ElementWise).Kind = EWAbs }, "has z"},
		{ClassElementWise, func(o *Op) { o.Operands[2].Dims[AxisH] = 2 }, "z has 2 along H"},
		{ClassMatrixMultiplication, func(o *Op) { o.Params.(*MatMul).TransposeX = true }, "x has"},
		{ClassMatrixMultiplication, func(o *Op) { o.Operands[0].Dims[AxisW]++ }, "product"},
		{ClassMatrixMultiplication, func(o *Op) { o.Operands[2].Dims[AxisC]++ }, "along C"},
		{ClassReduction, func(o *Op) { o.Params.(*Reduction).Axes = 64 }, "axes"},
		{ClassReduction, func(o *Op) { o.Params.(*Reduction).Axes = 0 }, "along C"},
		{ClassReduction, func(o *Op) { o.Params.(*Reduction).Kind = ReduceArgMax }, "one axis"},
		{ClassReduction, func(o *Op) { o.Params.(*Reduction).Kind = 63 }, "not known"},
		{ClassSoftmax, func(o *Op) { o.Params.(*Softmax).Axis = 5 }, "no axis"},
		{ClassSoftmax, func(o *Op) { o.Operands[1].Dims[AxisH]++ }, "extents"},
		{ClassLayerNormalization, func(o *Op) { o.Operands[3].Dims[AxisC]++ }, "beta"},
		{ClassLayerNormalization, func(o *Op) { o.Operands[1].Dims[AxisC]++ }, "extents"},
		{ClassGather, func(o *Op) { o.Operands[2].Type = tensor.Float16 }, "integers"},
		{ClassGather, func(o *Op) { o.Operands[1].Dims[AxisH] = 0 }, "nothing"},
		{ClassGather, func(o *Op) { o.Operands[1].Dims[AxisC]++ }, "along C"},
		{ClassNEBypass, func(o *Op) { o.Operands[1].Dims[AxisC] = 3 }, "along C"},
		{ClassSDPA, func(o *Op) { o.Operands[2].Dims[AxisW]++ }, "features"},
		{ClassSDPA, func(o *Op) { o.Operands[3].Dims[AxisH]++ }, "positions"},
		{ClassSDPA, func(o *Op) { o.Operands[0].Dims[AxisH]++ }, "want 6x9"},
		{ClassSDPA, func(o *Op) { o.Operands[4].Dims[AxisH]++ }, "rows"},
		{ClassSDPA, func(o *Op) { o.Operands[4].Dims[AxisW]++ }, "columns"},
		{ClassNeuronCustom, func(o *Op) { o.Params.(*NeuronCustom).Mode = 2 }, "form 2"},
		{ClassNeuronCustom, func(o *Op) { o.Params.(*NeuronCustom).Mode = 0x31 }, "sign treatment 3"},
		{ClassNeuronCustom, func(o *Op) { o.Params.(*NeuronCustom).SpacingLog2 = 101 }, "2^-101 apart"},
		{ClassNeuronCustom, func(o *Op) { o.Operands[1].Dims[AxisC]++ }, "extents"},
	} {
		op := sample(c.class)
		c.spoil(op)
		if _, err := op.Task(V256); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%v: %v; want %q", c.class, err, c.message)
		}
	}
	if _, err := sample(ClassConv).Task(V10); err == nil {
		t.Error("version 10 took an operation")
	}
}

// TestOpDecodeErrors spoils the registers of a task.
func TestOpDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		spoil   func(*Task)
		message string
	}{
		{"unknown class", func(t *Task) { t.Records[0].Words[0] = 99 }, "class 99"},
		{"class without row", func(t *Task) { t.Records[0].Words[0] = uint32(ClassConcat) }, "Concat"},
		{"other class", func(t *Task) { t.must(V256Class, uint32(ClassSoftmax)) }, "does not have it"},
		{"two results", func(t *Task) { t.must(V256Results, 2) }, "results"},
		{"too many steps", func(t *Task) { t.must(V256Steps, 17) }, "17 steps"},
		{"more steps than written", func(t *Task) { t.must(V256Steps, 7) }, "is not written"},
		{"fewer steps than written", func(t *Task) { t.must(V256Steps, 5) }, "does not have it"},
		{"operand not present", func(t *Task) { t.must(V256Present, 0xf) }, "does not have it"},
		{"operand not written", func(t *Task) { t.must(V256Present, 0x3f) }, "is not written"},
		{"no class", func(t *Task) { t.Records = t.Records[1:] }, "does not write the class"},
		{"bits without meaning", func(t *Task) { t.Records[0].Words[0] |= 1 << 31 }, "0x80000000"},
		{"element type", func(t *Task) { t.must(v256Operands[1].element, 200) }, "element type 200"},
		{"huge extent", func(t *Task) { t.must(v256Operands[1].dims[0], 1<<31) }, "more than"},
		{"huge groups", func(t *Task) { t.must(convRow.fields[15], 1<<31) }, "more than"},
		{"register of version 7", func(t *Task) { t.Records = append(t.Records, Record{0, []uint32{0}}) }, "register 0x0"},
		{"not valid", func(t *Task) { t.must(v256Operands[1].interleave, 0) }, "interleave"},
	} {
		task, err := samples()[0].Task(V256)
		if err != nil {
			t.Fatal(err)
		}
		c.spoil(task)
		if _, err := task.Op(); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v; want %q", c.name, err, c.message)
		}
	}
	if _, err := NewV7Task(true).Op(); err == nil {
		t.Error("a task of version 7 holds an operation")
	}
}

func TestExtent(t *testing.T) {
	// The extent is the hull of the addresses, by its own definition.
	address := func(o *Operand, i [NumAxes]int) int64 {
		at := o.Offset
		for a, n := range i {
			if Axis(a) == AxisC {
				at += int64(n/int(o.Interleave))*o.Strides[a] + int64(n%int(o.Interleave))*int64(o.Type.Size())
			} else {
				at += int64(n) * o.Strides[a]
			}
		}
		return at
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		o := Operand{Offset: 10000, Type: tensor.Float16, Interleave: uint8(1 + rng.IntN(4))}
		for a := range NumAxes {
			o.Dims[a] = rng.IntN(4)
			o.Strides[a] = 2 * int64(rng.IntN(200)-100)
		}
		lo, hi := int64(math.MaxInt64), int64(0)
		var i [NumAxes]int
		for n := range 4 * 4 * 4 * 4 * 4 {
			inside := true
			for a := range i {
				i[a] = n >> (2 * a) & 3
				inside = inside && i[a] < o.Dims[a]
			}
			if inside {
				at := address(&o, i)
				lo, hi = min(lo, at), max(hi, at+2)
			}
		}
		if hi == 0 {
			lo = 0
		}
		gotLo, gotHi, ok := o.Extent()
		// With a part of an interleave group missing, the hull may be smaller.
		exact := o.Dims[AxisC]%int(o.Interleave) == 0
		if !ok || exact && (gotLo != lo || gotHi != hi) || gotLo > lo || gotHi < hi {
			t.Errorf("%+v: extent %d..%d, %t; want %d..%d", o, gotLo, gotHi, ok, lo, hi)
		}
	}
	packed := dense(tensor.Int4, 1, 1, 1, 3, 3)
	if lo, hi, ok := packed.Extent(); lo != 0x40 || hi != 0x45 || !ok {
		t.Errorf("nine 4-bit numbers: %#x..%#x, %t", lo, hi, ok)
	}
	for _, o := range []Operand{
		{Type: tensor.Float16, Interleave: 1, Dims: [5]int{maxDim, maxDim, maxDim, 1, 1}},
		{Type: tensor.Float16, Interleave: 1, Dims: [5]int{2, 1, 1, 1, 1}, Strides: [5]int64{math.MaxInt64}},
		{Type: tensor.Float16, Interleave: 1, Dims: [5]int{3, 1, 1, 1, 1}, Strides: [5]int64{math.MaxInt64 / 2, 0, 0, 0, 0}, Offset: 10},
		{Type: tensor.Int4, Interleave: 1, Dims: [5]int{2, 1, 1, 1, 1}, Offset: math.MaxInt64},
	} {
		if _, _, ok := o.Extent(); ok {
			t.Errorf("%+v stays in the address space", o)
		}
	}
}

func TestElementCodes(t *testing.T) {
	// Seed 23.12.
	for code, d := range []tensor.DType{
		tensor.Int4, tensor.UInt8, tensor.Int8, tensor.Float16, tensor.Float32, tensor.Int16,
		tensor.UInt16, tensor.Int32, tensor.UInt32, tensor.Int64, tensor.UInt64,
	} {
		if got, ok := ElementCode(d); !ok || int(got) != code {
			t.Errorf("%v has code %d, want %d", d, got, code)
		}
	}
	for _, d := range tensor.DTypes() {
		code, ok := ElementCode(d)
		if d == tensor.String || d == tensor.Invalid {
			continue
		}
		if back, _ := ElementType(code); !ok || back != d {
			t.Errorf("%v: code %d, back %v", d, code, back)
		}
	}
	if _, ok := ElementCode(tensor.String); ok {
		t.Error("strings have a code")
	}
}

func TestStrings(t *testing.T) {
	for got, want := range map[string]string{
		FromOperand(2).String():            "operand 2",
		FromStep(-1).String():              "step -1",
		NoSource.String():                  "constant",
		Source(12).String():                "source 12",
		AxisC.String():                     "C",
		Axis(7).String():                   "axis 7",
		EWKind(63).String():                "elementwise kind 63",
		EWAdd.String():                     "Add",
		BarDataSet.String():                "data set",
		BarKind(9).String():                "bar kind 9",
		V7.String():                        "version 7",
		Certain.String():                   "certain",
		SBytes.String():                    "signed bytes",
		V7Win.String():                     "Common.Win (register 0x0 bits 14:0)",
		V7NextOffset.String():              "Header.NextOffset (header word 7 bits 31:0)",
		FuncGELUTanhApproximation.String(): "gelu_tanh_approximation",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
