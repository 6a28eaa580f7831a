package v256

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// Kinds that look at all elements along axes: reductions and normalizations.

var normEmitters = map[anec.Kind]emitter{
	anec.KindReduction:    emitReduction,
	anec.KindSoftmax:      emitSoftmax,
	anec.KindLayerNorm:    emitLayerNorm,
	anec.KindInstanceNorm: emitInstanceNorm,
	anec.KindL2Norm:       emitL2Norm,
	anec.KindMinMaxNorm:   emitMinMaxNorm,
	anec.KindLRN:          emitLRN,
}

func emitReduction(e *emission) error {
	p := e.Params.(*anec.Reduction)
	if err := e.begin(&td.Reduction{Kind: p.Type, Axes: p.Axes}, e.bottom(0)); err != nil {
		return err
	}
	if p.Square {
		e.add(td.MicroOp{Code: td.MicroEW, Function: uint8(td.EWSquare)})
	}
	return nil
}

func emitSoftmax(e *emission) error {
	axis, ok := segment.SoftmaxAxis(e.Layer)
	if !ok {
		return fmt.Errorf("over %d axes: pass softmax takes it apart", bits.OnesCount8(uint8(e.Params.(*anec.Softmax).Axes)))
	}
	return e.begin(&td.Softmax{Axis: axis}, e.bottom(0))
}

func emitLayerNorm(e *emission) error {
	p := e.Params.(*anec.LayerNorm)
	if p.Groups > 1 {
		return fmt.Errorf("%d groups: pass groups takes them apart", p.Groups)
	}
	return e.begin(&td.LayerNorm{Axes: p.Axes, Epsilon: p.Epsilon}, e.bottom(0), e.bottom(1), e.bottom(2))
}

func emitInstanceNorm(e *emission) error {
	p := e.Params.(*anec.InstanceNorm)
	return e.begin(&td.InstanceNorm{Axes: p.Axes, Epsilon: p.Epsilon}, e.bottom(0), e.bottom(1), e.bottom(2))
}

func emitL2Norm(e *emission) error {
	p := e.Params.(*anec.L2Norm)
	return e.begin(&td.L2Norm{Axes: p.Axes, Epsilon: p.Epsilon}, e.bottom(0))
}

func emitMinMaxNorm(e *emission) error {
	p := e.Params.(*anec.MinMaxNorm)
	return e.begin(&td.MinMaxNorm{Axes: p.Axes, Epsilon: p.Epsilon}, e.bottom(0))
}

func emitLRN(e *emission) error {
	p := e.Params.(*anec.LRN)
	if !p.Around {
		return errors.New("of the first channels alone: pass responses takes it apart")
	}
	return e.begin(&td.LRN{Size: p.Size, Alpha: p.Alpha, Beta: p.Beta, K: p.K}, e.bottom(0))
}
