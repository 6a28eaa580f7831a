package engine

import (
	"github.com/espalier-ane/espalier/internal/kernel"
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

	again  kernel.Accumulation // rules about each product; the zero value: none
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
	if u.op == multiplyAccumulate {
		// Only sums go through the accumulator and its port (hal.Numerics).
		source.read.FlushSubnormals = n.FlushArraySubnormals
		u.output.FlushSubnormals = n.FlushArraySubnormals
		u.output.SaturateAt = n.SaturateAtPort
		u.again = kernel.Accumulation{Settle: n.IndeterminateToZero, Lanes: n.TileLanes}
		if n.SaturatePartials {
			u.again.Limit = n.SaturateAtPort
		}
	}
	// rsqrt adds its epsilon there (oracles, unary_rsqrt_c64). Where it stands
	// among the others is not known.
	if u.output.Bias != 0 && (u.op != multiplyAccumulate || !b.flag(td.V7NEUnityKernel)) {
		return nil, nil, b.refuse(td.V7NEAccumulatorBias, "an accumulator bias is known in sums without weights only")
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

func (u *arrayUnit) compute(c *Context) {
	s := &u.shape
	in, out := s.Cin*s.Hin*s.Win, s.Cout*s.Hout*s.Wout
	if u.op == arrayBypass {
		copy(c.result, c.source1[:u.groups*in])
	} else {
		weights, bias := u.load(c)
		for g := range u.groups {
			src, dst := c.source1[g*in:][:in], c.result[g*out:][:out]
			if weights != nil {
				per := s.Cout * s.Weights()
				u.convolve(c, dst, src, weights[g*per:][:per], group(bias, g, s.Cout))
				continue
			}
			op := kernel.Sum
			switch u.op {
			case arrayMaximum:
				op = kernel.Largest
			case arrayProduct:
				op = kernel.Product
			}
			c.inTiles(s.Cout, s.Inputs*s.Hin*s.Win, func(lo, hi int) {
				kernel.ReduceChannels(dst, src, op, s, u.again.Settle, lo, hi)
			})
		}
	}
	c.inTiles(u.groups*out, 1, func(lo, hi int) {
		u.output.Apply(c.result, lo, hi)
		if u.relu {
			kernel.ReLU(c.result, lo, hi)
		}
		if u.table != nil {
			kernel.Table(c.result, u.table.f, lo, hi)
		}
	})
}

func (u *arrayUnit) work() (steps, perTile float64) {
	s := &u.shape
	if u.op == arrayBypass {
		return 0, 0
	}
	perTile = float64(s.Wout) * float64(s.Weights())
	steps = float64(u.groups) * float64(s.Cout) * float64(s.Hout) * perTile
	if u.weights == nil && u.runtime == nil {
		perTile *= float64(s.Hout) // a tile is a plane then
	}
	return steps, perTile
}

// load returns the weights and biases, nil if there are none.
func (u *arrayUnit) load(c *Context) (weights, bias []float32) {
	switch {
	case u.weights != nil:
		return u.weights.values, u.weights.bias
	case u.runtime != nil:
		r := u.runtime
		c.inTiles(len(r.first), u.shape.Weights(), func(lo, hi int) {
			kernel.Weights(c.weights, c.memories[r.memory], r.first, u.shape.Weights(), r.stride, r.read, lo, hi)
		})
		return c.weights, nil
	}
	return nil, nil
}

// group returns the n values of a group, nil of nil.
func group(values []float32, g, n int) []float32 {
	if values == nil {
		return nil
	}
	return values[g*n:][:n]
}

func (u *arrayUnit) convolve(c *Context, dst, src, weights, bias []float32) {
	s := &u.shape
	var greatest float32
	if u.again.Limit != 0 {
		greatest = kernel.Greatest(src)
	}
	c.inTiles(s.Cout*s.Hout, s.Wout*s.Weights(), func(lo, hi int) {
		if s.IsPoint() {
			kernel.ConvolvePoint(dst, src, weights, bias, s, lo, hi)
		} else {
			kernel.Convolve(dst, src, weights, bias, s, lo, hi)
		}
		if u.again != (kernel.Accumulation{}) {
			kernel.ConvolveAgain(dst, src, weights, bias, s, &u.again, greatest, lo, hi)
		}
	})
}
