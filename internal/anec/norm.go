package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// The normalizations over axes. Each leaves x's type as it is.

// LayerNorm is (x - mean) / sqrt(variance + Epsilon), both over the axes, times
// gamma plus beta. With Groups above 1 the channels, of which C must be an axis,
// are normalized in so many groups (guide 26.2).
type LayerNorm struct {
	Axes    td.Axes `net:"Dimension?"`
	Epsilon float32 `net:"Epsilon?"`
	Groups  int     `net:"NumGroups?"`
}

var layerNormContract = contract("y", "x gamma?~ beta?~")

func (*LayerNorm) Kind() Kind         { return KindLayerNorm }
func (*LayerNorm) Contract() Contract { return layerNormContract }

func (p *LayerNorm) infer(o *operands) ([]Type, error) {
	switch channels := o.dims(0)[C]; {
	case p.Groups < 1:
		return nil, fmt.Errorf("%d groups", p.Groups)
	case p.Groups > 1 && !p.Axes.Has(C):
		return nil, fmt.Errorf("%d groups of channels, but C is not normalized", p.Groups)
	case channels%p.Groups != 0:
		return nil, fmt.Errorf("%d channels do not divide into %d groups", channels, p.Groups)
	}
	return normalized(o, p.Axes, allAxes)
}

// normalized is the rule of all: x of floats, what follows it broadcasts to it.
func normalized(o *operands, axes, allowed td.Axes) ([]Type, error) {
	if err := checkAxes(axes); err != nil {
		return nil, err
	}
	if bad := axes &^ allowed; bad != 0 {
		return nil, fmt.Errorf("over %s: want %s", axesString(bad), axesString(allowed))
	}
	if err := o.floats(0); err != nil {
		return nil, err
	}
	for i := 1; i < o.len(); i++ {
		if err := o.fits(o.dims(0), allAxes, i); err != nil {
			return nil, err
		}
	}
	return like(o)
}

// InstanceNorm is LayerNorm over spatial axes, with gamma and beta for each
// channel.
type InstanceNorm struct {
	Axes    td.Axes `net:"Dimension?"`
	Epsilon float32 `net:"Epsilon?"`
}

var instanceNormContract = contract("y", "x gamma?~ beta?~")

func (*InstanceNorm) Kind() Kind         { return KindInstanceNorm }
func (*InstanceNorm) Contract() Contract { return instanceNormContract }

func (p *InstanceNorm) infer(o *operands) ([]Type, error) {
	if err := o.fits(Dims{1, 1, o.dims(0)[C], 1, 1}, allAxes, 1, 2); err != nil {
		return nil, err
	}
	return normalized(o, p.Axes, td.AxesOf(D, H, W))
}

// L2Norm is x / sqrt(sum of squares over the axes + Epsilon). The descriptor has
// no epsilon.
type L2Norm struct {
	Axes    td.Axes `net:"Dimension?"`
	Epsilon float32
}

var l2NormContract = contract("y", "x")

func (*L2Norm) Kind() Kind         { return KindL2Norm }
func (*L2Norm) Contract() Contract { return l2NormContract }

func (p *L2Norm) infer(o *operands) ([]Type, error) { return normalized(o, p.Axes, allAxes) }

// MinMaxNorm is (x - min) / (max - min + Epsilon) over the axes. A descriptor
// has no epsilon and means 1e-12; a netplist has it as the bits of an fp16.
type MinMaxNorm struct {
	Axes    td.Axes `net:"Dimension"`
	Epsilon float32 `net:"Epsilon"`
}

var minMaxNormContract = contract("y", "x")

func (*MinMaxNorm) Kind() Kind         { return KindMinMaxNorm }
func (*MinMaxNorm) Contract() Contract { return minMaxNormContract }

func (p *MinMaxNorm) infer(o *operands) ([]Type, error) { return normalized(o, p.Axes, allAxes) }

// LRN divides by (K + Alpha/Size * sum of squares of Size channels)^Beta, the
// channels about each. The window of the descriptor has D, H, W too, and its
// Type another value than Channel, which this is. On a chip only the first Size
// channels are normalized (guide B).
type LRN struct {
	Size  int     `net:"KernelChannel"`
	Alpha float32 `net:"Alpha"` // as the bits of an fp16
	Beta  float32 `net:"Beta"`
	K     float32 `net:"K"`
}

var lrnContract = contract("y", "x")

func (*LRN) Kind() Kind         { return KindLRN }
func (*LRN) Contract() Contract { return lrnContract }

func (p *LRN) infer(o *operands) ([]Type, error) {
	if p.Size < 1 {
		return nil, fmt.Errorf("a window of %d channels", p.Size)
	}
	return normalized(o, td.AxesOf(C), allAxes)
}

// Softmax is exp(x) over its sum along the axes.
type Softmax struct {
	Axes td.Axes `net:"Dimension"`
}

var softmaxContract = contract("y", "x")

func (*Softmax) Kind() Kind         { return KindSoftmax }
func (*Softmax) Contract() Contract { return softmaxContract }

func (p *Softmax) infer(o *operands) ([]Type, error) { return normalized(o, p.Axes, allAxes) }
