package ops

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var normalizationOps = []Def{
	{
		Name: "batch_norm",
		Doc:  "gamma · (x - mean) / √(variance + epsilon) + beta with given numbers for each channel",
		Versions: untiedSince17(In("x", Float).As("T"), Const("mean", Float).As("T"), Const("variance", Float).As("T"),
			OptConst("gamma", Float, nil).As("T"), OptConst("beta", Float, nil).As("T"), OptConst("epsilon", Float, 1e-5).As("T")),
		Infer: likeX(func(c *Call) error {
			if err := checkScalars(c, "epsilon"); err != nil {
				return err
			}
			return checkChannels(c, "mean", "variance", "gamma", "beta")
		}),
		Eval:  evalBatchNorm,
		Lower: lowerBatchNorm,
	},
	{
		Name: "instance_norm",
		Doc:  "gamma · (x - mean) / √(variance + epsilon) + beta with mean and variance of each channel of each image",
		Versions: untiedSince17(In("x", Float).As("T"),
			OptConst("gamma", Float, nil).As("T"), OptConst("beta", Float, nil).As("T"), OptConst("epsilon", Float, 1e-5).As("T")),
		Infer: likeX(func(c *Call) error {
			if err := checkScalars(c, "epsilon"); err != nil {
				return err
			}
			return checkChannels(c, "gamma", "beta")
		}),
		Eval:  evalInstanceNorm,
		Lower: lowerInstanceNorm,
	},
	{
		Name: "layer_norm",
		Doc:  "gamma · (x - mean) / √(variance + epsilon) + beta with mean and variance over axes",
		Versions: untiedSince17(In("x", Float).As("T"), OptConst("axes", I32, nil),
			OptConst("gamma", Float, nil).As("T"), OptConst("beta", Float, nil).As("T"), OptConst("epsilon", Float, 1e-5).As("T")),
		Infer: likeX(checkLayerNorm),
		Eval:  evalLayerNorm,
		Lower: lowerLayerNorm,
	},
	{
		Name:     "l2_norm",
		Doc:      "x / √(Σ x² + epsilon), the sum over the last three axes",
		Versions: untiedSince17(In("x", Float).As("T"), OptConst("epsilon", Float, 1e-6).As("T")),
		Infer: likeX(func(c *Call) error {
			if c.Rank("x") < 3 {
				return fmt.Errorf("x is %v, expected rank 3 or more", c.Type("x"))
			}
			return checkScalars(c, "epsilon")
		}),
		Eval:  evalL2Norm,
		Lower: lowerL2Norm,
	},
	{
		Name: "local_response_norm",
		Doc:  "x / (k + alpha / size · Σ x²)^beta, the sum over size neighbouring channels",
		Versions: untiedSince17(In("x", Float).As("T"), Const("size", I32), OptConst("alpha", Float, 1e-4).As("T"),
			OptConst("beta", Float, 0.75).As("T"), OptConst("k", Float, 1.0).As("T")),
		Infer: likeX(func(c *Call) error {
			if err := checkScalars(c, "size", "alpha", "beta", "k"); err != nil {
				return err
			}
			if c.Int("size") < 1 {
				return fmt.Errorf("size is %d, expected 1 or more", c.Int("size"))
			}
			return checkChannels(c)
		}),
		Eval:  evalLocalResponseNorm,
		Lower: lowerLocalResponseNorm,
	},
}

// scaleAt is gamma or beta at an index, or what stands for them if they are left out.
func scaleAt(c *Call, param string, otherwise float64) func(i int) float64 {
	if !c.Has(param) {
		return func(int) float64 { return otherwise }
	}
	vals := c.Floats(param)
	return func(i int) float64 { return float64(vals[i]) }
}

func evalBatchNorm(c *Call) error {
	mean, variance := c.Floats("mean"), c.Floats("variance")
	gamma, beta := scaleAt(c, "gamma", 1), scaleAt(c, "beta", 0)
	epsilon := float64(c.Float("epsilon"))
	scale := make([]float64, len(mean))
	for i := range scale {
		scale[i] = gamma(i) / math.Sqrt(float64(variance[i])+epsilon)
	}
	return pointwiseByChannel(c, func(ch int, x float64) float64 {
		return float64((x-float64(mean[ch]))*scale[ch]) + beta(ch)
	})
}

