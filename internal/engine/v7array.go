package engine

import (
	"github.com/espalier-ane/espalier/internal/kernel"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// The multiply array (h13 4.3):
//
//	out[o][y][x] = f(post·(bias[o] + Σ in[ci][y·Sy+ky-Py][x·Sx+kx-Px]·w[o][i][ky][kx]))
//
// with ci = i, or o·UnicastInputs + i in unicast.

// The numbers of V7NEOperation.
const (
	multiplyAccumulate = 0
	arrayProduct       = 2 // likely: as the recorded power has it, with V7ElementMultiply
	arrayMaximum       = 3
	arrayBypass        = 4
)

// The numbers of V7NENonLinear.
const (
	nonLinearReLU  = 1
	nonLinearTable = 2
)

// An arrayUnit is a task of the multiply array.
type arrayUnit struct {
	op     uint32
	groups int
	shape  kernel.ConvShape // of one group

	// A convolution has weights, from the file or made at run time.
	weights *weightSet
	runtime *runtimeWeights
	conv    *strided.Dense

	settle bool // of sums without weights: indeterminate forms are 0
	output kernel.ArrayOutput
	relu   bool
	table  *activation
}

// array binds a task of the multiply array. It returns the operands read beside
// the source.
func (b *binder) array(source *operand, in, out size) (unit, []*operand, error) {
	n := &b.p.numerics
	u := &arrayUnit{
		op:     b.value(td.V7NEOperation),
		groups: in.groups,
		shape: kernel.ConvShape{
			Cin: in.c, Hin: in.h, Win: in.w, Cout: out.c, Hout: out.h, Wout: out.w,
			Kh: b.num(td.V7KernelHeight), Kw: b.num(td.V7KernelWidth),
			Sy: b.num(td.V7StrideY), Sx: b.num(td.V7StrideX),
			Py: b.num(td.V7PadTop), Px: b.num(td.V7PadLeft),
			Inputs: in.c, Unicast: b.flag(td.V7Unicast),
		},
		relu: b.value(td.V7NENonLinear) == nonLinearReLU,
		output: kernel.ArrayOutput{
			Bias:  b.float(td.V7NEAccumulatorBias),
			Scale: b.float(td.V7NEPostScale),
		},
	}
	if err := b.checkWindow(u); err != nil {
		return nil, nil, err
	}
	// Only sums go through the accumulator and its port (hal.Numerics). A single
	// input without weights is no sum, as rsqrt has it; nor is a single product in
	// unicast, which convolutions have and no linear layer.
	if single := u.shape.Unicast && u.shape.Weights() == 1; u.op == multiplyAccumulate && !(single && b.flag(td.V7NEUnityKernel)) {
		source.read.FlushSubnormals = n.FlushArraySubnormals
		u.output.FlushSubnormals = n.FlushArraySubnormals
		if !single {
			u.output.SaturateAt = n.SaturateAtPort
		}
		u.settle = n.IndeterminateToZero
	}
	// rsqrt adds its epsilon there (oracles, unary_rsqrt_c64), a convolution a bias
	// that all outputs have (record encoder_conv_c1_n4_k3x3_s2_g1_bias1_same). What
	// it is beside a row of biases is not known.
	if u.output.Bias != 0 && (u.op != multiplyAccumulate || b.flag(td.V7NEBias)) {
		return nil, nil, b.refuse(td.V7NEAccumulatorBias, "an accumulator bias is known in sums without a row of biases only")
	}
	if u.output.Scale != 1 && (u.output.Bias != 0 || b.flag(td.V7NEBias)) {
		return nil, nil, b.refuse(td.V7NEPostScale, "the order of post scale and bias is not known")
	}

	var others []*operand
	if b.flag(td.V7NEUnityKernel) {
		if b.flag(td.V7NEBias) {
			return nil, nil, b.refuse(td.V7NEBias, "a bias row without weights is not known")
		}
	} else {
		if u.op != multiplyAccumulate {
			return nil, nil, b.refuse(td.V7NEUnityKernel, "operation %d is known without weights only", u.op)
		}
		if b.flag(td.V7PadMode) {
			return nil, nil, b.refuse(td.V7PadMode, "padding with minus infinity is known without weights only")
		}
		o, err := b.bindWeights(u)
		if err != nil {
			return nil, nil, err
		}
		if o != nil {
			others = append(others, o)
		}
		if err := b.bindProduct(u); err != nil {
			return nil, nil, err
		}
	}
	if b.value(td.V7NENonLinear) == nonLinearTable {
		var err error
		if u.table, err = b.bindTable(); err != nil {
			return nil, nil, err
		}
	}
	return u, others, nil
}

// checkWindow sees that the channels and the window fit the sizes.
func (b *binder) checkWindow(u *arrayUnit) error {
	s := &u.shape
	for _, f := range []*td.Field{td.V7KernelWidth, td.V7KernelHeight, td.V7StrideX, td.V7StrideY} {
		if b.num(f) == 0 {
			return b.refuse(f, "want 1 or more")
		}
	}
	if s.Unicast {
		s.Inputs = b.num(td.V7UnicastInputs)
		if s.Inputs == 0 || s.Cout*s.Inputs > s.Cin {
			return b.refuse(td.V7UnicastInputs, "%d outputs of so many channels, the source has %d", s.Cout, s.Cin)
		}
	}
	if b.flag(td.V7NEUnityKernel) {
		// Windows of sums and maxima would be pooling, which no program shows.
		for _, k := range []struct {
			field *td.Field
			want  int
		}{
			{td.V7KernelWidth, 1}, {td.V7KernelHeight, 1}, {td.V7StrideX, 1}, {td.V7StrideY, 1},
			{td.V7PadLeft, 0}, {td.V7PadTop, 0}, {td.V7Wout, s.Win}, {td.V7Hout, s.Hin},
		} {
			if b.num(k.field) != k.want {
				return b.refuse(k.field, "windows without weights are not known; want %d", k.want)
			}
		}
	}
	if u.op == arrayBypass && (!s.Unicast || s.Inputs != 1 || s.Cout != s.Cin) {
		return b.refuse(td.V7UnicastInputs, "a bypass passes on %d channels one by one, here are %d outputs", s.Cin, s.Cout)
	}
	// Padding after the image follows from the output size. A window that is
	// wholly outside the image is a mistake.
	if start := (s.Wout-1)*s.Sx - s.Px; start >= s.Win || s.Kw <= s.Px {
		return b.refuse(td.V7Wout, "windows of %d with padding %d lie outside an image of width %d", s.Kw, s.Px, s.Win)
	}
	if start := (s.Hout-1)*s.Sy - s.Py; start >= s.Hin || s.Kh <= s.Py {
		return b.refuse(td.V7Hout, "windows of %d with padding %d lie outside an image of height %d", s.Kh, s.Py, s.Hin)
	}
	return nil
}

func (u *arrayUnit) weightElements() int64 {
	if u.runtime == nil {
		return 0
	}
	return int64(len(u.runtime.first)) * int64(u.shape.Weights())
}

func (u *arrayUnit) passes() bool { return u.op == arrayBypass }

func (u *arrayUnit) sweeps() (list []sweep) {
	s := &u.shape
	switch {
	case u.passes():
	case u.conv != nil:
		if u.runtime != nil {
			list = append(list, u.loadWeights())
		}
		n, grain := u.conv.Tiles()
		list = append(list, sweep{n, sweepGrain / grain, func(c *Context, w *strided.Scratch, lo, hi int) {
			o := strided.DenseOperands{Source: c.source1, Result: c.result, Weights: c.weights}
			if u.weights != nil {
				o.Bias = u.weights.bias
			}
			u.conv.Run(w, &o, lo, hi)
		}})
	default:
		list = append(list, sweep{u.groups * s.Cout, s.Inputs * s.Hin * s.Win, u.reduceChannels})
	}
	if u.relu || u.table != nil || u.output != (kernel.ArrayOutput{Scale: 1}) {
		list = append(list, sweep{u.groups * s.Cout * s.Hout * s.Wout, 1, func(c *Context, _ *strided.Scratch, lo, hi int) {
			u.output.Apply(c.result, lo, hi)
			if u.relu {
				kernel.ReLU(c.result, lo, hi)
			}
			if u.table != nil {
				kernel.Table(c.result, u.table.f, lo, hi)
			}
		}})
	}
	return list
}

// reduceChannels computes channels of the result without weights.
func (u *arrayUnit) reduceChannels(c *Context, _ *strided.Scratch, lo, hi int) {
	s := &u.shape
	in, out := s.Cin*s.Hin*s.Win, s.Cout*s.Hout*s.Wout
	op := kernel.Sum
	switch u.op {
	case arrayMaximum:
		op = kernel.Largest
	case arrayProduct:
		op = kernel.Product
	}
	for lo < hi {
		g := lo / s.Cout
		first, last := lo-g*s.Cout, min(hi-g*s.Cout, s.Cout)
		kernel.ReduceChannels(c.result[g*out:][:out], c.source1[g*in:][:in], op, s, u.settle, first, last)
		lo += last - first
	}
}

func (u *arrayUnit) work() (steps, perTile float64) {
	s := &u.shape
	if u.op == arrayBypass {
		return 0, 0
	}
	perTile = float64(s.Wout) * float64(s.Weights())
	steps = float64(u.groups) * float64(s.Cout) * float64(s.Hout) * perTile
	if u.conv != nil {
		n, _ := u.conv.Tiles()
		return steps, steps / float64(n)
	}
	return steps, perTile * float64(s.Hout) // a tile is a plane
}

// bindProduct binds the sums of a task with weights.
func (b *binder) bindProduct(u *arrayUnit) error {
	var constant *strided.Weights
	if u.weights != nil {
		constant = &u.weights.values
	}
	u.conv = strided.BindDense(u.shape, u.groups, b.p.rules, b.p.gemm, &b.p.packs, constant)
	if err := b.p.claimScratch(u.conv.Need()); err != nil {
		return b.refuse(td.V7Cout, "%v", err)
	}
	return nil
}

// loadWeights reads weights that are made at run time.
func (u *arrayUnit) loadWeights() sweep {
	r, count := u.runtime, u.shape.Weights()
	return sweep{len(r.first), count, func(c *Context, _ *strided.Scratch, lo, hi int) {
		kernel.Weights(c.weights, c.memories[r.memory], r.first, count, r.stride, r.read, lo, hi)
	}}
}
