package segment

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// MemoryText says where everything lies, as the tasks have it: the sizes of the regions, the ports, and by task what it
// reads and makes, at which address, with which strides, and which task reads it last. Nothing stands here that is
// not in a task. A region has room for what was planned; results that stay on chip leave some of it untouched.
//
//	scratch 512 bytes, 512 touched, 1536 if nothing were shared
//	port 0 in %x fp16[1,1,3,8,8] 384 bytes
//	task 0 Conv
//	  reads %x port 0+0 fp16[1,1,3,8,8]
//	  reads %w weights+64 fp16[4,1,3,1,1]
//	  makes %a scratch+0 fp16[1,1,4,8,8], needed to task 1
//
// What tasks of one layer keep between them has no name of the model.
func MemoryText(s *Segment) string {
	t := &memoryText{}
	p := s.Plan
	operands := operandsOf(s)
	touched := touchedBytes(operands)
	t.printf("scratch %d bytes, %d touched, %d if nothing were shared\n", s.ScratchBytes(), touched[InScratch], p.ScratchSum+s.ScratchBytes()-p.Scratch)
	t.printf("derived %d bytes, %d touched\n", p.Derived, touched[InDerived])
	t.printf("constants %d bytes, %d touched\n", len(p.Constants), touched[InConstants])
	if n := len(s.Packed.Data); n > 0 {
		t.printf("packed %d bytes, %d touched\n", n, touched[InPacked])
	}
	for i, port := range p.Ports {
		way := "in"
		switch {
		case port.In && port.Out:
			way = "in+out"
		case port.Out:
			way = "out"
		}
		_, bytes := PortLayout(port.Value.Type, s.Target)
		t.printf("port %d %s %%%s %v %d bytes", i, way, port.Value.Name, port.Value.Type, bytes)
		if port.Name != port.Value.Name {
			t.printf(", bound as %s", port.Name)
		}
		t.printf("\n")
	}
	derived := DerivedLayers(s.Order)
	for i, task := range BoundTasks(s) {
		t.printf("task %d %v", i, task.Layer.Kind())
		if derived[task.Layer] {
			t.printf(" at load")
		}
		t.printf("\n")
		t.operands = operands[i]
		if task.Unit != nil {
			t.unit(task.Unit)
		} else {
			t.operation()
		}
	}
	return t.String()
}

// A memoryText is one in the making.
type memoryText struct {
	strings.Builder
	operands []operand // of a task, that are not printed yet
}

func (t *memoryText) printf(format string, args ...any) { fmt.Fprintf(&t.Builder, format, args...) }

// operation prints the operands of an operation.
func (t *memoryText) operation() {
	for len(t.operands) > 0 {
		o := t.begin()
		t.printf(" %v", anec.Type{DType: o.Type, Dims: o.Dims, Interleave: 1})
		if dense := td.Dense(0, 0, o.Type, o.Dims); !SameStrides(dense.Strides, o.Strides, o.Dims) && !o.Type.SubByte() {
			t.printf(" strides %v", o.Strides)
		}
		t.end(o)
	}
}

// unit prints what an operation of the array or planar engine reads and makes.
func (t *memoryText) unit(u *units.Op) {
	for _, s := range u.Sources() {
		if !s.Streams() {
			t.printf("  reads chip+%d rows %d channels %d\n", s.Chip.Base, s.Chip.Row, s.Chip.Channel)
			continue
		}
		o := t.begin()
		t.surface(s.Memory)
		if s.Keep {
			t.printf(", kept at chip+%d rows %d channels %d", s.Chip.Base, s.Chip.Row, s.Chip.Channel)
		}
		t.end(o)
	}
	if k := u.Kernel; k != nil {
		bytes, engines := 0, 0 // that have a stream
		for _, n := range k.Sizes {
			if bytes += n; n > 0 {
				engines++
			}
		}
		t.printf("  reads kernel %v %d bytes for %d engines", t.operands[0].at.At(), bytes, engines)
		if k.Producer >= 0 {
			t.printf(", made by task %d", k.Producer)
		}
		t.printf("\n")
		t.operands = t.operands[len(k.Sizes):]
	}
	if u.Result == nil || u.Result.Backing {
		t.printf("  makes chip+%d rows %d channels %d\n", u.Chip.Base, u.Chip.Row, u.Chip.Channel)
		return
	}
	o := t.begin()
	t.surface(u.Result)
	t.end(o)
}

func (t *memoryText) surface(s *units.Surface) {
	t.printf(" rows %d planes %d groups %d", s.Row, s.Plane, s.Group)
	if s.Interleave > 1 {
		t.printf(" interleaved by %d", s.Interleave)
	}
}

// begin begins the line of the next operand: what is read or made, and where.
func (t *memoryText) begin() operand {
	o := t.operands[0]
	t.operands = t.operands[1:]
	role := "reads"
	if o.made {
		role = "makes"
	}
	t.printf("  %s %s %s", role, o.name, o.at.At())
	return o
}

// end ends the line: until when what was made is needed.
func (t *memoryText) end(o operand) {
	switch {
	case !o.made || o.at.Region != InScratch:
	case o.last < 0:
		t.printf(", read by no task")
	default:
		t.printf(", needed to task %d", o.last)
	}
	t.printf("\n")
}
