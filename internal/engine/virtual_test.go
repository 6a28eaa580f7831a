package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A bench is a program of one operation, each operand in a memory of its own.
type bench struct {
	op       *td.Op
	memories [][]byte
	rules    *hal.Numerics // nil: benchNumerics
	gemm     *gemm.Row     // nil: any
}

// rows are the micro-kernels that matter to the operation: all, if it multiplies
// matrices.
func (b *bench) rows() []*gemm.Row {
	switch b.op.Class() {
	case td.ClassConv, td.ClassMatrixMultiplication, td.ClassCrossCorrelation, td.ClassSDPA:
		return gemm.Usable()
	}
	return []*gemm.Row{nil}
}

// value is an element as the test knows it: what it should be, and how far the
// engine may be from that before it rounds to the type of the result.
type value struct{ want, tolerance float64 }

const ulp32 = 0x1p-24

// elementOffset is where an element lies: the definition of td.Operand.
func elementOffset(o *td.Operand, i [td.NumAxes]int) int64 {
	size := int64(o.Type.Size())
	interleave := int64(o.Interleave)
	c := int64(i[td.AxisC])
	return o.Offset + int64(i[0])*o.Strides[0] + int64(i[1])*o.Strides[1] + c/interleave*o.Strides[2] +
		int64(i[3])*o.Strides[3] + int64(i[4])*o.Strides[4] + c%interleave*size
}

// linear is the place of an element in logical order.
func linear(dims, i [td.NumAxes]int) int {
	n := 0
	for a := range dims {
		n = n*dims[a] + i[a]
	}
	return n
}

// get reads element i, or the one that is broadcast there.
func (b *bench) get(operand int, i [td.NumAxes]int) float64 {
	o := &b.op.Operands[operand]
	for a := range i {
		if o.Dims[a] == 1 {
			i[a] = 0
		}
	}
	m := b.memories[operand]
	if o.Type.SubByte() {
		bits := o.Type.Bits()
		v := int64(0)
		for k := range bits {
			at := int(o.Offset)*8 + linear(o.Dims, i)*bits + k
			v |= int64(m[at/8]>>(at%8)&1) << k
		}
		if o.Type == tensor.Int4 && v > 7 {
			v -= 16
		}
		return float64(v)
	}
	e := m[elementOffset(o, i):]
	switch o.Type {
	case tensor.Float16:
		return float64(tensor.F16(binary.LittleEndian.Uint16(e)))
	case tensor.BFloat16:
		return float64(tensor.BF16(binary.LittleEndian.Uint16(e)))
	case tensor.Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(e)))
	case tensor.Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(e))
	case tensor.Float8E4M3FN:
		return float64(tensor.F8E4M3(e[0]))
	case tensor.Float8E5M2:
		return float64(tensor.F8E5M2(e[0]))
	case tensor.Bool, tensor.UInt8:
		return float64(e[0])
	case tensor.Int8:
		return float64(int8(e[0]))
	case tensor.Int16:
		return float64(int16(binary.LittleEndian.Uint16(e)))
	case tensor.UInt16:
		return float64(binary.LittleEndian.Uint16(e))
	case tensor.Int32:
		return float64(int32(binary.LittleEndian.Uint32(e)))
	case tensor.UInt32:
		return float64(binary.LittleEndian.Uint32(e))
	case tensor.Int64:
		return float64(int64(binary.LittleEndian.Uint64(e)))
	case tensor.UInt64:
		return float64(binary.LittleEndian.Uint64(e))
	}
	panic("bug: " + o.Type.String())
}

// put writes element i of an operand of whole bytes.
func (b *bench) put(operand int, i [td.NumAxes]int, v float64) {
	o := &b.op.Operands[operand]
	e := b.memories[operand][elementOffset(o, i):]
	t := tensor.FromFloat32s(o.Type, []float32{float32(v)}, 1)
	copy(e, t.Bytes())
}

