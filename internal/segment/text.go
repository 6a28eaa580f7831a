package segment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// MemoryText says where everything lies, as the tasks have it: the sizes of the regions, the ports, and by task what it
// reads and makes, at which address, with which strides, and until which task that is needed. Nothing stands here that is
// not in a task.
//
//	scratch 512 bytes, 1536 if nothing were shared
//	port 0 in %x fp16[1,1,3,8,8] 384 bytes
//	task 0 Conv
//	  reads %x port 0+0 fp16[1,1,3,8,8]
//	  reads %w weights+64 fp16[4,1,3,1,1]
//	  makes %a scratch+0 fp16[1,1,4,8,8], needed to task 1
func MemoryText(s *Segment) string {
	t := &memoryText{Segment: s}
	p := s.Plan
	t.printf("scratch %d bytes, %d if nothing were shared\n", s.ScratchBytes(), p.ScratchSum+s.ScratchBytes()-p.Scratch)
	t.printf("derived %d bytes\n", p.Derived)
	t.printf("constants %d bytes\n", len(p.Constants))
	if n := len(s.Packed.Data); n > 0 {
		t.printf("packed %d bytes\n", n)
	}
	for i, port := range p.Ports {
		way := "in"
		switch {
		case port.In && port.Out:
			way = "in+out"
		case port.Out:
			way = "out"
		}
		bytes, _ := port.Value.Type.Bytes()
		t.printf("port %d %s %%%s %v %d bytes\n", i, way, port.Name, port.Value.Type, bytes)
	}
	t.readers()
	derived := DerivedLayers(s.Order)
	for i, task := range BoundTasks(s) {
		t.printf("task %d %v", i, task.Layer.Kind())
		if derived[task.Layer] {
			t.printf(" at load")
		}
		t.printf("\n")
		if task.Unit != nil {
			t.unit(task.Layer, task.Unit)
		} else {
			t.operation(task.Layer, task.Op)
		}
	}
	return t.String()
}

// A memoryText is one in the making.
type memoryText struct {
	*Segment
	strings.Builder
	last map[*anec.Value]int // the task that reads a value last; -1: it leaves the segment
}

func (t *memoryText) printf(format string, args ...any) { fmt.Fprintf(&t.Builder, format, args...) }

// operation prints the operands of an operation.
func (t *memoryText) operation(l *anec.Layer, op *td.Op) {
	results := op.Results()
	for k := range op.Operands {
		i := (k + results) % len(op.Operands) // sources first
		o := &op.Operands[i]
		if !o.Present() {
			continue
		}
		made := i < results
		region, port := t.RegionOf(o.Base)
		place := Place{Region: region, Port: port, Offset: o.Offset}
		v := t.operand(l, place, made)
		t.printf(" %v", anec.Type{DType: o.Type, Dims: o.Dims, Interleave: 1})
		if dense := td.Dense(0, 0, o.Type, o.Dims); !SameStrides(dense.Strides, o.Strides, o.Dims) && !o.Type.SubByte() {
			t.printf(" strides %v", o.Strides)
		}
		t.needed(v, place, made)
	}
}

// unit prints what an operation of the array or planar engine reads and makes.
func (t *memoryText) unit(l *anec.Layer, o *units.Op) {
	for _, s := range o.Sources() {
		if !s.Streams() {
			t.printf("  reads chip+%d rows %d channels %d\n", s.Chip.Base, s.Chip.Row, s.Chip.Channel)
			continue
		}
		place := t.surfacePlace(s.Memory)
		t.operand(l, place, false)
		t.surface(s.Memory)
		if s.Keep {
			t.printf(", kept at chip+%d rows %d channels %d", s.Chip.Base, s.Chip.Row, s.Chip.Channel)
		}
		t.printf("\n")
	}
	if k := o.Kernel; k != nil {
		region, port := t.RegionOf(k.Base)
		bytes := 0
		for _, n := range k.Sizes {
			bytes += n
		}
		t.printf("  reads kernel %v %d bytes for %d engines", Place{Region: region, Port: port, Offset: int64(k.Offsets[0])}.At(), bytes, len(k.Sizes))
		if k.Producer >= 0 {
			t.printf(", made by task %d", k.Producer)
		}
		t.printf("\n")
	}
	if o.Result == nil || o.Result.Backing {
		t.printf("  makes chip+%d rows %d channels %d\n", o.Chip.Base, o.Chip.Row, o.Chip.Channel)
		return
	}
	place := t.surfacePlace(o.Result)
	v := t.operand(l, place, true)
	t.surface(o.Result)
	t.needed(v, place, true)
}

func (t *memoryText) surfacePlace(s *units.Surface) Place {
	region, port := t.RegionOf(s.Base)
	return Place{Region: region, Port: port, Offset: int64(s.Offset)}
}

func (t *memoryText) surface(s *units.Surface) {
	t.printf(" rows %d planes %d groups %d", s.Row, s.Plane, s.Group)
	if s.Interleave > 1 {
		t.printf(" interleaved by %d", s.Interleave)
	}
}

// operand begins a line: who is read or made, and where. It returns the value that lies there, if the layer knows it.
func (t *memoryText) operand(l *anec.Layer, at Place, made bool) *anec.Value {
	role := "reads"
	if made {
		role = "makes"
	}
	v := t.valueAt(l, at, made)
	name := "between"
	if v != nil {
		name = "%" + v.Name
	}
	t.printf("  %s %s %s", role, name, at.At())
	return v
}

// valueAt is the value of a layer's that lies at an address, or around it.
func (t *memoryText) valueAt(l *anec.Layer, at Place, made bool) *anec.Value {
	candidates := slices.Concat(l.Reads(), t.Touched[t.StandsFor[l]], l.Tops)
	if made {
		candidates = slices.Concat(l.Tops, t.Touched[t.StandsFor[l]])
	}
	var around *anec.Value
	for _, v := range candidates {
		p, ok := t.Plan.Places[v]
		if !ok || p.Region != at.Region || p.Port != at.Port {
			continue
		}
		if p.Offset == at.Offset {
			return v
		}
		if around == nil && p.Offset <= at.Offset && at.Offset < p.End(v.Type) {
			around = v
		}
	}
	return around
}

// needed ends a line: until when what was made is needed.
func (t *memoryText) needed(v *anec.Value, at Place, made bool) {
	if last, ok := t.last[v]; v != nil && made && ok && at.Region == InScratch {
		t.printf(", needed to task %d", last)
	}
	t.printf("\n")
}

// readers finds the tasks that read each value last, itself or through what is no task: a view, a concatenation.
func (t *memoryText) readers() {
	t.last = map[*anec.Value]int{}
	final := map[*anec.Layer]int{} // the last task of a layer
	n := 0
	for _, l := range t.Plan.Layers {
		n += len(t.Selected[l])
		final[l] = n - 1
	}
	for _, l := range slices.Backward(t.Order) {
		at, task := final[l]
		if !task {
			at = t.last[l.Top()]
		}
		for _, v := range l.Reads() {
			t.last[v] = max(t.last[v], at)
		}
	}
}
