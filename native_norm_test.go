package espalier_test

import "math"

// moments are mean and variance of numbers.
func moments(list []float64) (mean, variance float64) {
	for _, v := range list {
		mean += v / float64(len(list))
	}
	for _, v := range list {
		variance += (v - mean) * (v - mean) / float64(len(list))
	}
	return mean, variance
}

// channelOf are all elements of a channel.
func (x cube) channelOf(c int) (list []float64) {
	for h := range x.h {
		for w := range x.w {
			list = append(list, x.at(c, h, w))
		}
	}
	return list
}

var normLayers = []nativeCase{
	{
		name: "Reduction", within: 0.005,
		text: threeChannels + "%y = anec.reduce_mean(%x) {axes = HW} : fp16[1,1,3,1,1]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 1, 1, func(c, _, _ int) float64 { mean, _ := moments(x.channelOf(c)); return mean })
		}),
	},
	{
		name: "Softmax", within: 0.004,
		text: threeChannels + "%y = anec.softmax(%x) {axes = C} : fp16[1,1,3,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 4, func(c, h, w int) float64 {
				sum := 0.0
				for i := range 3 {
					sum += math.Exp(x.at(i, h, w))
				}
				return math.Exp(x.at(c, h, w)) / sum
			})
		}),
	},
	{
		name: "LayerNormalization", within: 0.01,
		text: threeChannels + `const %g : fp16[1,1,1,1,4] {data = [1, 2, -1, 0.5]}
const %b : fp16[1,1,1,1,4] {data = [0, 1, 0, -1]}
%y = anec.layer_norm(%x, %g, %b) {axes = W, epsilon = 0.001} : fp16[1,1,3,2,4]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 4, func(c, h, w int) float64 {
				mean, variance := moments([]float64{x.at(c, h, 0), x.at(c, h, 1), x.at(c, h, 2), x.at(c, h, 3)})
				return (x.at(c, h, w)-mean)/math.Sqrt(variance+0.001)*[]float64{1, 2, -1, 0.5}[w] + []float64{0, 1, 0, -1}[w]
			})
		}),
	},
	{
		name: "InstanceNormalization", within: 0.01,
		text: threeChannels + `const %g : fp16[1,1,3,1,1] {data = [1, 2, -1]}
const %b : fp16[1,1,3,1,1] {data = [0, 1, 0.5]}
%y = anec.instance_norm(%x, %g, %b) {axes = HW, epsilon = 0.001} : fp16[1,1,3,2,4]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 4, func(c, h, w int) float64 {
				mean, variance := moments(x.channelOf(c))
				return (x.at(c, h, w)-mean)/math.Sqrt(variance+0.001)*[]float64{1, 2, -1}[c] + []float64{0, 1, 0.5}[c]
			})
		}),
	},
	{
		name: "L2Normalization", within: 0.004,
		text: threeChannels + "%y = anec.l2_norm(%x) {axes = C, epsilon = 0.001} : fp16[1,1,3,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 4, func(c, h, w int) float64 {
				sum := 0.001
				for i := range 3 {
					sum += x.at(i, h, w) * x.at(i, h, w)
				}
				return x.at(c, h, w) / math.Sqrt(sum)
			})
		}),
	},
	{
		name: "MinMaxNormalization", within: 0.002, // each row
		text: threeChannels + "%y = anec.min_max_norm(%x) {axes = W, epsilon = 0.001} : fp16[1,1,3,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 4, func(c, h, w int) float64 {
				least := min(x.at(c, h, 0), x.at(c, h, 1), x.at(c, h, 2), x.at(c, h, 3))
				most := max(x.at(c, h, 0), x.at(c, h, 1), x.at(c, h, 2), x.at(c, h, 3))
				return (x.at(c, h, w) - least) / (most - least + 0.001)
			})
		}),
	},
	{
		name: "MinMaxNormalization_height", within: 0.002, // each column
		text: threeChannels + "%y = anec.min_max_norm(%x) {axes = H, epsilon = 0.001} : fp16[1,1,3,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 4, func(c, h, w int) float64 {
				least, most := min(x.at(c, 0, w), x.at(c, 1, w)), max(x.at(c, 0, w), x.at(c, 1, w))
				return (x.at(c, h, w) - least) / (most - least + 0.001)
			})
		}),
	},
	{
		name: "MinMaxNormalization_channel", within: 0.002, refused: m1("Min/max norm layer does not support batch/channel axis"),
		text: threeChannels + "%y = anec.min_max_norm(%x) {axes = C, epsilon = 0.001} : fp16[1,1,3,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 4, func(c, h, w int) float64 {
				least, most := min(x.at(0, h, w), x.at(1, h, w), x.at(2, h, w)), max(x.at(0, h, w), x.at(1, h, w), x.at(2, h, w))
				return (x.at(c, h, w) - least) / (most - least + 0.001)
			})
		}),
	},
	{
		// Alpha is divided by the channels of the window, which are the first, and the rest stays.
		name: "LocalResponseNormalization", within: 0.004,
		text: "input %x : fp16[1,1,5,2,3]\n%y = anec.lrn(%x) {size = 3, alpha = 2, beta = 0.75, k = 0.5} : fp16[1,1,5,2,3]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{5, 2, 3, in["x"]}
			return each(5, 2, 3, func(c, h, w int) float64 {
				if c >= 3 {
					return x.at(c, h, w)
				}
				sum := 0.0
				for i := range 3 {
					sum += x.at(i, h, w) * x.at(i, h, w)
				}
				return x.at(c, h, w) / math.Pow(0.5+2.0/3*sum, 0.75)
			})
		}),
	},
	{
		name: "LocalResponseNormalization_many", within: 0.004, refused: m1("LRN of 16 or more channels fails code generation"),
		text: "input %x : fp16[1,1,16,1,2]\n%y = anec.lrn(%x) {size = 16, alpha = 4, beta = 1} : fp16[1,1,16,1,2]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{16, 1, 2, in["x"]}
			return each(16, 1, 2, func(c, h, w int) float64 {
				sum := 0.0
				for i := range 16 {
					sum += x.at(i, h, w) * x.at(i, h, w)
				}
				return x.at(c, h, w) / (1 + sum/4)
			})
		}),
	},
}
