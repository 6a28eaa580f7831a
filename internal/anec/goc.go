package anec

import "fmt"

// GOC is gain and offset: x*scale + bias. Each is a number of the layer (the
// key's value is the bits of an fp16), or a constant with one for each channel,
// which takes its place.
type GOC struct {
	Scale float32 `net:"ScaleScalar"`
	Bias  float32 `net:"BiasScalar"`
}

// Netplists have the constants in Params (BiasScaleGroupData).
var gocContract = contract("y", "x scale?! bias?!")

func (*GOC) Kind() Kind         { return KindGOC }
func (*GOC) Contract() Contract { return gocContract }

func (p *GOC) infer(o *operands) ([]Type, error) {
	if err := o.fits(Dims{1, 1, o.dims(0)[C], 1, 1}, allAxes, 1, 2); err != nil {
		return nil, err
	}
	return like(o)
}

// DynamicGOC is x*scale + bias with operands that are live: one number for each
// channel, or for all. BiasOnly: there is no scale.
type DynamicGOC struct {
	BiasOnly bool `net:"BiasOnly"`
}

// Netplists have x, scale, bias, or with BiasOnly x, bias.
var dynamicGOCContract = contract("y", "x scale? bias?")

func (*DynamicGOC) Kind() Kind         { return KindDynamicGOC }
func (*DynamicGOC) Contract() Contract { return dynamicGOCContract }

func (p *DynamicGOC) infer(o *operands) ([]Type, error) {
	switch {
	case p.BiasOnly && (o.has(1) || !o.has(2)):
		return nil, fmt.Errorf("BiasOnly wants bias and no scale")
	case !p.BiasOnly && !o.has(1):
		return nil, fmt.Errorf("scale is missing, but for BiasOnly")
	}
	if err := o.fits(Dims{1, 1, o.dims(0)[C], 1, 1}, allAxes, 1, 2); err != nil {
		return nil, err
	}
	return like(o)
}

// BatchNorm is gamma * (x - mean) / sqrt(variance + Epsilon) + beta with one
// number of each for each channel.
type BatchNorm struct {
	Epsilon float32 `net:"Epsilon?"`
}

var batchNormContract = contract("y", "x mean~ variance~ gamma?~ beta?~")

func (*BatchNorm) Kind() Kind         { return KindBatchNorm }
func (*BatchNorm) Contract() Contract { return batchNormContract }

func (p *BatchNorm) infer(o *operands) ([]Type, error) {
	for i := 1; i < o.len(); i++ {
		if err := o.want(i, Dims{1, 1, o.dims(0)[C], 1, 1}); err != nil {
			return nil, err
		}
	}
	if err := o.floats(0); err != nil {
		return nil, err
	}
	return like(o)
}
