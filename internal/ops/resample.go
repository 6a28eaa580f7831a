package ops

import (
	"fmt"
	"math"
	"strings"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var resampleOps = []Def{
	{
		Name: "affine",
		Doc:  "x sampled at the points of a grid that an affine transform moves",
		Versions: since(IOS15,
			In("x", Float).As("T"),
			In("transform_matrix", Float).As("T"),
			Const("output_height", I32),
			Const("output_width", I32),
			Const("sampling_mode", Str),
			Const("padding_mode", Str),
			Const("padding_value", Float).As("T"),
			Const("coordinates_mode", Str),
			Const("align_corners", B)),
		Infer: inferAffine,
		Eval:  evalAffine,
		Lower: lowerAffine,
	},
	{
		Name: "resample",
		Doc:  "x sampled at given coordinates",
		Versions: []Version{
			{Since: IOS15, Params: resampleParams(F32 | I32)},
			{Since: IOS16, Params: resampleParams(Float | I32)},
			{Since: IOS17, Params: resampleParams(Float | I32 | I16 | U16 | I8 | U8)},
		},
		Infer: inferResample,
		Eval:  evalResample,
		Lower: lowerResample,
	},
}

func resampleParams(coordinates TypeSet) []Param {
	return []Param{
		In("x", Float).As("T"),
		In("coordinates", coordinates).As("U"),
		Const("sampling_mode", Str),
		Const("padding_mode", Str),
		Const("padding_value", Float).As("T"),
		Const("coordinates_mode", Str),
		Const("align_corners", B),
	}
}

// pixelModes turn a coordinate into a position on an axis of length n. With align_corners the ends of the
// interval are the centres of the first and the last pixel, without it their outer edges.
var pixelModes = map[string]func(v, n float64, alignCorners bool) float64{
	"unnormalized": func(v, _ float64, _ bool) float64 { return v },
	"normalized_minus_one_to_one": func(v, n float64, alignCorners bool) float64 {
		if alignCorners {
			return (v + 1) / 2 * (n - 1)
		}
		return (float64((v+1)*n) - 1) / 2
	},
	"normalized_zero_to_one": func(v, n float64, alignCorners bool) float64 {
		if alignCorners {
			return v * (n - 1)
		}
		return float64(v*n) - 0.5
	},
}

// paddingModes say which element of an axis of length n stands at position i, be it outside; nowhere if it is
// the padding value.
var paddingModes = map[string]func(i, n int) int{
	"constant": func(i, n int) int {
		if i < 0 || i >= n {
			return nowhere
		}
		return i
	},
	"border": func(i, n int) int { return min(max(i, 0), n-1) },
	"reflection": func(i, n int) int { // 3 2 | 1 2 3 | 2 1
		if n == 1 {
			return 0
		}
		period := 2 * (n - 1)
		i = (i%period + period) % period
		return min(i, period-i)
	},
	"symmetric": func(i, n int) int { // 2 1 | 1 2 3 | 3 2
		period := 2 * n
		i = (i%period + period) % period
		return min(i, period-1-i)
	},
}

func inferAffine(c *Call) ([]mil.Type, error) {
	if err := checkImages(c); err != nil {
		return nil, err
	}
	x, m := c.Shape("x"), c.Shape("transform_matrix")
	if len(m) != 2 || m[1].Known() && m[1] != 6 {
		return nil, fmt.Errorf("transform_matrix has shape %v, expected [%v, 6] or [1, 6]", m, x[0])
	}
	if m[0].Known() && m[0] != 1 && x[0].Known() && m[0] != x[0] {
		return nil, fmt.Errorf("transform_matrix has %v matrices, expected 1 or %v, the batch of x", m[0], x[0])
	}
	for _, only := range []struct{ param, mode string }{
		{"sampling_mode", "bilinear"}, {"padding_mode", "constant"}, {"coordinates_mode", "normalized_minus_one_to_one"},
	} {
		if got := c.Str(only.param); !strings.EqualFold(got, only.mode) {
			return nil, fmt.Errorf("%s is %q, expected %q, the only one that affine has", only.param, got, only.mode)
		}
	}
	if v := c.Float("padding_value"); v != 0 {
		return nil, fmt.Errorf("padding_value is %v, expected 0, the only one that affine has", v)
	}
	h, err := targetLength(c, "output_height")
	if err != nil {
		return nil, err
	}
	w, err := targetLength(c, "output_width")
	if err != nil {
		return nil, err
	}
	return one(c.DType("x"), tensor.Shape{x[0], x[1], h, w})
}

func checkImages(c *Call) error {
	if c.Rank("x") != 4 {
		return fmt.Errorf("x has shape %v, expected rank 4: [batch, channels, height, width]", c.Shape("x"))
	}
	return nil
}

func evalAffine(c *Call) error {
	shape := c.OutShape(0)
	if c.OutLen(0) == 0 {
		c.ReturnFloats(0, nil)
		return nil
	}
	matrices, align := c.Floats("transform_matrix"), c.Bool("align_corners")
	h, w := shape[2], shape[3]
	coords := make([]float64, 2*h*w)
	return sampleImages(c, func(image int) []float64 {
		m := matrices[:6]
		if len(matrices) > 6 {
			m = matrices[6*image : 6*image+6]
		}
		for i := range h {
			if c.asked() {
				break
			}
			for j := range w {
				x, y := gridCoordinate(j, w, align), gridCoordinate(i, h, align)
				at := coords[2*(i*w+j):]
				at[0] = float64(float64(m[0])*x) + float64(float64(m[1])*y) + float64(m[2])
				at[1] = float64(float64(m[3])*x) + float64(float64(m[4])*y) + float64(m[5])
			}
		}
		return coords
	})
}

// gridCoordinate is the coordinate of pixel i of n, in [-1, 1].
func gridCoordinate(i, n int, alignCorners bool) float64 {
	switch {
	case !alignCorners:
		return float64(2*i+1)/float64(n) - 1
	case n == 1:
		return 0
	}
	return 2*float64(i)/float64(n-1) - 1
}

func inferResample(c *Call) ([]mil.Type, error) {
	if err := checkImages(c); err != nil {
		return nil, err
	}
	x, at := c.Shape("x"), c.Shape("coordinates")
	if len(at) != 4 || at[3].Known() && at[3] != 2 {
		return nil, fmt.Errorf("coordinates has shape %v, expected [%v, height, width, 2]", at, x[0])
	}
	batch, ok := meet(x[0], at[0])
	if !ok {
		return nil, fmt.Errorf("x has a batch of %v, coordinates one of %v", x[0], at[0])
	}
	if mode := strings.ToLower(c.Str("sampling_mode")); mode != "bilinear" && mode != "nearest" {
		return nil, fmt.Errorf("sampling_mode is %q, expected bilinear or nearest", mode)
	}
	padding := strings.ToLower(c.Str("padding_mode"))
	if paddingModes[padding] == nil {
		return nil, fmt.Errorf("padding_mode is %q, expected constant, border, reflection or symmetric", padding)
	}
	if mode := strings.ToLower(c.Str("coordinates_mode")); pixelModes[mode] == nil {
		return nil, fmt.Errorf("coordinates_mode is %q, expected unnormalized, normalized_minus_one_to_one or normalized_zero_to_one", mode)
	}
	if (x[2] == 0 || x[3] == 0) && padding != "constant" {
		return nil, fmt.Errorf("x has shape %v: an empty image has no border for padding_mode %q", x, padding)
	}
	return one(c.DType("x"), tensor.Shape{batch, x[1], at[1], at[2]})
}

func evalResample(c *Call) error {
	if c.OutLen(0) == 0 {
		c.ReturnFloats(0, nil)
		return nil
	}
	coords := c.Tensor("coordinates").Float64s()
	perImage := len(coords) / c.OutShape(0)[0]
	return sampleImages(c, func(image int) []float64 { return coords[image*perImage : (image+1)*perImage] })
}

// pixel is a mix of up to four elements of an image plane.
type pixel struct {
	at     [4]int // nowhere is the padding value
	weight [4]float32
}

// sampleImages samples every plane of image b of x at the points coordsOf(b), pairs of x and y.
func sampleImages(c *Call, coordsOf func(image int) []float64) error {
	x, shape := c.Floats("x"), c.OutShape(0)
	height, width := c.Tensor("x").Shape()[2], c.Tensor("x").Shape()[3]
	channels, points, plane := shape[1], shape[2]*shape[3], height*width
	toPixel := pixelModes[strings.ToLower(c.Str("coordinates_mode"))]
	pad := paddingModes[strings.ToLower(c.Str("padding_mode"))]
	nearest := strings.EqualFold(c.Str("sampling_mode"), "nearest")
	align, padding := c.Bool("align_corners"), c.Float("padding_value")

	out := make([]float32, c.OutLen(0))
	pixels := make([]pixel, points)
	for image := range shape[0] {
		coords := coordsOf(image)
		c.For(points, 1<<10, func(lo, hi int) {
			for k := lo; k < hi; k++ {
				px := bounded(toPixel(coords[2*k], float64(width), align))
				py := bounded(toPixel(coords[2*k+1], float64(height), align))
				pixels[k] = pixelAt(px, py, width, height, pad, nearest)
			}
		})
		c.For(channels*points, 1<<12, func(lo, hi int) {
			for k := lo; k < hi; k++ {
				first := (image*channels + k/points) * plane
				out[image*channels*points+k] = pixels[k%points].mix(x[first:first+plane], padding)
			}
		})
	}
	c.ReturnFloats(0, out)
	return nil
}

// bounded keeps a position, which comes from data, in the range of int. What is not a number is far outside.
func bounded(v float64) float64 {
	const far = 1 << 30
	if !(v > -far) {
		return -far
	}
	return min(v, far)
}

func pixelAt(x, y float64, width, height int, pad func(i, n int) int, nearest bool) pixel {
	at := func(x, y int) int {
		x, y = pad(x, width), pad(y, height)
		if x == nowhere || y == nowhere {
			return nowhere
		}
		return y*width + x
	}
	if nearest { // ties go up
		p := at(int(math.Floor(x+0.5)), int(math.Floor(y+0.5)))
		return pixel{at: [4]int{p}, weight: [4]float32{1}}
	}
	x0, y0 := int(math.Floor(x)), int(math.Floor(y))
	tx, ty := x-float64(x0), y-float64(y0)
	return pixel{
		at: [4]int{at(x0, y0), at(x0+1, y0), at(x0, y0+1), at(x0+1, y0+1)},
		weight: [4]float32{
			float32((1 - tx) * (1 - ty)), float32(tx * (1 - ty)), float32((1 - tx) * ty), float32(tx * ty),
		},
	}
}

func (p *pixel) mix(plane []float32, padding float32) float32 {
	var sum float32
	for i, w := range p.weight {
		if w == 0 { // the element may be infinite, and 0·∞ is not a number
			continue
		}
		v := padding
		if p.at[i] != nowhere {
			v = plane[p.at[i]]
		}
		sum += float32(w * v)
	}
	return sum
}
