package v256

import (
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// Kinds that multiply matrices.

var matrixEmitters = map[anec.Kind]emitter{
	anec.KindMatMul: emitMatMul,
	anec.KindLinear: emitLinear,
	anec.KindSDPA:   emitSDPA,
}

func emitMatMul(e *emission) error {
	p := e.Params.(*anec.MatMul)
	return e.begin(&td.MatMul{TransposeX: p.TransposeX, TransposeZ: p.TransposeZ}, e.bottom(0), e.bottom(1))
}

// emitLinear is x·wᵀ with the axis of the vectors in the place of W. The weights have an output in each row.
func emitLinear(e *emission) error {
	p := e.Params.(*anec.Linear)
	e.view = segment.Exchange(p.Axis, anec.W)
	if err := e.begin(&td.MatMul{TransposeZ: true}, e.bottom(0), e.bottom(1)); err != nil {
		return err
	}
	x, err := e.operand(e.bottom(0))
	if err != nil {
		return err
	}
	e.op.Operands[1] = x
	if bias := e.bottom(2); bias != nil {
		return e.pair(td.EWAdd, bias)
	}
	return nil
}

// emitSDPA has the scale as a field. The largest product is subtracted before exp.
func emitSDPA(e *emission) error {
	if !e.Params.(*anec.SDPA).SubtractMax {
		return errors.New("the largest score is not subtracted: pass scores writes it out")
	}
	scale, ok := e.bottom(3).Const.Scalar()
	if !ok {
		return fmt.Errorf("its scale is not stored as one number")
	}
	return e.begin(&td.Attention{Scale: float32(scale)}, e.bottom(0), e.bottom(1), e.bottom(2), e.bottom(4))
}
