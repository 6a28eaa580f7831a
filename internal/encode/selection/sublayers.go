package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/tensor"
)

// sublayers selects the tasks of layers that one layer stands for. What lies between them is in scratch memory.
type sublayers struct {
	*builder
	tasks  int // of the build before them
	ops    []*units.Op
	failed bool
}

// layer selects the tasks of a layer and returns its top, of which the given are the extents.
func (s *sublayers) layer(d anec.Dims, p anec.Params, e anec.Epilogue, bottoms ...*anec.Value) *anec.Value {
	l := &anec.Layer{Params: p, Bottoms: bottoms, Epilogue: e}
	y := &anec.Value{Type: anec.Type{DType: tensor.Float16, Dims: d, Interleave: 1}, Def: l}
	l.Tops = []*anec.Value{y}
	if _, ok := s.scratchFor(y); !ok {
		s.failed = true
	}
	s.take(l)
	return y
}

func (s *sublayers) take(l *anec.Layer) {
	if s.failed {
		return
	}
	ops, ok := s.plain(l)
	s.ops = append(s.ops, ops...)
	s.builder.tasks = s.tasks + len(s.ops)
	s.failed = !ok
}

// layerByLayer selects the tasks of layers that do not go together after all.
func (b *builder) layerByLayer(layers ...*anec.Layer) (ops []*units.Op, ok bool) {
	before := b.tasks
	defer func() { b.tasks = before }()
	for _, l := range layers {
		part, ok := b.attempt(func() ([]*units.Op, bool) { return b.plain(l) })
		if !ok {
			return nil, false
		}
		ops = append(ops, part...)
		b.tasks = before + len(ops)
	}
	return ops, true
}
