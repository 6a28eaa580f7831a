package ops

import (
	"fmt"
	"maps"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// outAxis is one axis of a transposed convolution: input i and tap t meet at output i·stride + t·dilation − crop.
type outAxis struct {
	in, kernel, out  tensor.Dim
	stride, dilation int
	crop             int // outputs left out at the start, if the lengths are known
}

func inferConvTranspose(c *Call) ([]mil.Type, error) {
	if err := checkConvRanks(c); err != nil {
		return nil, err
	}
	x, w, groups := c.Shape("x"), c.Shape("weight"), tensor.Dim(c.Int("groups"))
	if w[0].Known() && w[0]%groups != 0 {
		return nil, fmt.Errorf("weight is for %v input channels, which %v groups do not divide", w[0], groups)
	}
	if x[1].Known() && w[0].Known() && x[1] != w[0] {
		return nil, fmt.Errorf("weight is for %v input channels, but x has %v", w[0], x[1])
	}
	channels := tensor.Unknown
	if w[1].Known() {
		var err error
		if channels, err = productOf(w[1], groups); err != nil {
			return nil, err
		}
	}
	if err := checkBias(c, channels); err != nil {
		return nil, err
	}
	outAxes, err := c.outAxes(x[2:], w[2:])
	if err != nil {
		return nil, err
	}
	shape := tensor.Shape{x[0], channels}
	for _, s := range outAxes {
		shape = append(shape, s.out)
	}
	if c.Has("output_shape") {
		want := tensor.ShapeOf(c.Ints("output_shape")...)
		for i := range want {
			if want[i] < 0 {
				return nil, fmt.Errorf("output_shape %v: expected no negative length", c.Ints("output_shape"))
			}
		}
		if !want.Compatible(shape) {
			return nil, fmt.Errorf("output_shape is %v, expected batch %v and %v channels", want, x[0], channels)
		}
		shape = want
	}
	return one(c.DType("x"), shape)
}

// outAxes reads the parameters strides, dilations, pad_type, pad and output_shape.
func (c *Call) outAxes(in, kernel tensor.Shape) ([]outAxis, error) {
	n := len(in)
	strides, err := c.perAxis("strides", n)
	if err != nil {
		return nil, err
	}
	dilations, err := c.perAxis("dilations", n)
	if err != nil {
		return nil, err
	}
	padType, err := c.padType("valid", "same", "custom")
	if err != nil {
		return nil, err
	}
	pad := make([]int, 2*n)
	if padType == "custom" {
		if pad, err = c.customPad(n); err != nil {
			return nil, err
		}
	}
	var want []int
	if c.Has("output_shape") {
		if want = c.Ints("output_shape"); len(want) != n+2 {
			return nil, fmt.Errorf("output_shape %v has %d elements, expected %d", want, len(want), n+2)
		}
		want = want[2:]
	}
	out := make([]outAxis, n)
	for i := range out {
		s := outAxis{in: in[i], kernel: kernel[i], out: tensor.Unknown, stride: strides[i], dilation: dilations[i]}
		if want != nil {
			s.out = tensor.Dim(want[i])
		}
		if err := s.place(padType, pad[2*i], pad[2*i+1]); err != nil {
			return nil, fmt.Errorf("spatial axis %d: %w", i, err)
		}
		out[i] = s
	}
	return out, nil
}

// place finds the number of outputs, unless output_shape gives it, and how many are left out at the start. An
// output_shape beyond what inputs reach is filled up with the bias.
func (s *outAxis) place(padType string, before, after int) error {
	if err := checkLengths(s.in, s.kernel); err != nil {
		return err
	}
	s.crop = before
	if !s.in.Known() || !s.kernel.Known() {
		if padType == "same" && s.stride == 1 && !s.out.Known() {
			s.out = s.in
		}
		return nil
	}
	if s.in > maxAxis/tensor.Dim(s.stride) {
		return fmt.Errorf("the length %v with stride %d is beyond reason", s.in, s.stride)
	}
	full := (int(s.in)-1)*s.stride + (int(s.kernel)-1)*s.dilation + 1
	if s.in == 0 {
		full = 0
	}
	if !s.out.Known() {
		s.out = tensor.Dim(full - before - after)
		if padType == "same" {
			s.out = tensor.Dim(int(s.in) * s.stride)
		}
		if s.out < 0 || s.out == 0 && s.in > 0 {
			return fmt.Errorf("pads of %d and %d leave nothing of %d outputs", before, after, full)
		}
	}
	if padType == "same" {
		s.crop = max(0, full-int(s.out)) / 2
	}
	return nil
}

// phase is the outputs first, first+stride, … of an axis. They meet the same taps, so that among them the transposed
// convolution is a plain one of stride 1.
type phase struct {
	gridAxis
	first int
	taps  []int
}

// phases cuts an axis. Outputs that no tap meets are in none of the phases.
func (s *outAxis) phases() []phase {
	all := map[int]*phase{} // by the first output: there may be far fewer than the stride has
	for t := range int(s.kernel) {
		// Output first + q·stride reads input (first + q·stride + crop − t·dilation) / stride.
		first := (t*s.dilation - s.crop) % s.stride
		if first < 0 {
			first += s.stride
		}
		if first < min(s.stride, int(s.out)) {
			p := all[first]
			if p == nil {
				p = &phase{}
				all[first] = p
			}
			p.taps = append(p.taps, t)
			p.offsets = append(p.offsets, (first+s.crop-t*s.dilation)/s.stride)
		}
	}
	var used []phase
	for _, first := range slices.Sorted(maps.Keys(all)) {
		p := all[first]
		p.first, p.in, p.out, p.step = first, int(s.in), (int(s.out)-first+s.stride-1)/s.stride, 1
		used = append(used, *p)
	}
	return used
}

// transposedConv is a transposed convolution of three spatial axes; those that an operation does not have
// are of length 1.
type transposedConv struct {
	*halt
	axes                     [3]outAxis
	batch, groups, cin, cout int // channels of a group
	x, weight                []float32
}

func evalConvTranspose(c *Call) error {
	outAxes, err := c.outAxes(c.Shape("x")[2:], c.Shape("weight")[2:])
	if err != nil {
		return err
	}
	for len(outAxes) < 3 {
		outAxes = slices.Insert(outAxes, 0, outAxis{in: 1, kernel: 1, out: 1, stride: 1, dilation: 1})
	}
	w, groups := c.Tensor("weight").Shape(), c.Int("groups")
	t := transposedConv{
		halt:  c.halt,
		axes:  [3]outAxis(outAxes),
		batch: c.Tensor("x").Shape()[0], groups: groups, cin: w[0] / groups, cout: w[1],
		x: c.Floats("x"), weight: c.Floats("weight"),
	}
	out := c.filledWithBias()
	if len(out) > 0 && len(t.weight) > 0 {
		deep, high, wide := t.axes[0].phases(), t.axes[1].phases(), t.axes[2].phases()
		for _, d := range deep {
			for _, h := range high {
				for _, w := range wide {
					if c.asked() {
						return nil
					}
					t.addPhase(out, d, h, w)
				}
			}
		}
	}
	c.ReturnFloats(0, out)
	return nil
}

func (t *transposedConv) outputs() int {
	return int(t.axes[0].out) * int(t.axes[1].out) * int(t.axes[2].out)
}

// addPhase convolves for the outputs of one phase on each axis and adds the result where they lie.
func (t *transposedConv) addPhase(out []float32, d, h, w phase) {
	g := newGrid([]gridAxis{d.gridAxis, h.gridAxis, w.gridAxis})
	v := convolution{g, t.halt, t.batch, t.groups, t.cin, t.cout}
	part := make([]float32, t.batch*t.groups*t.cout*g.outputs())
	v.addTo(part, t.x, t.filters(d.taps, h.taps, w.taps))
	height, width := int(t.axes[1].out), int(t.axes[2].out)
	for i := 0; i < len(part); i += g[2].out {
		row := i / g[2].out
		o1 := h.first + row%g[1].out*t.axes[1].stride
		o0 := d.first + row/g[1].out%g[0].out*t.axes[0].stride
		plane := out[row/(g[0].out*g[1].out)*t.outputs():]
		dst := plane[(o0*height+o1)*width+w.first:]
		for j, sum := range part[i : i+g[2].out] {
			dst[j*t.axes[2].stride] += sum
		}
	}
}

// filters are the weights, [groups·cin, cout, taps], of some taps in the order of a plain convolution,
// [groups, cout, cin, taps].
func (t *transposedConv) filters(ds, hs, ws []int) []float32 {
	kh, kw := int(t.axes[1].kernel), int(t.axes[2].kernel)
	kernel := int(t.axes[0].kernel) * kh * kw
	out := make([]float32, 0, t.groups*t.cout*t.cin*len(ds)*len(hs)*len(ws))
	for g := range t.groups {
		for o := range t.cout {
			for i := range t.cin {
				from := t.weight[((g*t.cin+i)*t.cout+o)*kernel:]
				for _, d := range ds {
					for _, h := range hs {
						for _, w := range ws {
							out = append(out, from[(d*kh+h)*kw+w])
						}
					}
				}
			}
		}
	}
	return out
}