func evalInstanceNorm(c *Call) error {
	shape := c.OutShape(0)
	inner := lengthOf(shape[2:])
	gamma, beta := scaleAt(c, "gamma", 1), scaleAt(c, "beta", 0)
	c.ReturnFloats(0, normalizeRows(c, c.Floats("x"), inner,
		func(row, _ int) float64 { return gamma(row % shape[1]) },
		func(row, _ int) float64 { return beta(row % shape[1]) }))
	return nil
}

func checkLayerNorm(c *Call) error {
	axes, err := reducedAxes(c)
	if err != nil {
		return err
	}
	want := tensor.Shape{}
	for _, a := range axes {
		want = append(want, c.Shape("x")[a])
	}
	for _, p := range []string{"gamma", "beta"} {
		if c.Has(p) && !c.Shape(p).Compatible(want) {
			return fmt.Errorf("parameter %s is %v, expected %v: the shape of x, %v, at axes %v",
				p, c.Type(p), mil.Tensor(c.DType(p), want...), c.Type("x"), axes)
		}
	}
	return checkScalars(c, "epsilon")
}

func evalLayerNorm(c *Call) error {
	axes, err := reducedAxes(c)
	if err != nil {
		return err
	}
	x, _, gone, err := rowsOver(c, axes)
	if err != nil {
		return err
	}
	gamma, beta := scaleAt(c, "gamma", 1), scaleAt(c, "beta", 0)
	out := normalizeRows(c, x.Float32s(), gone,
		func(_, i int) float64 { return gamma(i) },
		func(_, i int) float64 { return beta(i) })
	// The axes go back to where they came from.
	back := make([]int, x.Rank())
	for i, p := range keptThenGone(x.Rank(), axes) {
		back[p] = i
	}
	y, err := tensor.Of(out, x.Shape()...).Transpose(back...)
	if err != nil {
		return err
	}
	c.Return(0, y)
	return nil
}

// normalizeRows takes rows of n elements each to mean 0 and variance 1, and then scales and shifts them.
func normalizeRows(c *Call, x []float32, n int, gamma, beta func(row, i int) float64) []float32 {
	epsilon := float64(c.Float("epsilon"))
	narrow := narrowing(c.Out(0).DType)
	out := make([]float32, len(x))
	c.forRows(len(x), n, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			all := row[float32]{c.halt, x[r*n : (r+1)*n]}
			m := meanOf(all)
			variance := 0.0
			for part := range all.parts {
				for _, v := range part {
					variance += float64((float64(v) - m) * (float64(v) - m))
				}
			}
			scale := 1 / math.Sqrt(variance/float64(n)+epsilon)
			for lo, hi := range c.pieces(n) {
				for i := lo; i < hi; i++ {
					out[r*n+i] = narrow(float64((float64(all.all[i])-m)*scale*gamma(r, i)) + beta(r, i))
				}
			}
		}
	})
	return out
}

func evalL2Norm(c *Call) error {
	shape := c.OutShape(0)
	n := lengthOf(shape[len(shape)-3:])
	epsilon, narrow := float64(c.Float("epsilon")), narrowing(c.Out(0).DType)
	x := c.Floats("x")
	out := make([]float32, len(x))
	c.forRows(len(x), n, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			all := row[float32]{c.halt, x[r*n : (r+1)*n]}
			scale := math.Sqrt(sumSquare(all) + epsilon)
			for lo, hi := range c.pieces(n) {
				for i := lo; i < hi; i++ {
					out[r*n+i] = narrow(float64(all.all[i]) / scale)
				}
			}
		}
	})
	c.ReturnFloats(0, out)
	return nil
}

// evalLocalResponseNorm sums over the channels c - size/2 … c + (size-1)/2, so that of an even number the
// odd one is below.
func evalLocalResponseNorm(c *Call) error {
	shape := c.OutShape(0)
	channels, inner := shape[1], lengthOf(shape[2:])
	size := c.Int("size")
	alpha, beta, k := float64(c.Float("alpha")), float64(c.Float("beta")), float64(c.Float("k"))
	x, narrow := c.Floats("x"), narrowing(c.Out(0).DType)
	out := make([]float32, len(x))
	c.forRows(len(x), inner, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			ch := row % channels
			first, last := max(0, ch-size/2), min(channels-1, ch+(size-1)/2)
			for i := range inner {
				if c.asked() {
					return
				}
				s := 0.0
				for near := first; near <= last; near++ {
					v := float64(x[(row-ch+near)*inner+i])
					s += float64(v * v)
				}
				at := row*inner + i
				out[at] = narrow(float64(x[at]) / math.Pow(k+float64(alpha/float64(size)*s), beta))
			}
		}
	})
	c.ReturnFloats(0, out)
	return nil
}
