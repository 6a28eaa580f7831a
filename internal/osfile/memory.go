package osfile

import (
	"math"
	"runtime/debug"
	"sync"
)

// MemoryLimit is how many bytes the arrays of this process may take: GOMEMLIMIT where that is set, and no more than
// half of what the system lets the process have. The other half is for garbage that is not collected yet, and for
// whatever else runs.
var MemoryLimit = sync.OnceValue(func() int64 {
	limit := debug.SetMemoryLimit(-1) // MaxInt64 if there is none
	for _, allowed := range []int64{Memory(), processMemory(), containerMemory()} {
		if allowed > 0 {
			limit = min(limit, allowed/2)
		}
	}
	if limit == math.MaxInt64 {
		return 1 << 35
	}
	return limit
})