// fill writes every element of an operand of whole bytes, in their order.
func (b *bench) fill(operand int, value func(i [td.NumAxes]int) float64) {
	o := &b.op.Operands[operand]
	var values []float32
	each(o.Dims, func(i [td.NumAxes]int) { values = append(values, float32(value(i))) })
	from := tensor.FromFloat32s(o.Type, values, len(values)).Bytes()
	each(o.Dims, func(i [td.NumAxes]int) {
		from = from[copy(b.memories[operand][elementOffset(o, i):], from[:o.Type.Size()]):]
	})
}

func each(dims [td.NumAxes]int, f func(i [td.NumAxes]int)) {
	for n := range dims[0] {
		for d := range dims[1] {
			for c := range dims[2] {
				for h := range dims[3] {
					for w := range dims[4] {
						f([td.NumAxes]int{n, d, c, h, w})
					}
				}
			}
		}
	}
}

// layOut gives an operand random strides: the axes in any order, with gaps, some
// backwards, channels interleaved; a source may stand still along an axis.
func layOut(r *rand.Rand, o *td.Operand, source bool) {
	if o.Type.SubByte() {
		o.Offset, o.Interleave = int64(r.IntN(5)), 1
		return
	}
	o.Interleave = []uint8{1, 1, 1, 2, 3, 4}[r.IntN(6)]
	size := int64(o.Type.Size())
	stride := size
	if o.Interleave > 1 {
		stride *= int64(o.Interleave)
	}
	order := r.Perm(td.NumAxes)
	if r.IntN(3) == 0 { // dense, as most tensors are
		order = []int{4, 3, 2, 1, 0}
	}
	o.Offset = int64(r.IntN(3)) * size
	for _, a := range order {
		n := int64(o.Dims[a])
		if td.Axis(a) == td.AxisC {
			n = (n + int64(o.Interleave) - 1) / int64(o.Interleave)
		}
		o.Strides[a] = stride
		stride *= max(n, 1)
		if r.IntN(3) == 0 {
			stride += size * int64(r.IntN(4))
		}
		if n > 1 && r.IntN(4) == 0 {
			o.Offset += (n - 1) * o.Strides[a]
			o.Strides[a] = -o.Strides[a]
		} else if source && r.IntN(12) == 0 {
			o.Strides[a] = 0
		}
	}
}

// newBench lays out the operands of an operation and fills the sources.
func newBench(t *testing.T, r *rand.Rand, op *td.Op) *bench {
	t.Helper()
	b := &bench{op: op, memories: make([][]byte, len(op.Operands))}
	for i := range op.Operands {
		o := &op.Operands[i]
		if !o.Present() {
			continue
		}
		o.Base = i
		layOut(r, o, i >= op.Results())
		_, hi, ok := o.Extent()
		if !ok {
			t.Fatalf("operand %d has no extent", i)
		}
		b.memories[i] = make([]byte, hi+4)
		for j := range b.memories[i] {
			b.memories[i][j] = byte(r.Uint32())
		}
		if !o.Type.SubByte() {
			b.fill(i, func([td.NumAxes]int) float64 { return randomValue(r, o.Type) })
		}
	}
	return b
}

func randomValue(r *rand.Rand, d tensor.DType) float64 {
	switch d.Kind() {
	case tensor.KindBool:
		return float64(r.IntN(2))
	case tensor.KindUint:
		return float64(r.IntN(12))
	case tensor.KindInt:
		return float64(r.IntN(23) - 11)
	}
	return math.Round(r.NormFloat64()*64) / 64
}

var benchNumerics = hal.Numerics{RoundHalfEven: true}

// program binds the operation of a bench, whose sources are ports.
func (b *bench) program() (*Program, error) { return b.programOf(input) }

// programOf binds the operation of a bench, whose sources are in such memory.
func (b *bench) programOf(sources memoryKind) (*Program, error) {
	// Through the words of a task and back.
	task, err := b.op.Task(td.V256)
	if err != nil {
		return nil, err
	}
	words, err := task.Encode()
	if err != nil {
		return nil, err
	}
	decoded, err := td.Decode(td.V256, words)
	if err != nil {
		return nil, err
	}
	again, err := decoded.Op()
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(again, b.op) {
		return nil, fmt.Errorf("decoded %+v, want %+v", again, b.op)
	}
	p := &Program{bases: new([256]uint64), numerics: benchNumerics, gemm: b.gemm}
	if b.rules != nil {
		p.numerics, p.rules = *b.rules, strided.RulesOf(*b.rules)
	}
	for i, m := range b.memories {
		of := memory{kind: sources, addr: uint64(i+1) << 32, size: len(m)}
		if i < b.op.Results() {
			of.kind = output
		}
		if of.kind == constant {
			of.data = m
		}
		p.bases[i] = of.addr
		p.memories = append(p.memories, of)
	}
	if err := p.bind(context.Background(), []td.Placed{{Task: decoded}}); err != nil {
		return nil, err
	}
	p.pack(context.Background())
	return p, nil
}

