package compiler

import "github.com/espalier-ane/espalier/internal/segment"

// bindTasks lists the tasks of the layers in their order, with addresses: entries of the base-address table and offsets
// instead of the numbers of memories.
//
//	selected   %y = anec.relu(%x)        from buffer 4 + 0 to buffer 6 + 64
//	bound                                       from entry 4 + 0  to entry 3 + 576
func bindTasks(s *segment.Segment) error {
	s.Tasks = segment.BoundTasks(s)
	return nil
}
