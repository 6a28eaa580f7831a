package ops

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// slide is how the window of a convolution or pool moves along one axis. Cell t of the window of output o lies over
// the input at o·stride + t·dilation − before; what lies outside is padding.
type slide struct {
	in, kernel, out  tensor.Dim
	stride, dilation int
	before, after    int // padding, if the lengths are known
}

// reach is the length of input under a window.
func (s slide) reach() int { return (int(s.kernel)-1)*s.dilation + 1 }

// The longest axis and kernel for which no sum or product of lengths overflows.
const (
	maxAxis   = 1 << 40
	maxKernel = 1 << 31
)

// rounding is a way to count the positions of a window.
type rounding uint8

const (
	roundDown rounding = iota // only windows that end within the padding
	roundUp                   // and one more, if it begins before the end: ceil_mode
)

// slides reads the parameters strides, dilations, pad_type and pad, those that the operation has, for the
// spatial axes of a convolution or pool.
func (c *Call) slides(in, kernel tensor.Shape, r rounding) ([]slide, error) {
	n := len(in)
	strides, err := c.perAxis("strides", n)
	if err != nil {
		return nil, err
	}
	dilations, err := c.perAxis("dilations", n)
	if err != nil {
		return nil, err
	}
	padType, err := c.padType("valid", "same", "custom", "same_lower")
	if err != nil {
		return nil, err
	}
	pad := make([]int, 2*n)
	if padType == "custom" {
		if pad, err = c.customPad(n); err != nil {
			return nil, err
		}
	}
	out := make([]slide, n)
	for i := range out {
		s := slide{in: in[i], kernel: kernel[i], stride: strides[i], dilation: dilations[i], before: pad[2*i], after: pad[2*i+1]}
		if err := s.place(padType, r); err != nil {
			return nil, fmt.Errorf("spatial axis %d: %w", i, err)
		}
		out[i] = s
	}
	return out, nil
}

// perAxis is a parameter with a positive number for each spatial axis, 1 if it is left out.
func (c *Call) perAxis(name string, n int) ([]int, error) {
	if !c.Has(name) {
		ones := make([]int, n)
		for i := range ones {
			ones[i] = 1
		}
		return ones, nil
	}
	vals := c.Ints(name)
	if len(vals) != n {
		return nil, fmt.Errorf("%s %v has %d elements, expected one for each of %d spatial axes", name, vals, len(vals), n)
	}
	for _, v := range vals {
		if v < 1 {
			return nil, fmt.Errorf("%s %v: expected positive numbers", name, vals)
		}
	}
	return vals, nil
}

// padType is the way of padding, one of those allowed.
func (c *Call) padType(allowed ...string) (string, error) {
	padType := strings.ToLower(c.Str("pad_type"))
	for _, a := range allowed {
		if a != padType {
			continue
		}
		if a == "same_lower" && c.Opset == IOS15 {
			return "", fmt.Errorf("pad_type same_lower is not in opset %v: it comes with %v", IOS15, IOS16)
		}
		return a, nil
	}
	return "", fmt.Errorf("pad_type is %q, expected one of %s", padType, strings.Join(allowed, ", "))
}

// customPad is the number of cells before and after each spatial axis.
func (c *Call) customPad(n int) ([]int, error) {
	if !c.Has("pad") {
		return make([]int, 2*n), nil
	}
	pad := c.Ints("pad")
	if len(pad) != 2*n {
		return nil, fmt.Errorf("pad %v has %d elements, expected two for each of %d spatial axes", pad, len(pad), n)
	}
	for _, p := range pad {
		if p < 0 {
			return nil, fmt.Errorf("pad %v: expected no negative number", pad)
		}
	}
	return pad, nil
}

// checkLengths refuses windows that no array could have.
func checkLengths(in, kernel tensor.Dim) error {
	switch {
	case in > maxAxis:
		return fmt.Errorf("the length %v is beyond reason", in)
	case kernel == 0 || kernel > maxKernel:
		return fmt.Errorf("the kernel length is %v, expected 1 to %d", kernel, maxKernel)
	}
	return nil
}

// place finds the padding and the number of positions of the window.
func (s *slide) place(padType string, r rounding) error {
	if err := checkLengths(s.in, s.kernel); err != nil {
		return err
	}
	same := padType == "same" || padType == "same_lower"
	if !s.in.Known() || !s.kernel.Known() {
		s.out = tensor.Unknown
		if s.stride == 1 && (same || s.kernel.Known() && s.before+s.after == s.reach()-1) {
			s.out = s.in
		}
		return nil
	}
	in, reach := int(s.in), s.reach()
	if same {
		total := max(0, ((in+s.stride-1)/s.stride-1)*s.stride+reach-in)
		s.before, s.after = total/2, total-total/2
		if padType == "same_lower" {
			s.before, s.after = s.after, s.before
		}
	}
	room := in + s.before + s.after - reach
	if room < 0 {
		return fmt.Errorf("a window of %d does not fit the input, %d with padding %d and %d", reach, in, s.before, s.after)
	}
	out := room/s.stride + 1
	if r == roundUp {
		out = (room+s.stride-1)/s.stride + 1
		// A last window that would begin in the padding at the end does not count. Without padding it does, odd as
		// that is: coremltools has it so.
		if pads := s.before + s.after; pads > 0 && 2*(out-1)*s.stride >= 2*in+pads {
			out--
		}
	}
	s.out = tensor.Dim(out)
	return nil
}

// outLengths are the positions of the window on each axis.
func outLengths(slides []slide) tensor.Shape {
	out := make(tensor.Shape, len(slides))
	for i, s := range slides {
		out[i] = s.out
	}
	return out
}
