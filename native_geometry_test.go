package espalier_test

import "math"

// square is the squared distance of points that lie along W.
func square(a cube, i int, b cube, j int) float64 {
	sum := 0.0
	for c := range 3 {
		sum += (a.at(c, 0, i) - b.at(c, 0, j)) * (a.at(c, 0, i) - b.at(c, 0, j))
	}
	return sum
}

var geometryLayers = []nativeCase{
	{
		name: "CrossProduct", within: 0.002,
		text: "input %x : fp16[4,1,3,1,1]\ninput %z : fp16[4,1,3,1,1]\n%y = anec.cross_product(%x, %z) : fp16[4,1,3,1,1]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x, z := cube{4, 1, 3, in["x"]}, cube{4, 1, 3, in["z"]}
			return each(4, 1, 3, func(n, _, i int) float64 {
				a, b := (i+1)%3, (i+2)%3
				return x.at(n, 0, a)*z.at(n, 0, b) - x.at(n, 0, b)*z.at(n, 0, a)
			})
		}),
	},
	{
		// The cost of each disparity from 0 to the range is a plane.
		name: "CostVolume", within: 0.001,
		text: "input %aux : fp16[1,1,1,2,5]\ninput %ref : fp16[1,1,1,2,7]\n%y = anec.cost_volume(%aux, %ref) {range = 2} : fp16[1,1,3,2,5]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			aux, ref := cube{1, 2, 5, in["aux"]}, cube{1, 2, 7, in["ref"]}
			return each(3, 2, 5, func(d, h, w int) float64 { return math.Abs(aux.at(0, h, w) - ref.at(0, h, w+d)) })
		}),
	},
	{
		// Greedy, from the first point on; the centroids lie channel by channel.
		name: "FurthestPointSampling", give: map[string][]float32{"p": apart(30)},
		text: "input %p : fp16[1,1,3,1,10]\n%y = anec.furthest_point_sampling(%p) {count = 5} : fp16[1,1,3,1,5]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			p, taken := cube{3, 1, 10, in["p"]}, []int{0}
			for len(taken) < 5 {
				next, far := 0, -1.0
				for i := range 10 {
					nearest := math.Inf(1)
					for _, t := range taken {
						nearest = min(nearest, square(p, i, p, t))
					}
					if nearest > far {
						next, far = i, nearest
					}
				}
				taken = append(taken, next)
			}
			return each(3, 1, 5, func(c, _, w int) float64 { return p.at(c, 0, taken[w]) })
		}),
	},
	{
		// A row for each point, a column for each centroid.
		name: "RadiusSearch",
		text: "input %c : fp16[1,1,3,1,4]\ninput %p : fp16[1,1,3,1,9]\n%y = anec.radius_search(%c, %p) {radius = 1.2} : fp16[1,1,1,9,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			c, p := cube{3, 1, 4, in["c"]}, cube{3, 1, 9, in["p"]}
			return each(1, 9, 4, func(_, h, w int) float64 {
				if square(c, w, p, h) <= 1.2*1.2 {
					return 1
				}
				return 0
			})
		}),
	},
}

const noGenerator = "Random layer is not supported on this architecture."

var stateLayers = []nativeCase{
	{
		// From 2 up to 3 in steps of 1/4096: what the generator draws is not defined, its range is.
		name: "RandomGenerator", within: 0.5, refused: m1(noGenerator),
		text:   "%y = anec.random_generator() {dims = [1, 1, 1, 8, 8], low = 2, high = 3, seed = 7} : fp16[1,1,1,8,8]\noutput %y\n",
		define: y(func(map[string][]float32) []float32 { return each(1, 8, 8, func(_, _, _ int) float64 { return 2.5 }) }),
	},
	{
		// What leaves the state at its end enters at its beginning.
		name: "RingBufferWriter", steps: 3, refused: m1("Circular buffer is not supported on this architecture"),
		text: `state %s : fp16[1,1,2,1,5] -> %t
input %u : fp16[1,1,2,1,2]
%t = anec.ring_buffer_writer(%s, %u) {offset = [0, 0, 0, 0, 4], circular = W} : fp16[1,1,2,1,5]
%y = anec.copy(%t) : fp16[1,1,2,1,5]
output %y
`,
		define: func(in, states map[string][]float32) map[string][]float32 {
			s := states["s"]
			for c := range 2 {
				s[5*c+4], s[5*c] = in["u"][2*c], in["u"][2*c+1]
			}
			return map[string][]float32{"y": append([]float32(nil), s...)}
		},
	},
	{
		name: "RingBufferReader", steps: 2,
		text: `state %s : fp16[1,1,2,1,5] -> %x
input %x : fp16[1,1,2,1,5]
%y = anec.ring_buffer_reader(%s) {size = [1, 1, 2, 1, 2], offset = [0, 0, 0, 0, 1]} : fp16[1,1,2,1,2]
output %y
`,
		define: func(in, states map[string][]float32) map[string][]float32 {
			s := cube{2, 1, 5, append([]float32(nil), states["s"]...)}
			copy(states["s"], in["x"])
			return map[string][]float32{"y": each(2, 1, 2, func(c, _, w int) float64 { return s.at(c, 0, w+1) })}
		},
	},
	{
		name: "RingBufferReader_circular", refused: m1("Circular buffer is not supported on this architecture"),
		text: `input %s : fp16[1,1,2,1,5]
%y = anec.ring_buffer_reader(%s) {size = [1, 1, 2, 1, 3], offset = [0, 0, 0, 0, 3], circular = W} : fp16[1,1,2,1,3]
output %y
`,
		define: y(func(in map[string][]float32) []float32 {
			s := cube{2, 1, 5, in["s"]}
			return each(2, 1, 3, func(c, _, w int) float64 { return s.at(c, 0, (3+w)%5) })
		}),
	},
}
