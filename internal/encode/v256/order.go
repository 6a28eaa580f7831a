package v256

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// Kinds that find elements: by an index, or by their order.

var orderEmitters = map[anec.Kind]emitter{
	anec.KindGather:          emitGather,
	anec.KindSort:            emitSort,
	anec.KindTopK:            emitTopK,
	anec.KindGlobalArgMinMax: emitGlobalArgMinMax,
}

func emitGather(e *emission) error {
	p := e.Params.(*anec.Gather)
	if len(p.Axes) != 1 {
		return fmt.Errorf("%d axes: pass gather makes one of them", len(p.Axes))
	}
	return e.begin(&td.Gather{Axis: p.Axes[0]}, e.bottom(0), e.bottom(1))
}

func emitSort(e *emission) error {
	p := e.Params.(*anec.Sort)
	s, err := sortingOf(&p.Sorting)
	if err != nil {
		return err
	}
	return e.begin(&td.Sort{Direction: p.Direction, Sorting: s}, e.bottom(0))
}

func emitTopK(e *emission) error {
	p := e.Params.(*anec.TopK)
	s, err := sortingOf(&p.Sorting)
	if err != nil {
		return err
	}
	return e.begin(&td.TopK{Type: p.Type, K: p.K, Sorting: s}, e.bottom(0))
}

func sortingOf(s *anec.Sorting) (td.Sorting, error) {
	out := td.Sorting{Axis: s.Axis, VectorAxis: s.VectorAxis, NumKeys: len(s.Keys), Results: s.Results}
	if len(s.Keys) > td.MaxSortKeys {
		return out, fmt.Errorf("%d keys: a task compares %d", len(s.Keys), td.MaxSortKeys)
	}
	copy(out.Keys[:], s.Keys)
	return out, nil
}

func emitGlobalArgMinMax(e *emission) error {
	p := e.Params.(*anec.GlobalArgMinMax)
	return e.begin(&td.GlobalArgMinMax{Type: p.Type, Axis: p.Axis}, e.bottom(0))
}
