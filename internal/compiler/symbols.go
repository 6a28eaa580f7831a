package compiler

import (
	"strings"

	"github.com/espalier-ane/espalier/mil"
)

// symbols are the names that values have in the descriptor. A feature has its own name on the host, and another on the
// engine's side of the cast that stands between.
type symbols struct {
	place *Placement
	ends  map[*mil.Value]string // of inputs and outputs of the function, on the engine's side
}

// engineSuffix marks the engine's side of a feature.
const engineSuffix = "__engine"

func newSymbols(p *Placement) *symbols {
	s := &symbols{place: p, ends: map[*mil.Value]string{}}
	names := p.names()
	add := func(v *mil.Value) {
		if _, ok := v.Type.(*mil.TensorType); !ok || s.ends[v] != "" {
			return
		}
		s.ends[v] = engineName(v.Name, names)
	}
	for _, v := range p.Function.Inputs {
		add(v)
	}
	for _, v := range p.Function.Body.Outputs {
		add(v)
	}
	return s
}

// names are those of all values of a function.
func (p *Placement) names() map[string]bool {
	names := map[string]bool{}
	for _, v := range p.Function.Inputs {
		names[v.Name] = true
	}
	for _, op := range p.Function.Body.Operations {
		for _, v := range op.Outputs {
			names[v.Name] = true
		}
	}
	return names
}

// engineName makes the name of a value on the engine's side, one that nothing has, and takes it.
func engineName(name string, taken map[string]bool) string {
	name += engineSuffix
	for taken[name] {
		name = strings.TrimSuffix(name, engineSuffix) + "_" + engineSuffix
	}
	taken[name] = true
	return name
}

// engine is the name of a value on the engine's side.
func (s *symbols) engine(v *mil.Value) string {
	if name := s.ends[v]; name != "" {
		return name
	}
	return v.Name
}
