package strided

import "github.com/espalier-ane/espalier/td"

// A pointwise convolution meets one element for each place. Its right matrix is
// x as it lies: the lines are the places, the factors of a line the channels.

func isPointwise(op *Op) bool {
	y, x, p := &op.Operands[0], &op.Operands[1], op.Params.(*td.Convolution)
	for s, a := range spatial {
		if p.Kernel[s] != 1 || p.PadBefore[s] != 0 || y.Dims[a] != x.Dims[a] || p.Stride[s] != 1 && y.Dims[a] > 1 {
			return false
		}
	}
	a := x.array()
	_, flat := a.placeStride(x.Dims)
	return flat && a.interleave == 1
}

func bindPointwise(op *Op) (Kernel, error) {
	k := newConvolution(op)
	places := k.x
	places.strides[axisW], _ = places.placeStride(k.in)
	k.multiplyWith(op, &matrix{array: places, line: axisW, inner: axisC})
	return k, nil
}
