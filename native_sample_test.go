package espalier_test

import "math"

// linearly samples a plane between its elements; beyond the edge it is as at the edge.
func (x cube) linearly(c int, h, w float64) float64 {
	at := func(h, w float64) float64 {
		return x.at(c, min(max(int(h), 0), x.h-1), min(max(int(w), 0), x.w-1))
	}
	h0, w0 := math.Floor(h), math.Floor(w)
	dh, dw := h-h0, w-w0
	return (1-dh)*((1-dw)*at(h0, w0)+dw*at(h0, w0+1)) + dh*((1-dw)*at(h0+1, w0)+dw*at(h0+1, w0+1))
}

const noTexture = "not supported on this architecture"

var sampleLayers = []nativeCase{
	{
		name: "Resize", within: 0.01, // the corners keep their places
		text: threeChannels + "%y = anec.resize(%x) {size = [3, 7], grid = StrictAlignedCorners} : fp16[1,1,3,3,7]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 3, 7, func(c, h, w int) float64 { return x.linearly(c, float64(h)/2, float64(w)/2) })
		}),
	},
	{
		name: "ResizeAs", within: 0.01,
		text: threeChannels + "input %like : fp16[1,1,1,3,7]\n%y = anec.resize_as(%x, %like) {grid = StrictAlignedCorners} : fp16[1,1,3,3,7]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 3, 7, func(c, h, w int) float64 { return x.linearly(c, float64(h)/2, float64(w)/2) })
		}),
	},
	{
		name: "Resample", within: 0.01, refused: m1("resample is " + noTexture), // first the column, then the row
		give: map[string][]float32{"at": {0, 1.5, 3, 0.25, 0, 0.5, 1, 0.75}},
		text: threeChannels + "input %at : fp16[1,1,2,1,4]\n%y = anec.resample(%x, %at) : fp16[1,1,3,1,4]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x, at := cube{3, 2, 4, in["x"]}, cube{2, 1, 4, in["at"]}
			return each(3, 1, 4, func(c, _, w int) float64 { return x.linearly(c, at.at(1, 0, w), at.at(0, 0, w)) })
		}),
	},
	{
		name: "AffineTransform", within: 0.01, refused: m1("affine transform is " + noTexture), // half a column to the right
		give: map[string][]float32{"m": {1, 0, 0.5, 0, 1, 0}},
		text: threeChannels + "input %m : fp16[1,1,1,2,3]\n%y = anec.affine_transform(%x, %m) {size = [2, 3]} : fp16[1,1,3,2,3]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x := cube{3, 2, 4, in["x"]}
			return each(3, 2, 3, func(c, h, w int) float64 { return x.linearly(c, float64(h), float64(w)+0.5) })
		}),
	},
	{
		name: "CropResize", within: 0.01, refused: m1("Codegen Error: Invalid Texture CropCfg"), // a box has top, left, bottom, right
		give: map[string][]float32{"boxes": {0, 1, 1, 3, 0, 0, 1, 1}},
		text: threeChannels + "input %boxes : fp16[2,1,4,1,1]\n%y = anec.crop_resize(%x, %boxes) {size = [2, 5], grid = StrictAlignedCorners} : fp16[2,1,3,2,5]\noutput %y\n",
		define: y(func(in map[string][]float32) []float32 {
			x, b := cube{3, 2, 4, in["x"]}, in["boxes"]
			return each(6, 2, 5, func(i, h, w int) float64 {
				top, left, bottom, right := float64(b[i/3*4]), float64(b[i/3*4+1]), float64(b[i/3*4+2]), float64(b[i/3*4+3])
				return x.linearly(i%3, top+(bottom-top)*float64(h), left+(right-left)*float64(w)/4)
			})
		}),
	},
}
