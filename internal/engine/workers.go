package engine

import (
	"runtime"
	"sync/atomic"

	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/internal/strided"
)

// A step is one task, bound: kernels that run one after the other.
type step struct{ kernels []strided.Kernel }

func (s *step) run(c *Context) {
	for _, k := range s.kernels {
		c.workers.share(k)
	}
}

// workers are the goroutines that share the tiles of a context's kernels, and the
// scratch of each.
type workers struct {
	team    *pool.Team
	scratch []*strided.Scratch
	kernel  strided.Kernel // that runs
	grain   int
}

// share has the goroutines compute the tiles of a kernel.
func (v *workers) share(k strided.Kernel) {
	n, grain := k.Tiles()
	v.kernel, v.grain = k, grain
	task := tasks.Add(1)
	for _, s := range v.scratch {
		s.Task = task
	}
	v.team.For(n, grain)
}

// tasks counts the times that tiles were shared, by anyone.
var tasks atomic.Uint64

// newWorkers makes room for all operations of a program. The memories are those
// of the context, where ports may be bound to others later.
func newWorkers(need strided.Need, c *Context) *workers {
	v := new(workers)
	size := runtime.GOMAXPROCS(0)
	if n := c.program.threads; n > 0 {
		size = min(size, n)
	}
	v.team = pool.NewTeam(size, func(worker, lo, hi int) {
		for ; lo < hi && !c.stop(); lo += v.grain {
			v.kernel.Run(v.scratch[worker], lo, min(lo+v.grain, hi))
		}
	})
	for range v.team.Size() {
		s := strided.NewScratch(need)
		s.Memory, s.Dense, s.Stop = c.memories, &c.dense, c.stop
		v.scratch = append(v.scratch, s)
	}
	return v
}