// run executes the bench on its memories.
func (b *bench) run(t *testing.T) *Context {
	t.Helper()
	return b.runWith(t, input)
}

// runWith is run with sources in such memory.
func (b *bench) runWith(t *testing.T, sources memoryKind) *Context {
	t.Helper()
	p, err := b.programOf(sources)
	if err != nil {
		t.Fatalf("%v: %v\n%+v", b.op.Class(), err, b.op)
	}
	c := p.NewContext()
	for i, m := range b.memories {
		if m != nil {
			c.memories[i] = m
		}
	}
	if err := p.RunAll(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// check runs the operation, with each micro-kernel, and compares each element with
// its definition.
func (b *bench) check(t *testing.T, bound strided.Bound, plain func(i [td.NumAxes]int) (want, terms float64)) {
	t.Helper()
	y := &b.op.Operands[0]
	var wants []value
	each(y.Dims, func(i [td.NumAxes]int) {
		want, terms := plain(i)
		v := value{want: want}
		if !math.IsInf(want, 0) {
			v.tolerance = ulp32 * (bound.Result*math.Abs(want) + bound.Terms*terms)
		}
		wants = append(wants, b.epilogue(v, i, bound))
	})
	for _, b.gemm = range b.rows() {
		b.run(t)
		b.compare(t, wants)
		b.checkPacked(t)
	}
}

// compare holds the result to what its elements should be, in their order.
func (b *bench) compare(t *testing.T, wants []value) {
	t.Helper()
	y := &b.op.Operands[0]
	var least, most []float64
	for _, want := range wants {
		least, most = append(least, want.want-want.tolerance), append(most, want.want+want.tolerance)
	}
	least, most = stored(y.Type, least...), stored(y.Type, most...)
	n := 0
	each(y.Dims, func(i [td.NumAxes]int) {
		want, lo, hi, got := wants[n], least[n], most[n], b.get(0, i)
		n++
		if math.IsNaN(want.want) && math.IsNaN(got) {
			return
		}
		if math.IsNaN(lo) || math.IsNaN(hi) { // beyond the range of fp8e4m3fn, or next to its end
			if math.IsNaN(got) || got == lo || got == hi {
				return
			}
		}
		if !(got >= min(lo, hi) && got <= max(lo, hi)) {
			t.Fatalf("%v: element %v is %v, want %v ± %g\n%+v %+v", b.op.Class(), i, got, want.want, want.tolerance, b.op, b.op.Params)
		}
	})
}

// stored are values after they were stored as a type, rounded once.
func stored(d tensor.DType, v ...float64) []float64 {
	x, err := tensor.Of(v, len(v)).Convert(d)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return x.Float64s()
}

// epilogue is the definition of td.MicroOp. An error grows with the slope of
// what is applied to it, and every step may round once more.
func (b *bench) epilogue(v value, i [td.NumAxes]int, bound strided.Bound) value {
	past := []value{v}
	for _, m := range b.op.Epilogue {
		switch m.Code {
		case td.MicroScaleBias:
			v = value{v.want*float64(m.A) + float64(m.B), v.tolerance * math.Abs(float64(m.A))}
		case td.MicroActivation:
			switch td.Function(m.Function) {
			case td.FuncReLU:
				v.want = max(v.want, 0)
			case td.FuncTanh:
				v.want = math.Tanh(v.want)
			case td.FuncSigmoid:
				v.want = 1 / (1 + math.Exp(-v.want))
			case td.FuncClip:
				v.want = min(max(v.want, float64(m.A)), float64(m.B))
			}
		case td.MicroEW:
			second := value{want: float64(m.A)}
			if k, ok := m.Source.Operand(); ok {
				second.want = b.get(k, i)
			}
			if k, ok := m.Source.Step(); ok {
				second = past[k+1]
			}
			x, z := v, second
			if m.Swap {
				x, z = second, v
			}
			switch td.EWKind(m.Function) {
			case td.EWAdd:
				v = value{x.want + z.want, x.tolerance + z.tolerance}
			case td.EWSub:
				v = value{x.want - z.want, x.tolerance + z.tolerance}
			case td.EWMult:
				v = value{x.want * z.want, x.tolerance*(math.Abs(z.want)+z.tolerance) + z.tolerance*math.Abs(x.want)}
			case td.EWMax:
				v = value{max(x.want, z.want), max(x.tolerance, z.tolerance)}
			}
		case td.MicroTypeCast:
			d, _ := td.ElementType(m.Function)
			all := stored(d, v.want-v.tolerance, v.want, v.want+v.tolerance)
			lo, hi := all[0], all[2]
			v.want = all[1]
			v.tolerance = max(math.Abs(hi-v.want), math.Abs(v.want-lo))
		}
		if !bound.Exact() && !math.IsInf(v.want, 0) {
			v.tolerance += ulp32 * math.Abs(v.want)
		}
		past = append(past, v)
	}
	return v
}

// epilogues are added to operations of floats and of integers.
func epilogues(r *rand.Rand, op *td.Op, ints bool) {
	switch r.IntN(3) {
	case 0:
		return
	case 1:
		if ints {
			op.Epilogue = []td.MicroOp{
				{Code: td.MicroEW, Function: uint8(td.EWMult), A: 3},
				{Code: td.MicroEW, Function: uint8(td.EWSub), Source: td.FromStep(-1), Swap: true},
			}
			return
		}
		op.Epilogue = []td.MicroOp{
			{Code: td.MicroScaleBias, A: 0.5, B: -0.25},
			{Code: td.MicroActivation, Function: uint8(td.FuncTanh)},
			{Code: td.MicroEW, Function: uint8(td.EWMult), Source: td.FromStep(-1)},
			{Code: td.MicroEW, Function: uint8(td.EWSub), Source: td.FromStep(0), Swap: true},
		}
		return
	}
	// An operand of the epilogue alone, after those of the class.
	extra := op.Operands[0]
	for a := range extra.Dims {
		if r.IntN(2) == 0 {
			extra.Dims[a] = 1
		}
	}
	for len(op.Operands) < 6 {
		op.Operands = append(op.Operands, td.Operand{})
	}
	op.Operands = append(op.Operands, extra)
	op.Epilogue = []td.MicroOp{
		{Code: td.MicroEW, Function: uint8(td.EWAdd), Source: td.FromOperand(6)},
		{Code: td.MicroEW, Function: uint8(td.EWMax), A: -1},
	}
	if !ints {
		code, _ := td.ElementCode(tensor.Float16)
		op.Epilogue = append(op.Epilogue,
			td.MicroOp{Code: td.MicroTypeCast, Function: code},
			td.MicroOp{Code: td.MicroActivation, Function: uint8(td.FuncSigmoid)})
	}
}

var (
	floatTypes   = []tensor.DType{tensor.Float16, tensor.Float16, tensor.Float32, tensor.BFloat16, tensor.Float64, tensor.Float8E4M3FN, tensor.Float8E5M2}
	integerTypes = []tensor.DType{tensor.Int32, tensor.Int8, tensor.UInt8, tensor.Int16, tensor.UInt16, tensor.UInt32, tensor.Int64, tensor.UInt64, tensor.Bool}
	packedTypes  = []tensor.DType{tensor.Int4, tensor.UInt1, tensor.UInt2, tensor.UInt3, tensor.UInt4, tensor.UInt6}
	sourceTypes  = append(append(append([]tensor.DType{}, floatTypes...), integerTypes...), packedTypes...)
)

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// operand makes an operand; newBench lays it out.
func operand256(d tensor.DType, dims ...int) td.Operand {
	return td.Operand{Type: d, Interleave: 1, Dims: [td.NumAxes]int(dims)}
}

// size is an extent: mostly small and odd, now and then 0.
func extent(r *rand.Rand) int {
	if r.IntN(40) == 0 {
		return 0
	}
	return 1 + r.IntN(5)
}

// broadcastOf is an operand that has some extents of dims, and 1 otherwise.
func broadcastOf(r *rand.Rand, d tensor.DType, dims [td.NumAxes]int) td.Operand {
	for a := range dims {
		if r.IntN(4) == 0 {
			dims[a] = 1
		}
	}
	return td.Operand{Type: d, Interleave: 1, Dims: dims}
}

// rowOf is the row that does an operation.
func rowOf(op *td.Op) *strided.Row {
	to := &strided.Op{Params: op.Params, Epilogue: op.Epilogue}
	for _, o := range op.Operands {
		to.Operands = append(to.Operands, strided.Operand{Operand: o})
	}
	return strided.Find(to)
}

// boundOf is the bound of the row that does an operation.
func boundOf(op *td.Op) strided.Bound { return rowOf(op).Bound }

// TestVirtual ranges over the classes: encoding and decoding is the identity,
// and the engine computes what the class is defined as, within the bound of its
// kernel.
func TestVirtual(t *testing.T) {
	for _, class := range td.OpClasses() {
		test := virtualTests[class]
		if test == nil {
			t.Errorf("%v has no test", class)
			continue
		}
		t.Run(class.String(), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(class), 256))
			for range 100 {
				test(t, r)
			}
		})
	}
}

