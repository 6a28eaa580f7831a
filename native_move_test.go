package espalier_test

// wholeImage is an image of numbers that fp16 holds.
var wholeImage = map[string][]float32{"x": numbers(96)}

var moveLayers = []nativeCase{
	{
		name:   "Concat",
		text:   threeChannels + "input %z : fp16[1,1,1,2,4]\n%y = anec.concat(%x, %z) {axis = C} : fp16[1,1,4,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 { return append(append([]float32(nil), in["x"]...), in["z"]...) }),
	},
	{
		name: "InputView",
		text: threeChannels + "%y = anec.input_view(%x) {axis = W, offset = 1, size = 2} : fp16[1,1,3,2,2]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 2, func(c, h, w int) float64 { return x.at(c, h, w+1) })
		}),
	},
	{
		name: "InputView_reverse", // a step below 0 is ours
		text: threeChannels + "%y = anec.input_view(%x) {axis = W, offset = 3, size = 4, step = -1} : fp16[1,1,3,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 4, func(c, h, w int) float64 { return x.at(c, h, 3-w) })
		}),
	},
	{
		name:   "Flatten",
		text:   threeChannels + "%y = anec.flatten(%x) : fp16[1,1,24,1,1]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 { return in["x"] }),
	},
	{
		name: "Flatten_channels_last",
		text: threeChannels + "%y = anec.flatten(%x) {order = NHWC} : fp16[1,1,24,1,1]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(24, 1, 1, func(i, _, _ int) float64 { return x.at(i%3, i/12, i/3%4) })
		}),
	},
	{
		name: "Unflatten", refused: m1("Unflatten passes validation and fails lowering for every variant"),
		text:   "input %x : fp16[1,1,24,1,1]\n%y = anec.unflatten(%x) {dims = [3, 2, 4]} : fp16[1,1,3,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 { return in["x"] }),
	},
	{
		name:   "Reshape",
		text:   threeChannels + "%y = anec.reshape(%x) {dims = [1, 1, 2, 4, 3]} : fp16[1,1,2,4,3]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 { return in["x"] }),
	},
	{
		name: "Transpose",
		text: threeChannels + "%y = anec.transpose(%x) {perm = [N, D, W, C, H]} : fp16[1,1,4,3,2]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(4, 3, 2, func(c, h, w int) float64 { return x.at(h, w, c) })
		}),
	},
	{
		name:   "Alias",
		text:   threeChannels + "%y = anec.alias(%x) : fp16[1,1,3,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 { return in["x"] }),
	},
	{
		name:   "Shape",
		text:   threeChannels + "%y = anec.shape(%x) {axes = [C, W]} : int32[1,1,1,1,2]\noutput %y\n",
		define: y(func(map[string][]float32) []float32 { return []float32{3, 4} }),
	},
	{
		name: "Broadcast",
		text: "input %x : fp16[1,1,3,1,1]\n%y = anec.broadcast(%x) {dims = [1, 1, 3, 1, 4]} : fp16[1,1,3,1,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			return each(3, 1, 4, func(c, _, _ int) float64 { return float64(in["x"][c]) })
		}),
	},
	{
		name: "Tile",
		text: threeChannels + "%y = anec.tile(%x) {reps = [1, 1, 2, 1, 2]} : fp16[1,1,6,2,8]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(6, 2, 8, func(c, h, w int) float64 { return x.at(c%3, h, w%4) })
		}),
	},
	{
		name: "Padding",
		text: threeChannels + "%y = anec.pad(%x) {before = [0, 0, 0, 1, 1], after = [0, 0, 0, 1, 2]} : fp16[1,1,3,4,7]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 4, 7, func(c, h, w int) float64 { return x.at(c, h-1, w-1) })
		}),
	},
	{
		name: "Padding_mirror", refused: m1(""),
		text: threeChannels + "%y = anec.pad(%x) {before = [0, 0, 0, 0, 1], after = [0, 0, 0, 0, 1], mode = Reflective} : fp16[1,1,3,2,6]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 6, func(c, h, w int) float64 { return x.at(c, h, []int{1, 0, 1, 2, 3, 2}[w]) })
		}),
	},
	{
		name: "DynamicSlice", give: map[string][]float32{"start": {1}},
		refused: m1("DynamicSlice passes validation and is rejected at code generation on this architecture"),
		text:    threeChannels + "input %start : uint16[1,1,1,1,1]\n%y = anec.dynamic_slice(%x, %start) {axes = [W], sizes = [2]} : fp16[1,1,3,2,2]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 2, func(c, h, w int) float64 { return x.at(c, h, w+1) })
		}),
	},

	// Blocks of 3 by 2, that is, FactorX=3 and FactorY=2. With more than one channel the two orders differ: PixelShuffle has the
	// channel outside the block, ChannelToSpace inside.
	{
		name: "PixelShuffle", give: map[string][]float32{"x": numbers(96)},
		text: "input %x : fp16[1,1,12,2,4]\n%y = anec.pixel_shuffle(%x) {x = 3, y = 2} : fp16[1,1,2,4,12]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{12, 2, 4, in["x"]}
			return each(2, 4, 12, func(c, h, w int) float64 { return x.at(c*6+h%2*3+w%3, h/2, w/3) })
		}),
	},
	{
		name: "ChannelToSpace", give: wholeImage,
		text: "input %x : fp16[1,1,12,2,4]\n%y = anec.channel_to_space(%x) {x = 3, y = 2} : fp16[1,1,2,4,12]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{12, 2, 4, in["x"]}
			return each(2, 4, 12, func(c, h, w int) float64 { return x.at((h%2*3+w%3)*2+c, h/2, w/3) })
		}),
	},
	{
		name: "PixelUnshuffle", give: wholeImage,
		text: "input %x : fp16[1,1,2,4,12]\n%y = anec.pixel_unshuffle(%x) {x = 3, y = 2} : fp16[1,1,12,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{2, 4, 12, in["x"]}
			return each(12, 2, 4, func(c, h, w int) float64 { return x.at(c/6, 2*h+c%6/3, 3*w+c%3) })
		}),
	},
	{
		name: "SpaceToChannel", give: wholeImage,
		text: "input %x : fp16[1,1,2,4,12]\n%y = anec.space_to_channel(%x) {x = 3, y = 2} : fp16[1,1,12,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{2, 4, 12, in["x"]}
			return each(12, 2, 4, func(c, h, w int) float64 { return x.at(c%2, 2*h+c/6, 3*w+c/2%3) })
		}),
	},
	{
		name: "SpaceToBatch", give: wholeImage,
		text: "input %x : fp16[1,1,2,4,12]\n%y = anec.space_to_batch(%x) {x = 3, y = 2} : fp16[6,1,2,2,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{2, 4, 12, in["x"]}
			return each(12, 2, 4, func(i, h, w int) float64 { n := i / 2; return x.at(i%2, 2*h+n/3, 3*w+n%3) })
		}),
	},
	{
		name: "BatchToSpace", give: wholeImage,
		text: "input %x : fp16[6,1,2,2,4]\n%y = anec.batch_to_space(%x) {x = 3, y = 2} : fp16[1,1,2,4,12]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{12, 2, 4, in["x"]} // batch and channel
			return each(2, 4, 12, func(c, h, w int) float64 { return x.at((h%2*3+w%3)*2+c, h/2, w/3) })
		}),
	},
}
