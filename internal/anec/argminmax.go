package anec

import (
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// ArgMinMax gives the index of the extreme element of each window, row by row,
// or of the extreme channel at each position of x, whatever the window.
type ArgMinMax struct {
	Window
	Mode td.ArgMode `net:"Mode"`
}

var argMinMaxContract = contract("y", "x")

func (*ArgMinMax) Kind() Kind         { return KindArgMinMax }
func (*ArgMinMax) Contract() Contract { return argMinMaxContract }

func (p *ArgMinMax) infer(o *operands) ([]Type, error) {
	if err := valid(p.Mode); err != nil {
		return nil, err
	}
	if p.Mode == td.ChannelArgMin || p.Mode == td.ChannelArgMax {
		return one(tensor.Int32, o.dims(0).With(C, 1))
	}
	y, err := p.over(o.dims(0))
	if err != nil {
		return nil, err
	}
	return one(tensor.Int32, y)
}

// GlobalArgMinMax gives the index of the extreme element of a whole axis.
type GlobalArgMinMax struct {
	Type td.Extreme `net:"Type"`
	Axis td.Axis    `net:"Dimension"`
}

var globalArgMinMaxContract = contract("y", "x")

func (*GlobalArgMinMax) Kind() Kind         { return KindGlobalArgMinMax }
func (*GlobalArgMinMax) Contract() Contract { return globalArgMinMaxContract }

func (p *GlobalArgMinMax) infer(o *operands) ([]Type, error) {
	if err := valid(p.Type); err != nil {
		return nil, err
	}
	if err := checkAxis(p.Axis); err != nil {
		return nil, err
	}
	return one(tensor.Int32, o.dims(0).With(p.Axis, 1))
}
