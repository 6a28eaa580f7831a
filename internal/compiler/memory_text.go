package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// MemoryText says where everything lies: the sizes of the regions, the ports, the values by the tasks that make
// them, with strides where they are not dense, and the tasks from which to which they are needed. For a chip, what stays
// in on-chip memory follows (memory_chiptext.go).
//
//	scratch 512 bytes, 1536 if nothing were shared
//	port 0  in       %x fp16[1,1,3,8,8]  384 bytes
//	task 0  Conv     %a fp16[1,1,4,8,8]  scratch+0  512 bytes  tasks 0-1
func MemoryText(s *Segment) string {
	var b strings.Builder
	p := s.Plan
	fmt.Fprintf(&b, "scratch %d bytes, %d if nothing were shared\n", p.Scratch, p.ScratchSum)
	fmt.Fprintf(&b, "derived %d bytes\n", p.Derived)
	fmt.Fprintf(&b, "constants %d bytes\n", len(p.Constants))
	for i, port := range p.Ports {
		way := "in"
		switch {
		case port.In && port.Out:
			way = "in+out"
		case port.Out:
			way = "out"
		}
		bytes, _ := port.Value.Type.Bytes()
		fmt.Fprintf(&b, "port %d %s %%%s %v %d bytes\n", i, way, port.Name, port.Value.Type, bytes)
	}
	last, end := lastReads(s), len(p.Layers)
	shown := map[*anec.Value]bool{}
	value := func(role string, v *anec.Value, from int) {
		shown[v] = true
		place := p.Places[v]
		bytes, _ := v.Type.Bytes()
		fmt.Fprintf(&b, "  %s %%%s %v %v %d bytes", role, v.Name, v.Type, place.at(), bytes)
		if !place.dense(v.Type) {
			fmt.Fprintf(&b, " strides %v", place.Strides)
		}
		switch to := last[v]; {
		case place.Region == InConstants || place.Region == InWeights || from < 0:
		case to == end:
			fmt.Fprintf(&b, " from task %d on", from)
		default:
			fmt.Fprintf(&b, " tasks %d-%d", from, max(from, to))
		}
		b.WriteByte('\n')
	}
	for i, l := range p.Layers {
		fmt.Fprintf(&b, "task %d %v\n", i, l.Kind())
		for _, v := range l.Reads() {
			if !shown[v] {
				value("reads", v, -1)
			}
		}
		for _, v := range l.Tops {
			value("makes", v, i)
		}
	}
	if p.OnChip != nil {
		chipText(&b, s)
	}
	return b.String()
}

// lastReads returns the task that reads a value last, itself or through what is no task: a view, a concatenation.
// What leaves the segment is read after all tasks.
func lastReads(s *Segment) map[*anec.Value]int {
	last, number := map[*anec.Value]int{}, map[*anec.Layer]int{}
	for i, l := range s.Plan.Layers {
		number[l] = i
	}
	for _, v := range s.Graph.Outputs {
		last[v] = len(s.Plan.Layers)
	}
	for _, state := range s.Graph.States {
		last[state.After] = len(s.Plan.Layers)
	}
	for _, l := range slices.Backward(s.Order) {
		at, ok := number[l]
		if !ok {
			at = last[l.Top()]
		}
		for _, v := range l.Reads() {
			last[v] = max(last[v], at)
		}
	}
	return last
}

var regionNames = [...]string{"scratch", "derived", "constants", "weights", "port"}

func (r Region) String() string { return regionNames[r] }

// at names the place of the first element.
func (p Place) at() string {
	if p.Region == InPort {
		return fmt.Sprintf("port %d+%d", p.Port, p.Offset)
	}
	return fmt.Sprintf("%v+%d", p.Region, p.Offset)
}

// dense reports whether the elements of a value lie side by side.
func (p Place) dense(t anec.Type) bool {
	dense := td.Dense(0, 0, t.DType, t.Dims).Strides
	for a, n := range t.Dims {
		if n == 1 {
			dense[a] = p.Strides[a]
		}
	}
	return slices.Equal(dense[:], p.Strides[:])
}
