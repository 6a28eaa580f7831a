package td

import (
	"maps"
	"slices"
)

// Registers is the register file of an engine. It outlives the tasks: a
// register that a task does not write keeps its value (h13 2.1).
type Registers struct {
	layout  *Layout
	words   []uint32
	written []bool
	others  map[uint32]uint32 // registers outside every block
}

// blockSpan says where a block stands in Registers.words.
type blockSpan struct{ addr, words, at uint32 }

// NewRegisters returns registers that nothing has written.
func NewRegisters(l *Layout) *Registers {
	return &Registers{layout: l, words: make([]uint32, l.words), written: make([]bool, l.words)}
}

// index returns the place of a register, or -1.
func (r *Registers) index(addr uint32) int {
	for _, s := range r.layout.spans {
		if d := addr - s.addr; addr >= s.addr && d < 4*s.words && d%4 == 0 {
			return int(s.at + d/4)
		}
	}
	return -1
}

// Apply makes the register writes of a task.
func (r *Registers) Apply(t *Task) {
	for _, rec := range t.Records {
		for i, w := range rec.Words {
			r.Write(rec.Addr+4*uint32(i), w)
		}
	}
}

// Write sets one register.
func (r *Registers) Write(addr, word uint32) {
	if i := r.index(addr); i >= 0 {
		r.words[i], r.written[i] = word, true
		return
	}
	if r.others == nil {
		r.others = make(map[uint32]uint32)
	}
	r.others[addr] = word
}

// Word returns a register, and whether anything has written it.
func (r *Registers) Word(addr uint32) (uint32, bool) {
	if i := r.index(addr); i >= 0 {
		return r.words[i], r.written[i]
	}
	w, ok := r.others[addr]
	return w, ok
}

// Get returns a field, and whether anything has written its register. A header
// field is not in the registers.
func (r *Registers) Get(f *Field) (uint32, bool) {
	if f.Block.Header {
		return 0, false
	}
	w, ok := r.Word(f.Addr)
	return f.Of(w), ok
}

// Value returns a field, 0 if nothing has written it.
func (r *Registers) Value(f *Field) uint32 {
	v, _ := r.Get(f)
	return v
}

// Float returns the number in an FP16 or FP32 field.
func (r *Registers) Float(f *Field) float32 { return f.Float(r.Value(f)) }

// Others returns the addresses written that no block of the layout holds, in
// order.
func (r *Registers) Others() []uint32 { return slices.Sorted(maps.Keys(r.others)) }
