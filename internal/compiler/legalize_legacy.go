package compiler

import (
	"errors"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeLegacy writes what the families before A13 lack by what they have (guide 35, minimum-family floors). A quotient by a
// constant is a product with its reciprocal, which is rounded to fp16 before:
//
//	%y = anec.floor_div(%x, 3)
//
//	%y = anec.multiply(%x, 0.33325195) | post floor
//
// so that 6 by 3, rounded down, is 1, as it is there. A divisor that is no constant has no such form. A broadcast along C is a
// product with ones, one along other axes a sum with zeros.
func legalizeLegacy(s *segment.Segment) error {
	if s.Target.Family >= hal.A13 {
		return nil
	}
	return errors.Join(
		rewriteKinds(reciprocal, anec.KindElementWise)(s),
		rewriteKinds(computedBroadcast, anec.KindBroadcast)(s),
	)
}

func reciprocal(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	kind := l.Params.(*anec.ElementWise).Type
	if kind != td.EWDiv && kind != td.EWFloorDiv || !l.Bottoms[0].Type.DType.IsFloat() {
		return nil, nil
	}
	x, by := l.Bottoms[0], l.Bottoms[1]
	if by.Const == nil || !by.Const.Plain() || by.Const.Mutable {
		return nil, errors.New("a divisor that is no constant: the target divides by multiplying with a reciprocal that is known")
	}
	numbers := by.Const.Stored.Float32s()
	for i, n := range numbers {
		numbers[i] = 1 / n
	}
	inverse := b.Constant(by.Name, anec.ConstantOf(tensor.FromFloat32s(tensor.Float16, numbers, by.Const.Stored.Shape()...)))
	var e anec.Epilogue
	if kind == td.EWFloorDiv {
		e.Post = &anec.Activation{Function: td.FuncFloor}
	}
	return layerWith(b, x.Type.DType, l.Name, &anec.ElementWise{Type: td.EWMult}, e, x, inverse), b.Err()
}

func computedBroadcast(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	x, to := l.Bottoms[0], l.Params.(*anec.Broadcast).Dims
	if x.Type.DType != tensor.Float16 {
		return nil, errors.New("a broadcast of other elements than fp16: the target computes it")
	}
	if n := to[anec.C]; x.Type.Dims[anec.C] != n {
		ones := tensor.FromFloat32s(tensor.Float16, []float32{1}, 1, 1, 1, 1, 1)
		w, err := ones.BroadcastTo(n, 1, 1, 1, 1)
		if err != nil {
			return nil, err
		}
		k := b.Constant(l.Name+"_ones", anec.ConstantOf(w.Dense()))
		x = b.Layer(l.Name, &anec.Conv{Window: anec.UnitWindow, Groups: 1, PaddingMode: td.PadZero}, x, k)
	}
	if b.Err() == nil && x.Type.Dims != to {
		zero, err := tensor.New(tensor.Float16, 1, 1, 1, 1, 1).BroadcastTo(to[:]...)
		if err != nil {
			return nil, err
		}
		x = b.Layer(l.Name, &anec.ElementWise{Type: td.EWAdd}, x, b.Constant(l.Name+"_zeros", anec.ConstantOf(zero)))
	}
	return x, b.Err()
}
