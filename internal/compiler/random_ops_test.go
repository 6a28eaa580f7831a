package compiler_test

import (
	"math"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// makers add an operation each, or nothing where what they chose does not fit.
var makers = []func(*grower){
	unary, unary, unary, scaled, binary, binary, binary, binary, compare, logical, cast, cast, choose,
	reshape, reshape, transpose, transpose, sliceIndex, sliceIndex, sliceSize, concat, concat, stack, split, tile, pad, squeeze, expand,
	gather, gatherAlong, gatherND, scatter, scatterAlong, scatterND, sliceUpdate, reverse, oneHot, sortLike, cumulative, bands, windows, fills,
	reduce, reduce, arg, softmax, layerNorm, otherNorm, batchNorm, localNorm,
	conv, conv, convTranspose, pool, pool, matmul, matmul, linear, attention, einsum,
	resize, upsample, shuffles, crop, quantize, useState, useState, constantOutput, cropResize, recurrent, shapeOf,
}

// roundedKinds are operations whose results may differ in the last bits.
var roundedKinds = map[string]bool{}

func init() {
	for _, kinds := range [][]string{
		unaryKinds, scaledKinds, reduceKinds,
		{"add", "sub", "mul", "real_div", "floor_div", "mod", "pow", "softmax", "layer_norm", "instance_norm", "l2_norm", "batch_norm",
			"local_response_norm", "conv", "conv_transpose", "avg_pool", "l2_pool", "matmul", "linear", "scaled_dot_product_attention", "einsum",
			"resize", "resize_bilinear", "upsample_bilinear", "cumsum", "prelu", "softplus_parametric", "scatter", "scatter_nd", "scatter_along_axis",
			"affine", "resample", "crop_resize", "lstm", "gru", "rnn", "dequantize", "quantize", "cast"},
	} {
		for _, k := range kinds {
			roundedKinds[k] = true
		}
	}
}

// with are the arguments of an operation.
type with = map[string]any

var unaryKinds = []string{
	"relu", "relu6", "sigmoid", "tanh", "abs", "exp", "exp2", "erf", "sin", "cos", "sinh", "cosh", "atan", "asin", "acos", "atanh",
	"softplus", "softsign", "silu", "gelu", "sqrt", "rsqrt", "log", "inverse", "square", "ceil", "floor", "round", "sign", "tan", "identity",
}

func unary(g *grower) {
	x := g.float(0, 5)
	if g.r.IntN(8) == 0 {
		x = g.any([2]int{0, 5}, tensor.Int32)
		kind := g.among("abs", "square", "sign", "identity")
		g.add(kind, with{"x": x}, tensor.Int32)
		return
	}
	kind := unaryKinds[g.r.IntN(len(unaryKinds))]
	args := with{"x": x}
	ok := true
	switch kind {
	case "asin", "acos", "atanh":
		ok = g.within(x, -0.9, 0.9)
	case "sqrt", "rsqrt", "log":
		ok = g.within(x, 0.1, 1000)
	case "inverse":
		ok = g.clear(x, func(v float64) float64 { return v / 8 })
	case "tan":
		ok = g.within(x, -1.3, 1.3)
	case "exp", "exp2", "sinh", "cosh":
		ok = g.within(x, -6, 6)
	case "sin", "cos":
		ok = g.within(x, -20, 20)
	case "ceil", "floor":
		ok = g.clear(x, func(v float64) float64 { return v - math.Round(v) })
	case "round":
		ok = g.clear(x, func(v float64) float64 { return v - math.Floor(v) - 0.5 })
	case "sign":
		ok = g.clear(x, func(v float64) float64 { return v })
	case "gelu":
		args["mode"] = g.among("EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION")
	}
	if ok {
		g.add(kind, args, g.values[x].DType())
	}
}

var scaledKinds = []string{
	"elu", "leaky_relu", "clamped_relu", "linear_activation", "scaled_tanh", "sigmoid_hard", "thresholded_relu", "threshold", "clip",
}

// scalar makes a scalar of a type.
func scalar(d tensor.DType, v float32) *tensor.Tensor { return tensor.FromFloat32s(d, []float32{v}) }

func scaled(g *grower) {
	x := g.float(0, 5)
	d := g.values[x].DType()
	kind := scaledKinds[g.r.IntN(len(scaledKinds))]
	a := float32(g.r.IntN(17)-8) / 8
	args := with{"x": x, "alpha": scalar(d, a)}
	switch kind {
	case "clamped_relu", "linear_activation", "scaled_tanh", "sigmoid_hard":
		args["beta"] = scalar(d, float32(g.r.IntN(17))/8)
	case "clip":
		args["beta"] = scalar(d, a+float32(1+g.r.IntN(10))/8)
	case "thresholded_relu":
		if !g.clear(x, func(v float64) float64 { return v - float64(a) }) {
			return
		}
	}
	if g.r.IntN(5) == 0 && g.values[x].Rank() >= 3 {
		c := g.values[x].Shape()[1]
		if g.flip() {
			alpha := g.random(d, []int{c})
			if g.values[x].Rank() != 4 {
				alpha = tensor.FromFloat32s(d, repeated(a, c), c)
			}
			g.add("prelu", with{"x": x, "alpha": alpha}, d)
		} else {
			g.add("softplus_parametric", with{"x": x, "alpha": g.random(d, []int{c}), "beta": g.random(d, []int{c})}, d)
		}
		return
	}
	g.add(kind, args, d)
}

func repeated(v float32, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func binary(g *grower) {
	x := g.numeric(0, 5)
	y := g.like(x)
	d := g.values[x].DType()
	kind := g.among("add", "sub", "mul", "maximum", "minimum", "add", "mul", "real_div", "floor_div", "mod", "pow")
	if g.flip() {
		x, y = y, x
	}
	switch kind {
	case "real_div", "floor_div", "mod":
		for _, v := range g.values[y].Float64s() {
			if math.Abs(v) < 0.2 {
				return
			}
		}
		if d.IsFloat() && kind != "real_div" && !(g.exact[x] && g.exact[y]) {
			return
		}
	case "pow":
		if d.IsFloat() && !(g.within(x, 0.1, 5) && g.within(y, -3, 3)) || !d.IsFloat() && !(g.within(x, -9, 9) && g.within(y, 0, 4)) {
			return
		}
	}
	g.add(kind, with{"x": x, "y": y}, d)
}

// differ reports whether a comparison of two values is settled.
func (g *grower) differ(x, y ref) bool {
	if g.exact[x] && g.exact[y] {
		return true
	}
	g.jumps = true
	a, b := g.values[x], g.values[y]
	if a.Len()*b.Len() > mostSmall*mostSmall {
		return false
	}
	for _, v := range a.Float64s() {
		for _, w := range b.Float64s() {
			if math.Abs(v-w) < 0.02*(1+math.Abs(v)) {
				return false
			}
		}
	}
	return true
}

func compare(g *grower) {
	x := g.numeric(0, 5)
	y := g.like(x)
	if g.differ(x, y) {
		g.add(g.among("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), with{"x": x, "y": y}, tensor.Bool)
	}
}

func logical(g *grower) {
	x := g.any([2]int{0, 5}, tensor.Bool)
	if g.r.IntN(4) == 0 {
		g.add("logical_not", with{"x": x}, tensor.Bool)
		return
	}
	g.add(g.among("logical_and", "logical_or", "logical_xor"), with{"x": x, "y": g.like(x)}, tensor.Bool)
}

var allTypes = []tensor.DType{
	tensor.Float16, tensor.Float32, tensor.Int32, tensor.Bool, tensor.Int8, tensor.UInt8, tensor.Int16, tensor.UInt16,
}

func cast(g *grower) {
	x := g.any([2]int{0, 5}, allTypes...)
	to := allTypes[g.r.IntN(len(allTypes))]
	from := g.values[x].DType()
	if from.IsFloat() && !to.IsFloat() {
		lo, hi := to.IntRange()
		if to == tensor.Bool {
			lo, hi = math.MinInt32, math.MaxInt32
		}
		if !g.within(x, float64(lo), float64(hi)) || !g.clear(x, func(v float64) float64 { return v - math.Round(v) }) {
			return
		}
	}
	g.add("cast", with{"x": x, "dtype": to.String()}, to)
}

func choose(g *grower) {
	a := g.any([2]int{0, 5}, tensor.Float16, tensor.Float32, tensor.Int32, tensor.Bool)
	b := g.like(a)
	s, err := tensor.Broadcast(tensor.ShapeOf(g.values[a].Shape()...), tensor.ShapeOf(g.values[b].Shape()...))
	if err != nil {
		return
	}
	dims, _ := s.Ints()
	cond := g.fresh(tensor.Bool, dims)
	g.add("select", with{"cond": cond, "a": a, "b": b}, g.values[a].DType())
}

var reduceKinds = []string{
	"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_l1_norm", "reduce_l2_norm", "reduce_log_sum",
	"reduce_log_sum_exp", "reduce_sum_square",
}

func (g *grower) axes(rank int) []int32 {
	var axes []int32
	for i := range rank {
		if g.flip() {
			axes = append(axes, int32(i))
			if g.r.IntN(3) == 0 {
				axes[len(axes)-1] -= int32(rank)
			}
		}
	}
	if len(axes) == 0 {
		axes = append(axes, int32(g.r.IntN(rank)))
	}
	return axes
}

func reduce(g *grower) {
	x := g.numeric(1, 5)
	kind := reduceKinds[g.r.IntN(len(reduceKinds))]
	if kind == "reduce_log_sum" && !g.within(x, 0.1, 1000) {
		return
	}
	if !g.values[x].DType().IsFloat() && (kind == "reduce_log_sum" || kind == "reduce_log_sum_exp" || kind == "reduce_l2_norm" || kind == "reduce_mean") {
		kind = "reduce_sum"
	}
	args := with{"x": x, "keep_dims": g.flip()}
	if g.r.IntN(5) != 0 {
		args["axes"] = g.axes(g.values[x].Rank())
	}
	g.add(kind, args, g.values[x].DType())
}

func arg(g *grower) {
	x := g.numeric(1, 5)
	if !g.apart(x) {
		return
	}
	d := tensor.Int32
	if g.r.IntN(4) == 0 {
		d = tensor.UInt16
	}
	g.add(g.among("reduce_argmax", "reduce_argmin"),
		with{"x": x, "axis": g.axis(x), "keep_dims": g.flip(), "output_dtype": d.String()}, d)
}

// axis is one of a value, counted from either end.
func (g *grower) axis(x ref) int32 {
	rank := g.values[x].Rank()
	return int32(g.r.IntN(2*rank) - rank)
}

func softmax(g *grower) {
	x := g.float(1, 5)
	g.add("softmax", with{"x": x, "axis": g.axis(x)}, g.values[x].DType())
}

func layerNorm(g *grower) {
	x := g.float(1, 5)
	v := g.values[x]
	first := g.r.IntN(v.Rank())
	args := with{"x": x, "epsilon": scalar(v.DType(), 0.01)}
	var axes []int32
	for i := first; i < v.Rank(); i++ {
		axes = append(axes, int32(i))
	}
	if g.r.IntN(4) == 0 {
		axes = []int32{int32(first)}
	}
	var shape []int
	for _, a := range axes {
		shape = append(shape, v.Shape()[a])
	}
	args["axes"] = axes
	if g.flip() {
		args["gamma"] = g.random(v.DType(), shape)
	}
	if g.flip() {
		args["beta"] = g.random(v.DType(), shape)
	}
	g.add("layer_norm", args, v.DType())
}

func otherNorm(g *grower) {
	x := g.float(3, 5)
	v := g.values[x]
	if g.flip() {
		g.add("l2_norm", with{"x": x, "epsilon": scalar(v.DType(), 0.01)}, v.DType())
		return
	}
	args := with{"x": x, "epsilon": scalar(v.DType(), 0.01)}
	if g.flip() {
		args["gamma"] = g.random(v.DType(), []int{v.Shape()[1]})
	}
	if g.flip() {
		args["beta"] = g.random(v.DType(), []int{v.Shape()[1]})
	}
	g.add("instance_norm", args, v.DType())
}

func batchNorm(g *grower) {
	x := g.float(3, 5)
	v := g.values[x]
	c := v.Shape()[1]
	variance := make([]float32, c)
	for i := range variance {
		variance[i] = 0.5 + g.r.Float32()
	}
	args := with{"x": x, "mean": g.random(v.DType(), []int{c}), "variance": tensor.FromFloat32s(v.DType(), variance, c)}
	if g.flip() {
		args["gamma"] = g.random(v.DType(), []int{c})
	}
	if g.flip() {
		args["beta"] = g.random(v.DType(), []int{c})
	}
	g.add("batch_norm", args, v.DType())
}

func localNorm(g *grower) {
	x := g.float(3, 4)
	d := g.values[x].DType()
	g.add("local_response_norm", with{
		"x": x, "size": int32(1 + g.r.IntN(5)), "alpha": scalar(d, 0.25), "beta": scalar(d, 0.75), "k": scalar(d, 1)}, d)
}

func quantize(g *grower) {
	if g.flip() {
		x := g.any([2]int{0, 5}, tensor.Int8, tensor.UInt8)
		v := g.values[x]
		d := []tensor.DType{tensor.Float16, tensor.Float32}[g.r.IntN(2)]
		args := with{"input": x, "scale": scalar(d, 0.125)}
		if v.Rank() > 0 && g.flip() {
			axis := g.r.IntN(v.Rank())
			n := v.Shape()[axis]
			scale := make([]float32, n)
			for i := range scale {
				scale[i] = 0.1 + g.r.Float32()
			}
			args["axis"], args["scale"] = int32(axis), tensor.FromFloat32s(d, scale, n)
			if g.flip() {
				args["zero_point"] = g.random(v.DType(), []int{n})
			}
		}
		g.add("dequantize", args, d)
		return
	}
	x := g.float(0, 5)
	d := []tensor.DType{tensor.Int8, tensor.UInt8}[g.r.IntN(2)]
	if !g.clear(x, func(v float64) float64 { return 8*v - math.Floor(8*v) - 0.5 }) {
		return
	}
	g.add("quantize", with{"input": x, "scale": scalar(g.values[x].DType(), 0.125), "output_dtype": d.String()}, d)
}

// useState reads or writes a state.
func useState(g *grower) {
	if len(g.states) == 0 || g.r.IntN(6) == 0 && len(g.states) < 3 {
		id := g.number()
		d := []tensor.DType{tensor.Float16, tensor.Float16, tensor.Float32, tensor.Int32}[g.r.IntN(4)]
		t := g.random(d, g.shape(1+g.r.IntN(4)))
		g.states = append(g.states, source{id, t})
		g.now[id], g.exact[id], g.values[id] = t, true, t
	}
	s := g.states[g.r.IntN(len(g.states))]
	read := func() ref {
		id := g.number()
		g.steps = append(g.steps, &step{kind: "read_state", args: with{"input": s.id}, outs: []ref{id}})
		g.values[id], g.exact[id] = g.now[s.id], false
		g.live = append(g.live, id)
		return id
	}
	write := func(id ref) {
		g.steps = append(g.steps, &step{kind: "write_state", args: with{"input": s.id, "data": id}})
		g.now[s.id] = g.values[id]
	}
	switch g.r.IntN(4) {
	case 0:
		read()
	case 1: // anything that fits
		for _, id := range g.live {
			if v := g.values[id]; mil.Equal(mil.TypeOf(v), mil.TypeOf(s.value)) {
				write(id)
				if g.flip() {
					read()
				}
				return
			}
		}
		write(g.fresh(s.value.DType(), s.value.Shape()))
	default: // a slice
		x := read()
		if y := g.updateSlice(x); y != 0 {
			write(y)
			if g.r.IntN(3) > 0 {
				read()
			}
		}
	}
}

func constantOutput(g *grower) {
	if g.r.IntN(3) == 0 {
		g.constant(g.random(allTypes[g.r.IntN(len(allTypes))], g.shape(g.r.IntN(6))))
	}
}

func shapeOf(g *grower) {
	x := g.any([2]int{1, 5}, tensor.Float16, tensor.Float32, tensor.Int32, tensor.Bool)
	g.add("shape", with{"x": x}, tensor.Int32)
}
