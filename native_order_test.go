package espalier_test

const (
	noSort = "Sort passes validation and is rejected at code generation on this architecture"
	noTopK = "TopK passes validation and is rejected at code generation on this architecture"
)

// column are the elements at a column, channel by channel.
func columnsIn(order []int, x cube) []float32 {
	return each(x.c, 1, len(order), func(c, _, w int) float64 { return x.at(c, 0, order[w]) })
}

var orderLayers = []nativeCase{
	{
		// All channels go where the order of channel 1 puts them.
		name: "Sort", give: map[string][]float32{"x": apart(24)}, refused: m1(noSort),
		text: "input %x : fp16[1,1,3,1,8]\n%y = anec.sort(%x) {axis = W, vector_axis = C, keys = [1]} : fp16[1,1,3,1,8]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 1, 8, in["x"]}
			return columnsIn(sortedBy(x.v[8:16], false), x)
		}),
	},
	{
		name: "Sort_indices", give: map[string][]float32{"x": apart(24)}, refused: m1(noSort), // in fp16, as chips give them
		text: "input %x : fp16[1,1,3,1,8]\n%y = anec.sort(%x) {output_type = fp16, direction = Descending, axis = W, vector_axis = C, keys = [2], results = Indices} : fp16[1,1,1,1,8]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			order := sortedBy(in["x"][16:], true)
			return each(1, 1, 8, func(_, _, w int) float64 { return float64(order[w]) })
		}),
	},
	{
		name: "TopK", give: map[string][]float32{"x": apart(24)}, refused: m1(noTopK),
		text: "input %x : fp16[1,1,3,1,8]\n%y = anec.top_k(%x) {k = 5, axis = W, vector_axis = C, keys = [0]} : fp16[1,1,3,1,5]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 1, 8, in["x"]}
			return columnsIn(sortedBy(x.v[:8], true)[:5], x)
		}),
	},
	{
		name: "TopK_indices", give: map[string][]float32{"x": apart(24)}, refused: m1(noTopK),
		text: "input %x : fp16[1,1,3,1,8]\n%y = anec.top_k(%x) {output_type = fp16, type = Min, k = 2, axis = W, results = Indices} : fp16[1,1,3,1,2]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 1, 8, in["x"]}
			return each(3, 1, 2, func(c, _, w int) float64 { return float64(sortedBy(x.v[8*c:8*c+8], false)[w]) })
		}),
	},
	{
		name: "ArgMinMax_spatial", give: map[string][]float32{"x": apart(24)}, // one index for each channel, row by row
		text: threeChannels + "%y = anec.arg_min_max(%x) {output_type = fp16, kernel_sizes = [2, 4], mode = SpatialArgMax} : fp16[1,1,3,1,1]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			return each(3, 1, 1, func(c, _, _ int) float64 { return float64(sortedBy(in["x"][8*c:8*c+8], true)[0]) })
		}),
	},
	{
		name: "ArgMinMax_windows", give: map[string][]float32{"x": apart(24)}, // counted inside the window
		text: threeChannels + "%y = anec.arg_min_max(%x) {output_type = fp16, kernel_sizes = [2, 2], strides = [2, 2], mode = SpatialArgMin} : fp16[1,1,3,1,2]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 1, 2, func(c, _, w int) float64 {
				window := []float32{float32(x.at(c, 0, 2*w)), float32(x.at(c, 0, 2*w+1)), float32(x.at(c, 1, 2*w)), float32(x.at(c, 1, 2*w+1))}
				return float64(sortedBy(window, false)[0])
			})
		}),
	},
	{
		name: "ArgMinMax_channel", give: map[string][]float32{"x": apart(24)}, // the channel at each position
		text: threeChannels + "%y = anec.arg_min_max(%x) {output_type = fp16, mode = ChannelArgMin} : fp16[1,1,1,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(1, 2, 4, func(_, h, w int) float64 {
				return float64(sortedBy([]float32{float32(x.at(0, h, w)), float32(x.at(1, h, w)), float32(x.at(2, h, w))}, false)[0])
			})
		}),
	},
	{
		name: "GlobalArgMinMax", give: map[string][]float32{"x": apart(24)}, // authored it runs on the M1, converted it does not
		text: threeChannels + "%y = anec.global_arg_min_max(%x) {output_type = fp16, axis = W} : fp16[1,1,3,2,1]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			return each(3, 2, 1, func(c, h, _ int) float64 {
				at := (2*c + h) * 4
				return float64(sortedBy(in["x"][at:at+4], true)[0])
			})
		}),
	},
	{
		name: "Gather", give: map[string][]float32{"i": {2, 0, 1, 2}},
		text: "input %x : fp16[1,1,3,2,4]\ninput %i : uint16[1,1,4,1,1]\n%y = anec.gather(%x, %i) {axes = [C]} : fp16[1,1,4,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(4, 2, 4, func(c, h, w int) float64 { return x.at([]int{2, 0, 1, 2}[c], h, w) })
		}),
	},
}
