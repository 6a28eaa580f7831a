package v256

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// Kinds that walk over D, H and W with a window.

var windowEmitters = map[anec.Kind]emitter{
	anec.KindConv:             emitConv,
	anec.KindPooling:          emitPooling,
	anec.KindArgMinMax:        emitArgMinMax,
	anec.KindCrossCorrelation: emitCrossCorrelation,
}

func windowOf(w *anec.Window) td.Window {
	return td.Window{Kernel: w.Kernel, Stride: w.Stride, Dilation: w.Dilation, PadBefore: w.PadBefore, PadAfter: w.PadAfter}
}

func emitConv(e *emission) error {
	p := e.Params.(*anec.Conv)
	if segment.ConvPadsOtherwise(p) {
		return fmt.Errorf("padding mode %v: pass padding takes it out", p.PaddingMode)
	}
	return e.begin(&td.Convolution{Window: windowOf(&p.Window), Groups: p.Groups, Transposed: p.Transposed},
		e.bottom(0), e.bottom(1), e.bottom(2))
}

// poolings are the kinds that the class has.
var poolings = map[td.PoolKind]bool{td.PoolAvg: true, td.PoolMax: true, td.PoolMin: true, td.PoolL1: true, td.PoolL2: true}

func emitPooling(e *emission) error {
	p := e.Params.(*anec.Pooling)
	if !poolings[p.Type] {
		return fmt.Errorf("%v: pass pooling takes it out", p.Type)
	}
	if segment.PoolPadsOtherwise(p) {
		return fmt.Errorf("%v with padding mode %v: pass padding takes it out", p.Type, p.PaddingMode)
	}
	return e.begin(&td.Pooling{Window: windowOf(&p.Window), Kind: p.Type, CountPad: !p.ExcludePad}, e.bottom(0))
}

func emitArgMinMax(e *emission) error {
	p := e.Params.(*anec.ArgMinMax)
	return e.begin(&td.ArgMinMax{Window: windowOf(&p.Window), Mode: p.Mode}, e.bottom(0))
}

func emitCrossCorrelation(e *emission) error {
	p := e.Params.(*anec.CrossCorrelation)
	return e.begin(&td.CrossCorrelation{Template: p.Template, PadBefore: p.PadBefore, PadAfter: p.PadAfter, Groups: p.Groups},
		e.bottom(0), e.bottom(1))
}
