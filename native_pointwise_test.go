package espalier_test

import "math"

const threeChannels = "input %x : fp16[1,1,3,2,4]\n"

// pointwise is a definition that goes element by element.
func pointwise(f func(c int, x, z float64) float64) func(in, _ map[string][]float32) map[string][]float32 {
	return y(func(in map[string][]float32) []float32 {
		x, z := cube{3, 2, 4, in["x"]}, cube{3, 2, 4, in["z"]}
		return each(3, 2, 4, func(c, h, w int) float64 {
			other := 0.0
			if z.v != nil {
				other = z.at(c, h, w)
			}
			return f(c, x.at(c, h, w), other)
		})
	})
}

var pointwiseLayers = []nativeCase{
	{
		name: "ElementWise", within: 0.001,
		text:   threeChannels + "input %z : fp16[1,1,3,2,4]\n%y = anec.multiply(%x, %z) : fp16[1,1,3,2,4]\noutput %y\n",
		define: pointwise(func(_ int, x, z float64) float64 { return x * z }),
	},
	{
		name: "ElementWise_ports", // a container has them by name
		text: "input %z : fp16[1,1,1,1,4]\ninput %a : fp16[1,1,1,1,4]\n%y = anec.sub(%z, %a) : fp16[1,1,1,1,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			return each(1, 1, 4, func(_, _, w int) float64 { return float64(in["z"][w]) - float64(in["a"][w]) })
		}),
	},
	{
		name: "ScaledElementWise", within: 0.001, // y = s (x op z)
		text:   threeChannels + "input %z : fp16[1,1,3,2,4]\n%y = anec.scaled_elementwise(%x, %z) {type = Add, scale = 1.5} : fp16[1,1,3,2,4]\noutput %y\n",
		define: pointwise(func(_ int, x, z float64) float64 { return 1.5 * (x + z) }),
	},
	{
		name: "ScaledElementWise_larger", within: 0.001,
		text:   threeChannels + "input %z : fp16[1,1,3,2,4]\n%y = anec.scaled_elementwise(%x, %z) {type = Max, scale = -2} : fp16[1,1,3,2,4]\noutput %y\n",
		define: pointwise(func(_ int, x, z float64) float64 { return -2 * max(x, z) }),
	},
	{
		name: "Neuron", within: 0.005,
		text:   threeChannels + "%y = anec.sigmoid(%x) : fp16[1,1,3,2,4]\noutput %y\n",
		define: pointwise(func(_ int, x, _ float64) float64 { return 1 / (1 + math.Exp(-x)) }),
	},
	{
		name: "GOC", within: 0.002,
		text: threeChannels + `const %g : fp16[1,1,3,1,1] {data = [2, -1, 0.5]}
const %o : fp16[1,1,3,1,1] {data = [1, 0.25, -3]}
%y = anec.gain_offset_control(%x, %g, %o) : fp16[1,1,3,2,4]
output %y
`,
		define: pointwise(func(c int, x, _ float64) float64 {
			return []float64{2, -1, 0.5}[c]*x + []float64{1, 0.25, -3}[c]
		}),
	},
	{
		name: "GOC_numbers", within: 0.002,
		text:   threeChannels + "%y = anec.gain_offset_control(%x) {scale = 1.5, bias = -0.25} : fp16[1,1,3,2,4]\noutput %y\n",
		define: pointwise(func(_ int, x, _ float64) float64 { return 1.5*x - 0.25 }),
	},
	{
		name: "DynamicGOC", within: 0.004, // the sum comes first
		text: threeChannels + `input %scale : fp16[1,1,3,1,1]
input %bias : fp16[1,1,3,1,1]
%y = anec.dynamic_gain_offset_control(%x, %scale, %bias) : fp16[1,1,3,2,4]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 4, func(c, h, w int) float64 {
				return float64(in["scale"][c]) * (x.at(c, h, w) + float64(in["bias"][c]))
			})
		}),
	},
	{
		name: "DynamicGOC_bias", within: 0.002,
		text: threeChannels + `input %bias : fp16[1,1,3,1,1]
%y = anec.dynamic_gain_offset_control(%x, _, %bias) {bias_only = true} : fp16[1,1,3,2,4]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 4, func(c, h, w int) float64 { return x.at(c, h, w) + float64(in["bias"][c]) })
		}),
	},
	{
		name:   "Dropout", // of inference, at rate 0
		text:   threeChannels + "%y = anec.dropout(%x) : fp16[1,1,3,2,4]\noutput %y\n",
		define: pointwise(func(_ int, x, _ float64) float64 { return x }),
	},
	{
		name: "Quant",
		text: threeChannels + `const %s : fp16[1,1,1,1,1] {data = [0.25]}
const %o : int8[1,1,1,1,1] {data = splat(3)}
%y = anec.quantize(%x, %s, %o) {to = int8} : int8[1,1,3,2,4]
output %y
`,
		define: pointwise(func(_ int, x, _ float64) float64 { return max(-128, min(127, math.RoundToEven(x/0.25)+3)) }),
	},
	{
		name: "DeQuant", within: 0.001, give: map[string][]float32{"x": numbers(24)},
		text: `input %x : int8[1,1,3,2,4]
const %s : fp16[1,1,3,1,1] {data = [0.25, 0.5, 1]}
const %o : int8[1,1,1,1,1] {data = splat(5)}
%y = anec.dequantize(%x, %s, %o) : fp16[1,1,3,2,4]
output %y
`,
		define: pointwise(func(c int, x, _ float64) float64 { return (x - 5) * []float64{0.25, 0.5, 1}[c] }),
	},
	{
		name:   "Copy",
		text:   threeChannels + "%y = anec.copy(%x) : fp16[1,1,3,2,4]\noutput %y\n",
		define: pointwise(func(_ int, x, _ float64) float64 { return x }),
	},
	{
		name: "TypeCast", give: map[string][]float32{"x": numbers(24)},
		text:   "input %x : int8[1,1,3,2,4]\n%y = anec.cast(%x) {to = fp16} : fp16[1,1,3,2,4]\noutput %y\n",
		define: pointwise(func(_ int, x, _ float64) float64 { return x }),
	},
	{
		name: "Select",
		text: threeChannels + `input %z : fp16[1,1,3,2,4]
%c = anec.less(%x, %z) : bool[1,1,3,2,4]
%y = anec.select(%c, %x, %z) : fp16[1,1,3,2,4]
output %y
`,
		define: pointwise(func(_ int, x, z float64) float64 { return min(x, z) }),
	},
	{
		name: "BatchNorm", within: 0.004,
		text: threeChannels + `const %m : fp16[1,1,3,1,1] {data = [0.5, -1, 0]}
const %v : fp16[1,1,3,1,1] {data = [1, 4, 0.25]}
const %g : fp16[1,1,3,1,1] {data = [1, 2, -1]}
const %b : fp16[1,1,3,1,1] {data = [0, 1, 0.5]}
%y = anec.batch_norm(%x, %m, %v, %g, %b) {epsilon = 0.001} : fp16[1,1,3,2,4]
output %y
`,
		define: pointwise(func(c int, x, _ float64) float64 {
			mean, variance := []float64{0.5, -1, 0}[c], []float64{1, 4, 0.25}[c]
			return []float64{1, 2, -1}[c]*(x-mean)/math.Sqrt(variance+0.001) + []float64{0, 1, 0.5}[c]
		}),
	},
}
