package espalier_test

import "math"

var windowLayers = []nativeCase{
	{
		name: "Conv", within: 0.01,
		text: `input %x : fp16[1,1,2,5,6]
const %w : fp16[3,1,2,2,3] {data = [1, 0.5, -1, 2, 0, 0.25, -0.5, 1, 1, 0, 2, -1, 0.125, 1, -2, 1, 0.5, 0, 0, 1, 1, -1, 0.5, 2, 1, 1, 0, 0, -1, 0.5, 2, -0.5, 1, 0, 0.25, -1]}
const %b : fp16[1,1,3,1,1] {data = [1, -0.5, 0.25]}
%y = anec.convolution(%x, %w, %b) {kernel_sizes = [2, 3], strides = [2, 2], explicit_padding = [1, 0, 1, 0]} : fp16[1,1,3,3,3]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x, bias := cube{2, 5, 6, in["x"]}, []float64{1, -0.5, 0.25}
			w := []float64{1, 0.5, -1, 2, 0, 0.25, -0.5, 1, 1, 0, 2, -1, 0.125, 1, -2, 1, 0.5, 0, 0, 1, 1, -1, 0.5, 2, 1, 1, 0, 0, -1, 0.5, 2, -0.5, 1, 0, 0.25, -1}
			return each(3, 3, 3, func(o, h, v int) float64 {
				sum := bias[o]
				for c := range 2 {
					for i := range 2 {
						for j := range 3 {
							sum += w[((o*2+c)*2+i)*3+j] * x.at(c, 2*h+i-1, 2*v+j-1)
						}
					}
				}
				return sum
			})
		}),
	},
	{
		name: "Conv_transposed", within: 0.01,
		text: `input %x : fp16[1,1,1,2,3]
const %w : fp16[1,1,1,2,2] {data = [1, 2, -1, 0.5]}
%y = anec.deconvolution(%x, %w) {kernel_sizes = [2, 2], strides = [2, 2]} : fp16[1,1,1,4,6]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x, w := cube{1, 2, 3, in["x"]}, []float64{1, 2, -1, 0.5}
			return each(1, 4, 6, func(_, h, v int) float64 { return x.at(0, h/2, v/2) * w[h%2*2+v%2] })
		}),
	},
	{
		name: "Pooling_average", within: 0.002,
		text: `input %x : fp16[1,1,2,4,5]
%y = anec.average_pool(%x) {kernel_sizes = [2, 3], strides = [2, 2], explicit_padding = [0, 0, 1, 1], exclude_pad = true} : fp16[1,1,2,2,3]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x := cube{2, 4, 5, in["x"]}
			return each(2, 2, 3, func(c, h, w int) float64 {
				sum, n := 0.0, 0.0
				for i := range 2 {
					for j := range 3 {
						if x.has(2*h+i, 2*w+j-1) {
							sum, n = sum+x.at(c, 2*h+i, 2*w+j-1), n+1
						}
					}
				}
				return sum / n
			})
		}),
	},
	{
		name: "Pooling_largest",
		text: `input %x : fp16[1,1,2,4,4]
%y = anec.max_pool(%x) {kernel_sizes = [2, 2], strides = [2, 2], padding_mode = Negative} : fp16[1,1,2,2,2]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x := cube{2, 4, 4, in["x"]}
			return each(2, 2, 2, func(c, h, w int) float64 {
				return max(x.at(c, 2*h, 2*w), x.at(c, 2*h, 2*w+1), x.at(c, 2*h+1, 2*w), x.at(c, 2*h+1, 2*w+1))
			})
		}),
	},
	{
		// Not flipped, and only where the template lies inside.
		name: "CrossCorrelation", within: 0.01,
		text: `input %x : fp16[1,1,1,4,5]
input %template : fp16[1,1,1,1,6]
%y = anec.cross_correlation(%x, %template) {template_sizes = [2, 3]} : fp16[1,1,1,3,3]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x, t := cube{1, 4, 5, in["x"]}, cube{1, 2, 3, in["template"]}
			return each(1, 3, 3, func(_, h, w int) float64 {
				sum := 0.0
				for u := range 2 {
					for v := range 3 {
						sum += x.at(0, h+u, w+v) * t.at(0, u, v)
					}
				}
				return sum
			})
		}),
	},
	{
		name: "KernelRasterizer", refused: m1("KernelRasterizer compiles as the identity alone"),
		text: `input %x : fp16[1,1,2,3,4]
%y = anec.kernel_rasterizer(%x) {kernel_sizes = [2, 3]} : fp16[1,1,12,2,2]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x := cube{2, 3, 4, in["x"]}
			return each(12, 2, 2, func(c, h, w int) float64 { return x.at(c/6, h+c%6/3, w+c%3) })
		}),
	},
	{
		name: "KernelRasterizer_identity",
		text: `input %x : fp16[1,1,2,3,4]
%y = anec.kernel_rasterizer(%x) : fp16[1,1,2,3,4]
output %y
`,
		define: y(func(in map[string][]float32) []float32 { return in["x"] }),
	},
}

