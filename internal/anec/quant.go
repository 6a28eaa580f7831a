package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/tensor"
)

// Quant is round(x/scale) + zero, saturated to the type To. scale and zero
// broadcast to x: one number, or one for each element of an axis.
type Quant struct {
	To tensor.DType `net:"OutputType"`
}

var quantContract = contract("y", "x scale~ zero?~")

func (*Quant) Kind() Kind         { return KindQuant }
func (*Quant) Contract() Contract { return quantContract }

func (p *Quant) infer(o *operands) ([]Type, error) {
	if !p.To.IsInteger() {
		return nil, fmt.Errorf("quantized to %v, want an integer type", p.To)
	}
	if err := o.floats(0, 1); err != nil {
		return nil, err
	}
	if err := o.fits(o.dims(0), allAxes, 1, 2); err != nil {
		return nil, err
	}
	return one(p.To, o.dims(0))
}

// DeQuant is (x - zero)*scale. scale and zero broadcast to x; the result has the
// type of scale.
type DeQuant struct{}

var deQuantContract = contract("y", "x scale~ zero?~")

func (*DeQuant) Kind() Kind         { return KindDeQuant }
func (*DeQuant) Contract() Contract { return deQuantContract }

func (p *DeQuant) infer(o *operands) ([]Type, error) {
	if err := o.floats(1); err != nil {
		return nil, err
	}
	if d := o.types[0].DType; !d.IsInteger() {
		return nil, fmt.Errorf("x is of %v, want an integer type", d)
	}
	if err := o.fits(o.dims(0), allAxes, 1, 2); err != nil {
		return nil, err
	}
	return one(o.types[1].DType, o.dims(0))
}