var virtualTests = map[td.Class]func(*testing.T, *rand.Rand){
	td.ClassConv:                       testConvolution,
	td.ClassPooling:                    testPooling,
	td.ClassElementWise:                testElementWise,
	td.ClassMatrixMultiplication:       testMatMul,
	td.ClassReduction:                  testReduction,
	td.ClassSoftmax:                    testSoftmax,
	td.ClassLayerNormalization:         testLayerNorm,
	td.ClassInstanceNormalization:      testInstanceNorm,
	td.ClassL2Normalization:            testL2Norm,
	td.ClassMinMaxNormalization:        testMinMaxNorm,
	td.ClassLocalResponseNormalization: testLRN,
	td.ClassArgMinMax:                  testArgMinMax,
	td.ClassGlobalArgMinMax:            testGlobalArgMinMax,
	td.ClassSort:                       testSort,
	td.ClassTopK:                       testTopK,
	td.ClassGather:                     testGather,
	td.ClassNEBypass:                   testCopy,
	td.ClassInputView:                  testInputView,
	td.ClassSDPA:                       testAttention,
	td.ClassPadding:                    testPadding,
	td.ClassTile:                       testTile,
	td.ClassDynamicSlice:               testDynamicSlice,
	td.ClassPixelShuffle:               testRearrange(td.ClassPixelShuffle),
	td.ClassPixelUnshuffle:             testRearrange(td.ClassPixelUnshuffle),
	td.ClassChannelToSpace:             testRearrange(td.ClassChannelToSpace),
	td.ClassSpaceToChannel:             testRearrange(td.ClassSpaceToChannel),
	td.ClassSpaceToBatch:               testRearrange(td.ClassSpaceToBatch),
	td.ClassBatchToSpace:               testRearrange(td.ClassBatchToSpace),
	td.ClassResize:                     testResize,
	td.ClassResample:                   testResample,
	td.ClassAffineTransform:            testAffineTransform,
	td.ClassCropResize:                 testCropResize,
	td.ClassQuant:                      testQuant,
	td.ClassDeQuant:                    testDeQuant,
	td.ClassScaledElementWise:          testScaledElementWise,
	td.ClassNeuronCustom:               testNeuronCustom,
	td.ClassRandomGenerator:            testRandom,
	td.ClassRingBufferWriter:           testRingBufferWriter,
	td.ClassCrossProduct:               testCrossProduct,
	td.ClassCrossCorrelation:           testCrossCorrelation,
	td.ClassCostVolume:                 testCostVolume,
	td.ClassFurthestPointSampling:      testFurthestPoints,
	td.ClassRadiusSearch:               testRadiusSearch,
}
