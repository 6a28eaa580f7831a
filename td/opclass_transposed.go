package td

import "fmt"

// A transposed convolution spreads each element of x over a window of y: element
// i and tap t of the kernel meet at
//
//	i*Stride + t*Dilation - PadBefore
//
// along each of D, H and W. w has the input channels along N and the output
// channels of a group along C. Of what the windows reach, PadBefore elements at
// the beginning and PadAfter at the end are cut off; y may have more at the end,
// which nothing reaches but the bias.

func (p *Convolution) checkTransposed(x, y *Operand) error {
	for i, a := range windowAxes {
		if p.Kernel[i] < 1 || p.Stride[i] < 1 || p.Dilation[i] < 1 {
			return fmt.Errorf("kernel %d, stride %d and dilation %d along %v: want 1 or more", p.Kernel[i], p.Stride[i], p.Dilation[i], a)
		}
		left := -int64(p.PadBefore[i]) - int64(p.PadAfter[i])
		if x.Dims[a] > 0 {
			left += (int64(x.Dims[a])-1)*int64(p.Stride[i]) + (int64(p.Kernel[i])-1)*int64(p.Dilation[i]) + 1
		}
		if int64(y.Dims[a]) < left {
			return fmt.Errorf("y has %d along %v, the window over %d leaves %d", y.Dims[a], a, x.Dims[a], left)
		}
	}
	return CheckPhases(p.Stride, p.Groups)
}

// maxPhases bounds the plain convolutions that a transposed one is cut into:
// between two neighbours of x there are as many elements of y as the stride says,
// and each meets other taps, of another part of the weights in each group.
const maxPhases = 1 << 14

// CheckPhases refuses a transposed convolution that is cut into too many parts.
func CheckPhases(stride [3]int, groups int) error {
	if n := float64(stride[0]) * float64(stride[1]) * float64(stride[2]) * float64(groups); n > maxPhases {
		return fmt.Errorf("strides %v and %d groups of a transposed convolution: want at most %d altogether", stride, groups, maxPhases)
	}
	return nil
}
