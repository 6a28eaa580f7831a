package engine

import (
	"bytes"
	"context"
	"slices"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/strided"
)

// Reload takes the constants of another container, which must be the same but
// for them: as hwx.PatchWeights makes it. Weights and tables are unpacked
// again, derived memory is made again, and nothing else is bound anew. External
// weights stay. Contexts stay valid. No Run may be under way. After an error, the
// program is as it was.
func (p *Program) Reload(file *hwx.File) error {
	next := *p
	next.memories = slices.Clone(p.memories)
	found := make([]bool, len(next.memories))
	for _, s := range file.Sections() {
		i, offset, ok := p.find(s.Addr)
		if !ok || offset != 0 {
			continue
		}
		if m := &next.memories[i]; m.kind == text && !bytes.Equal(m.data, s.Data) {
			return programError("the container has other tasks")
		}
		if next.memories[i].kind != constant || next.memories[i].external || next.memories[i].island {
			continue
		}
		if len(s.Data) != next.memories[i].size {
			return programError("%v: %#x bytes of constants, the program has %#x", &next.memories[i], len(s.Data), next.memories[i].size)
		}
		next.memories[i].data, found[i] = s.Data, true
	}
	for i := range found {
		if m := &next.memories[i]; m.kind == constant && !m.external && !m.island && !found[i] {
			return programError("%v: the container has no such constants", &next.memories[i])
		}
	}
	for _, s := range p.islands {
		next.memories[s.memory].data = next.memories[s.section].data[s.lo:s.hi]
	}
	weights := make(map[weightKey]*strided.Weights, len(p.weights))
	for key := range p.weights {
		w, _, err := next.unpack(&key)
		if err != nil {
			return programError("reloading weights: %v", err)
		}
		weights[key] = w
	}
	tables := make(map[weightKey]*strided.Activation, len(p.tables))
	for key := range p.tables {
		a, err := next.decodeTable(&key)
		if err != nil {
			return programError("reloading tables: %v", err)
		}
		tables[key] = a
	}
	// Steps point to the sets, so these stay where they are.
	for key, w := range weights {
		w.Number = p.weights[key].Number
		*p.weights[key] = *w
	}
	for key, a := range tables {
		*p.tables[key] = *a
	}
	p.memories = next.memories
	p.derive(context.Background())
	p.pack(context.Background())
	return nil
}
