package ops

import (
	"fmt"
	"runtime"
	"runtime/metrics"

	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A shape in a file may ask for any amount of memory, and a program that runs out of it cannot be saved. So arrays
// are counted before they are made.

// bytesPerElement is what an operation needs for each element of its results: an integer is computed as an int64,
// a float and what it is rounded to are both there for a moment.
const bytesPerElement = 8

// foldMemory bounds what constant folding takes: it is for shapes, axes and indices.
const foldMemory = 1 << 26

// CheckMemory refuses arrays that cannot fit together, by a limit of bytes; 0 is the default. The error is a
// *limit.Error.
func CheckMemory(bytes int64, types ...mil.Type) error {
	return (&Call{memory: bytes}).checkMemory(types...)
}

// checkMemory refuses arrays that do not fit beside what the evaluation holds already.
func (c *Call) checkMemory(types ...mil.Type) error {
	need := 0.0
	for _, t := range types {
		tt, ok := t.(*mil.TensorType)
		if !ok || !tt.Shape.Known() {
			continue
		}
		need += bytesPerElement * countOf(tt.Shape)
		if err := c.room(need, tt); err != nil {
			return err
		}
	}
	return nil
}

// room refuses bytes that do not fit beside what the evaluation holds already: arrays of results, or what an operation
// needs beside them. How much is in use is asked only if that could matter.
func (c *Call) room(need float64, what fmt.Stringer) error {
	limit := c.memoryLimit()
	used := int64(0)
	if need >= float64(limit/64) && c.inUse != nil {
		used = c.inUse()
	}
	if need > float64(limit-used) {
		return beyondMemory(what, need, used, limit)
	}
	makeRoom(need)
	return nil
}

func beyondMemory(what fmt.Stringer, need float64, used, allowed int64) error {
	return &limit.Error{Resource: limit.Memory, What: what.String(), Asked: limit.Clamp(need), InUse: used, Allowed: allowed}
}

func (c *Call) memoryLimit() int64 {
	return limit.Limits{Memory: c.memory}.MaxMemory(osfile.MemoryLimit)
}

// makeRoom collects garbage before it, with what comes, outgrows what the system lets the process have. The collector
// by itself would let it grow to as much as there is in use.
func makeRoom(need float64) {
	const worthwhile = 1 << 26
	if need < worthwhile {
		return
	}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	if float64(heap[0].Value.Uint64())+need > 1.5*float64(osfile.MemoryLimit()) {
		runtime.GC()
	}
}

// memoryInUse is the number of bytes of the arrays that have been computed and are still needed. Views of one array count
// once. Constants do not count: they are no larger than the program's files.
func (r *run) memoryInUse() int64 {
	total := int64(0)
	seen := map[*byte]bool{}
	add := func(t *tensor.Tensor) {
		if t == nil {
			return
		}
		if start, size := t.Memory(); start != nil && !seen[start] {
			seen[start] = true
			total += int64(size)
		}
	}
	for v, val := range r.env {
		if v.Def != nil && isConstant(v.Def) {
			continue
		}
		switch x := val.(type) {
		case *tensor.Tensor:
			add(x)
		case *List:
			for _, item := range x.Items {
				add(item)
			}
		case *State:
			add(x.Read())
		}
	}
	return total
}