var matrixLayers = []nativeCase{
	{
		name: "MatrixMultiplication", within: 0.02,
		text: `input %x : fp16[1,1,2,3,4]
input %z : fp16[1,1,2,5,4]
%y = anec.matmul(%x, %z) {transpose_rhs = true} : fp16[1,1,2,3,5]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x, z := cube{2, 3, 4, in["x"]}, cube{2, 5, 4, in["z"]}
			return each(2, 3, 5, func(c, h, w int) float64 {
				sum := 0.0
				for k := range 4 {
					sum += x.at(c, h, k) * z.at(c, w, k)
				}
				return sum
			})
		}),
	},
	{
		name: "Linear", within: 0.01,
		text: `input %x : fp16[1,1,1,3,4]
const %w : fp16[1,1,1,2,4] {data = [1, -1, 0.5, 2, 0.25, 0, -2, 1]}
const %b : fp16[1,1,1,1,2] {data = [0.5, -1]}
%y = anec.linear(%x, %w, %b) : fp16[1,1,1,3,2]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			x, w, b := cube{1, 3, 4, in["x"]}, []float64{1, -1, 0.5, 2, 0.25, 0, -2, 1}, []float64{0.5, -1}
			return each(1, 3, 2, func(_, h, o int) float64 {
				sum := b[o]
				for k := range 4 {
					sum += w[4*o+k] * x.at(0, h, k)
				}
				return sum
			})
		}),
	},
	{
		name: "SDPA", within: 0.01,
		text:   attentionText + "%y = anec.sdpa(%q, %k, %v, %scale) {subtract_max = true} : fp16[1,1,2,4,8]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 { return attended(in, func(p, r int) float64 { return 0 }) }),
	},
	{
		name: "SDPA_masked", within: 0.01,
		text: attentionText + "input %mask : fp16[1,1,1,4,4]\n%y = anec.sdpa(%q, %k, %v, %scale, %mask) {subtract_max = true} : fp16[1,1,2,4,8]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			return attended(in, func(p, r int) float64 { return float64(in["mask"][4*p+r]) })
		}),
	},
	{
		name: "SDPA_causal", within: 0.01,
		text: attentionText + `const %mask : fp16[1,1,1,4,4] {data = [0, -30000, -30000, -30000, 0, 0, -30000, -30000, 0, 0, 0, -30000, 0, 0, 0, 0]}
%y = anec.sdpa(%q, %k, %v, %scale, %mask) {subtract_max = true} : fp16[1,1,2,4,8]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			return attended(in, func(p, r int) float64 {
				if r > p {
					return -30000
				}
				return 0
			})
		}),
	},
	{
		// Attention and the layers that it is made of give the same, but for rounding.
		name: "SDPA_decomposed", within: 0.004,
		text: attentionText + `input %mask : fp16[1,1,1,4,4]
%a = anec.sdpa(%q, %k, %v, %scale, %mask) {subtract_max = true} : fp16[1,1,2,4,8]
%s = anec.matmul(%q, %k) {transpose_rhs = true} : fp16[1,1,2,4,4]
%t = anec.multiply(%s, %scale) : fp16[1,1,2,4,4]
%u = anec.add(%t, %mask) : fp16[1,1,2,4,4]
%p = anec.softmax(%u) {axes = W} : fp16[1,1,2,4,4]
%b = anec.matmul(%p, %v) : fp16[1,1,2,4,8]
%y = anec.sub(%a, %b) : fp16[1,1,2,4,8]
output %y
`,
		define: y(func(map[string][]float32) []float32 { return make([]float32, 64) }),
	},
	{
		name: "SDPA_bare", within: 0.01, // the largest is not subtracted; the scores are small
		text:   attentionText + "%y = anec.sdpa(%q, %k, %v, %scale) : fp16[1,1,2,4,8]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 { return attended(in, func(p, r int) float64 { return 0 }) }),
	},
}

const attentionText = `input %q : fp16[1,1,2,4,8]
input %k : fp16[1,1,2,4,8]
input %v : fp16[1,1,2,4,8]
const %scale : fp16[1,1,1,1,1] {data = [0.5]}
`

// attended is softmax(q·kᵀ/2 + mask)·v for two heads of four positions with eight features, by the book.
func attended(in map[string][]float32, mask func(p, r int) float64) []float32 {
	q, k, v := cube{2, 4, 8, in["q"]}, cube{2, 4, 8, in["k"]}, cube{2, 4, 8, in["v"]}
	return each(2, 4, 8, func(c, p, f int) float64 {
		sum, total := 0.0, 0.0
		for r := range 4 {
			score := 0.0
			for i := range 8 {
				score += q.at(c, p, i) * k.at(c, r, i)
			}
			power := math.Exp(score/2 + mask(p, r))
			sum, total = sum+power*v.at(c, r, f), total+power
		}
		return sum / total
	})
}
