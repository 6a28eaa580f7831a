package ops

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

var poolOps = []Def{
	poolOp("avg_pool", "average of a window that moves over the spatial axes", averagePool,
		lowerPool(td.PoolAvg, td.PadZero), OptConst("exclude_padding_from_average", B, false)),
	poolOp("l2_pool", "square root of the sum of squares of a window that moves over the spatial axes", l2Pool,
		lowerPool(td.PoolL2, td.PadZero)),
	poolOp("max_pool", "maximum of a window that moves over the spatial axes", maxPool,
		lowerPool(td.PoolMax, td.PadNegative)),
}

// pooler reduces the part of a window that lies over input to one number. count is what an average divides by.
type pooler func(plane []float32, at *underWindow, height, width int, count float64) float32

// underWindow is the part of a plane that lies under a window: [d0, d1)×[h0, h1)×[w0, w1). What is padding is not
// walked over, be it ever so wide.
type underWindow struct {
	*halt
	axes [3]indexRange
}

// indexRange is a range of indices on an axis.
type indexRange struct{ lo, hi int }

func (r indexRange) length() int { return r.hi - r.lo }

func poolOp(name, doc string, f pooler, lower LowerFunc, more ...Param) Def {
	return Def{
		Name: name,
		Doc:  doc,
		Versions: since(IOS15, append([]Param{In("x", Float).As("T"), Const("kernel_sizes", I32), OptConst("strides", I32, nil),
			Const("pad_type", Str), OptConst("pad", I32, nil), OptConst("ceil_mode", B, false)}, more...)...),
		Infer: inferPool,
		Eval:  func(c *Call) error { return evalPool(c, f) },
		Lower: lower,
	}
}

func (c *Call) poolSlides() ([]slide, error) {
	x := c.Shape("x")
	sizes := c.Ints("kernel_sizes")
	if len(sizes) != len(x)-2 {
		return nil, fmt.Errorf("kernel_sizes %v has %d elements, expected one for each of %d spatial axes", sizes, len(sizes), len(x)-2)
	}
	for _, k := range sizes {
		if k < 1 {
			return nil, fmt.Errorf("kernel_sizes %v: expected positive numbers", sizes)
		}
	}
	r := roundDown
	if c.Bool("ceil_mode") {
		r = roundUp
	}
	return c.slides(x[2:], tensor.ShapeOf(sizes...), r)
}

func inferPool(c *Call) ([]mil.Type, error) {
	x := c.Shape("x")
	most := 5
	if c.Def.Name == "l2_pool" {
		most = 4
	}
	if len(x) < 3 || len(x) > most {
		return nil, fmt.Errorf("x has shape %v, expected batch, channels and one to %d spatial axes", x, most-2)
	}
	slides, err := c.poolSlides()
	if err != nil {
		return nil, err
	}
	if c.Bool("ceil_mode") {
		if len(slides) > 2 {
			return nil, fmt.Errorf("ceil_mode with %d spatial axes, expected one or two", len(slides))
		}
		if padType, _ := c.padType("same"); padType == "same" {
			return nil, fmt.Errorf("ceil_mode with pad_type same, expected valid or custom")
		}
		if padType, _ := c.padType("custom"); padType == "custom" {
			for _, s := range slides {
				if s.before != s.after {
					return nil, fmt.Errorf("ceil_mode with pad %v, expected the same before and after each axis", c.Ints("pad"))
				}
			}
		}
	}
	return one(c.DType("x"), append(tensor.Shape{x[0], x[1]}, outLengths(slides)...))
}

// over is the input under a window, and the number of cells that an average counts: those that lie over input or
// padding, but not over what ceil_mode adds beyond.
func (s *slide) over(o int) (at indexRange, cells float64) {
	begin := o*s.stride - s.before
	end := begin + int(s.kernel)
	at = indexRange{max(begin, 0), max(0, min(end, int(s.in)))}
	at.lo = min(at.lo, at.hi)
	return at, float64(max(0, min(end, int(s.in)+s.after)-begin))
}

func evalPool(c *Call, f pooler) error {
	slides, err := c.poolSlides()
	if err != nil {
		return err
	}
	var axes [3]slide
	for i := range axes {
		axes[i] = slide{in: 1, kernel: 1, out: 1, stride: 1, dilation: 1}
	}
	copy(axes[3-len(slides):], slides)
	onlyInput := c.Has("exclude_padding_from_average") && c.Bool("exclude_padding_from_average")

	x, out := c.Floats("x"), make([]float32, c.OutLen(0))
	height, width := int(axes[1].in), int(axes[2].in)
	plane := int(axes[0].in) * height * width
	rowLen := int(axes[2].out)
	if len(out) == 0 {
		c.ReturnFloats(0, out)
		return nil
	}
	cost := rowLen * min(plane, int(axes[0].kernel*axes[1].kernel*axes[2].kernel))
	c.For(len(out)/rowLen, 1+(1<<14)/max(1, cost), func(lo, hi int) {
		at := underWindow{halt: c.halt}
		var cells [3]float64 // of a hostile kernel, the product leaves the integers
		for r := lo; r < hi; r++ {
			rest := r
			for i := 1; i >= 0; i-- {
				n := int(axes[i].out)
				at.axes[i], cells[i] = axes[i].over(rest % n)
				rest /= n
			}
			channel := x[rest*plane:][:plane]
			for o := range rowLen {
				at.axes[2], cells[2] = axes[2].over(o)
				count := cells[0] * cells[1] * cells[2]
				if onlyInput {
					count = float64(at.axes[0].length() * at.axes[1].length() * at.axes[2].length())
				}
				out[r*rowLen+o] = f(channel, &at, height, width, count)
			}
		}
	})
	c.ReturnFloats(0, out)
	return nil
}

// rowsUnder calls f for each row of input under a window.
func rowsUnder(plane []float32, at *underWindow, height, width int, f func(row []float32)) {
	for d := at.axes[0].lo; d < at.axes[0].hi; d++ {
		for h := at.axes[1].lo; h < at.axes[1].hi && !at.asked(); h++ {
			start := (d*height + h) * width
			f(plane[start+at.axes[2].lo : start+at.axes[2].hi])
		}
	}
}

func averagePool(plane []float32, at *underWindow, height, width int, count float64) float32 {
	var sum float32
	rowsUnder(plane, at, height, width, func(row []float32) {
		for _, v := range row {
			sum += v
		}
	})
	return sum / float32(max(count, 1))
}

func l2Pool(plane []float32, at *underWindow, height, width int, _ float64) float32 {
	var sum float32
	rowsUnder(plane, at, height, width, func(row []float32) {
		for _, v := range row {
			sum += float32(v * v)
		}
	})
	return float32(math.Sqrt(float64(sum)))
}

// maxPool takes padding for −∞, and NaN for the greatest of all.
func maxPool(plane []float32, at *underWindow, height, width int, _ float64) float32 {
	top := float32(math.Inf(-1))
	rowsUnder(plane, at, height, width, func(row []float32) {
		for _, v := range row {
			top = max(top, v)
		}
	})
	return top
}
