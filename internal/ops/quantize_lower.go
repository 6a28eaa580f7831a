package ops

import "github.com/espalier-ane/espalier/internal/anec"

func lowerQuantize(l *Lowering) error {
	return l.quantized(&anec.Quant{To: l.OutDType(0)})
}

func lowerDequantize(l *Lowering) error { return l.quantized(&anec.DeQuant{}) }

// quantized adds a layer with scale and zero point: one of each, or one for each element of an axis.
func (l *Lowering) quantized(p anec.Params) error {
	axis, err := quantizedAxis(l.Call)
	if err != nil {
		return err
	}
	along := func(param string) *anec.Value {
		if !l.Has(param) {
			return nil
		}
		dims := anec.Dims{1, 1, 1, 1, 1}
		if axis >= 0 {
			dims[l.Axis5("input", axis)], _ = l.Shape(param).Count()
		}
		return l.Reshape(l.In(param), dims)
	}
	l.Give(0, l.Layer(l.Name(), p, l.In("input"), along("scale"), along("zero_point")))
	return nil
}
