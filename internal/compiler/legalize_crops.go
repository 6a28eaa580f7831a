package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// legalizeCrops makes tasks of slices that begin inside of a row, on chips that do not read them where they lie but
// copy them in a format of their own, which shows in the numbers (hal.Numerics.WidthSliceGain). What is known while
// compiling, or whole numbers, the chip has otherwise.
//
//	%y = anec.input_view(%x) {axis = W, offset = 3, size = 4}
//
//	%y = anec.input_view(%x) {axis = W, offset = 3, size = 4, crop = true}
func legalizeCrops(s *segment.Segment) error {
	if s.Target.Numerics.WidthSliceGain == 0 {
		return nil
	}
	var refused refusals
	for _, l := range s.Graph.Order() {
		p, ok := l.Params.(*anec.InputView)
		if !ok || p.Crop || p.Axis != anec.W || p.Offset == 0 || p.Size == 0 {
			continue
		}
		if x := l.Bottoms[0]; x.Const != nil || !x.Type.DType.IsFloat() {
			continue
		}
		crop := *p
		crop.Crop = true
		refused.add(l, s.Graph.Edit(l, func(l *anec.Layer) { l.Params = &crop }))
	}
	return refused.err()
}
