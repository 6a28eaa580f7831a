package ops

import (
	"fmt"
	"math"
	"runtime/debug"
	"sync"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A shape in a file may ask for any amount of memory, and a program that runs out of it cannot be saved. So arrays
// are counted before they are made.

// memoryLimit is GOMEMLIMIT where that is set, else half of the machine's memory, which is not ours alone.
var memoryLimit = sync.OnceValue(func() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	if n := osfile.Memory(); n > 0 {
		return n / 2
	}
	return 1 << 35
})

// bytesPerElement is what an operation needs for each element of its results: an integer is computed as an int64,
// a float and what it is rounded to are both there for a moment.
const bytesPerElement = 8

// CheckMemory refuses arrays that cannot fit together.
func CheckMemory(types ...mil.Type) error { return checkMemory(types, func() int64 { return 0 }) }

// checkMemory refuses the results of an operation that do not fit beside what the evaluation holds already.
func (r *run) checkMemory(results []mil.Type) error { return checkMemory(results, r.memoryInUse) }

// checkMemory asks how much memory is in use only if that could matter.
func checkMemory(types []mil.Type, inUse func() int64) error {
	limit := memoryLimit()
	need := int64(0)
	for _, t := range types {
		tt, ok := t.(*mil.TensorType)
		if !ok || !tt.Shape.Known() {
			continue
		}
		n, ok := tt.Shape.Count()
		if !ok || int64(n) > limit/bytesPerElement {
			return fmt.Errorf("%v does not fit in memory (limit %d MiB)", t, limit>>20)
		}
		if need += int64(n) * bytesPerElement; need < limit/64 {
			continue
		}
		if used := inUse(); need > limit-used {
			return fmt.Errorf("%v does not fit in memory (limit %d MiB, %d of them in use)", t, limit>>20, used>>20)
		}
	}
	return nil
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
