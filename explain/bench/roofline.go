package bench

import (
	"context"
	"time"

	"github.com/espalier-ane/espalier/internal/kernel/roof"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// A Roofline is what the machine can do at most, on as many threads as a prediction has: measured in the same run, so that a
// machine that is busy or hot is held against itself.
type Roofline struct {
	Threads     int     `json:"threads"`
	GFLOPS      float64 `json:"gflops"`
	By          string  `json:"by"`
	MemoryGBPS  float64 `json:"memory_gbps"`
	MemoryBytes int     `json:"memory_bytes"`
	L2GBPS      float64 `json:"l2_gbps"`
	L2Bytes     int     `json:"l2_bytes"`
}

// A Bound is what keeps a task from being faster.
type Bound string

// The bounds. A task that is far below what the machine can do is bound by neither: there is something to be gained in its kernel,
// or it is so small that starting it takes longest.
const (
	BoundByCompute Bound = "compute"
	BoundByMemory  Bound = "memory"
	BoundByNeither Bound = "neither"
)

// farBelow is the share of its roof below which a task is bound by neither.
const farBelow = 0.25

func (m *measurement) roofline(ctx context.Context) error {
	threads := m.threads()
	each := min(max(m.Duration/3, time.Millisecond), time.Second)
	l2, memory := bufferSizes(threads, each)
	r := &Roofline{Threads: threads, L2Bytes: l2, MemoryBytes: memory}
	peak, by := roof.Peak(threads, each)
	r.GFLOPS, r.By = peak/1e9, by
	r.L2GBPS = roof.Reads(threads, l2, each/4) / 1e9
	if err := ctx.Err(); err != nil {
		return err
	}
	r.MemoryGBPS = roof.Reads(threads, memory, each) / 1e9
	m.report.Roofline = r
	if p := m.report.Profile; p != nil {
		for i := range p.Tasks {
			r.judge(&p.Tasks[i])
		}
	}
	return nil
}

// bufferSizes are how many bytes are read to find the bandwidth of the second cache and of memory: what fits into the caches of
// all threads, but not into their first ones, and what no cache holds. A short measurement reads no more than it has time for.
func bufferSizes(threads int, d time.Duration) (l2, memory int) {
	const kib, mib = 1 << 10, 1 << 20
	size2, size3 := roof.Caches()
	l2 = 192 * kib
	if size2 > 0 {
		l2 = max(l2, size2/2)
	}
	const bytesPerSecond = 2e9 // so much at least
	memory = min(max(2*size3, 256*mib), 1024*mib, int(osfile.MemoryLimit()/8), int(d.Seconds()*bytesPerSecond))
	return l2 * threads, max(memory, 16*mib)
}

// Roof is how many operations a second a task could reach that does so many with each byte: by what it computes, or by what it
// reads.
func (r *Roofline) Roof(intensity float64) float64 { return min(r.GFLOPS, intensity*r.MemoryGBPS) }

// judge says how near a task comes to its roof. One that finds its operands in a cache may be above it.
func (r *Roofline) judge(t *Task) {
	seconds := t.TotalMS / 1e3 / float64(max(t.Runs, 1))
	if seconds <= 0 {
		return
	}
	compute, memory := t.FLOPs/1e9/r.GFLOPS, t.Bytes/1e9/r.MemoryGBPS
	t.OfRoof = max(compute, memory) / seconds
	switch {
	case t.OfRoof < farBelow:
		t.Bound = BoundByNeither
	case memory > compute:
		t.Bound = BoundByMemory
	default:
		t.Bound = BoundByCompute
	}
}
