package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/tensor"
)

// sublayers selects the tasks of layers that one layer stands for. What lies between them is in scratch memory.
type sublayers struct {
	*builder
	tasks int // of the build before them
	ops   []*units.Op
	why   *diag.Reason // of the first that has no tasks
}

// layer selects the tasks of a layer and returns its top, of which the given are the extents.
func (s *sublayers) layer(d anec.Dims, p anec.Params, e anec.Epilogue, bottoms ...*anec.Value) *anec.Value {
	l := &anec.Layer{Params: p, Bottoms: bottoms, Epilogue: e}
	y := &anec.Value{Type: anec.Type{DType: tensor.Float16, Dims: d, Interleave: 1}, Def: l}
	l.Tops = []*anec.Value{y}
	if _, why := s.scratchFor(y); why != nil {
		s.why = firstOf(s.why, within(l, why))
	}
	s.take(l)
	return y
}

func (s *sublayers) take(l *anec.Layer) {
	if s.why != nil {
		return
	}
	ops, why := s.plain(l)
	s.ops = append(s.ops, ops...)
	s.builder.tasks = s.tasks + len(s.ops)
	if why != nil {
		s.why = within(l, why)
	}
}

// layerByLayer selects the tasks of layers that do not go together after all, for a reason.
func (b *builder) layerByLayer(together *diag.Reason, layers ...*anec.Layer) (ops []*units.Op, why *diag.Reason) {
	before := b.tasks
	defer func() { b.tasks = before }()
	for _, l := range layers {
		part, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.plain(l) })
		switch {
		case why == nil:
		case alike(together, why):
			return nil, within(l, why)
		default:
			return nil, neither(together, within(l, why))
		}
		ops = append(ops, part...)
		b.tasks = before + len(ops)
	}
	return ops, nil
}
