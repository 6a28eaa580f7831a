// Package roof measures what the machine can do at most: how many multiplications and additions of floats a second, and how
// many bytes it reads from memory and from a cache. A kernel is held against it:
//
//	GFLOP/s │        ┌──────── peak
//	        │      ╱
//	        │    ╱  bytes a second × operations a byte
//	        └───────────────── operations a byte
package roof

import (
	"sync"
	"time"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
)

// A loop is work that one call does, below 200 µs since machine code cannot be preempted.
type loop struct {
	name  string
	flops float64 // of a call
	run   func()
}

// pieces are how many parts a measurement has. The fastest counts: on a machine that others use too, the rest says how busy they
// are.
const pieces = 20

// Peak is how many floating-point operations a second so many threads reach, and by which loop: the best of a plain loop of
// multiply-adds and of the micro-kernels that multiply matrices. It measures for about so long.
func Peak(threads int, d time.Duration) (perSecond float64, by string) {
	makers := append(fmaLoops(), gemmLoops()...)
	for _, maker := range makers {
		name := maker().name
		if rate := quickest(threads, d/time.Duration(len(makers)), func(int) (float64, func()) {
			l := maker()
			return l.flops, l.run
		}); rate > perSecond {
			perSecond, by = rate, name
		}
	}
	return perSecond, by
}

// gemmLoops are the micro-kernels, each on one block of panels that a core's own caches hold.
func gemmLoops() []func() loop {
	var list []func() loop
	for _, row := range gemm.Usable() {
		list = append(list, func() loop {
			rows, cols, depth := row.A.Lines, row.B.Lines, min(row.Depth, 256)
			floats, stride := row.Room(rows, cols)
			t := &gemm.Tile{
				A: make([]float32, row.A.Words(depth)), B: make([]float32, row.B.Words(depth)),
				DistA: row.A.Words(depth), DistB: row.B.Words(depth),
				Depth: depth, Rows: rows, Cols: cols, C: make([]float32, floats), Stride: stride,
			}
			fill(&row.A, t.A, t.DistA, depth)
			fill(&row.B, t.B, t.DistB, depth)
			return loop{"gemm " + row.Name, 2 * float64(rows*cols*depth), func() { row.Run(t) }}
		})
	}
	return list
}

// fill makes a panel of factors that need all bits of fp16: a row may do less work for those that are rounder.
func fill(p *gemm.Panel, panel []float32, apart, depth int) {
	factors := make([]float32, p.Lines*depth)
	for i := range factors {
		factors[i] = 1 + float32(1+2*(i%512))/1024
	}
	p.Pack(panel, apart, &gemm.Source{Elem: gemm.F32, Floats: factors, Line: depth, Step: 1, Lines: p.Lines, Depth: depth})
}

// Reads is how many bytes a second so many threads read together, each again and again its share of so many bytes. It measures
// for about so long.
func Reads(threads, bytes int, d time.Duration) float64 {
	share := max(bytes/threads/4, 1)
	buffers := make([][]float32, threads)
	for i := range buffers {
		buffers[i] = make([]float32, share)
		for k := 0; k < share; k += 1024 { // so that there are pages
			buffers[i][k] = 1
		}
	}
	const piece = 1 << 17 // floats of a call: 512 KiB take machine code less than 200 µs
	return quickest(threads, d, func(thread int) (float64, func()) {
		b, at := buffers[thread], 0
		n := min(piece, len(b))
		return float64(4 * n), func() {
			if at+n > len(b) {
				at = 0
			}
			read(b[at : at+n])
			at += n
		}
	})
}

// quickest runs a loop on all threads at once, and returns what they did a second, in the fastest of the pieces. Each thread
// makes its own loop: the work of a call, and the call.
func quickest(threads int, d time.Duration, make func(thread int) (float64, func())) float64 {
	var start, done sync.WaitGroup
	rates := [pieces]rate{}
	start.Add(threads)
	for i := range threads {
		done.Go(func() {
			work, run := make(i)
			run() // so that pages and caches are there
			start.Done()
			start.Wait()
			for p := range pieces {
				rates[p].add(work, run, d/pieces)
			}
		})
	}
	done.Wait()
	top := 0.0
	for p := range rates {
		top = max(top, rates[p].sum)
	}
	return top
}

// A rate adds up what threads did in a piece of time.
type rate struct {
	mu  sync.Mutex
	sum float64
}

func (r *rate) add(work float64, run func(), d time.Duration) {
	began, calls, took := time.Now(), 0, time.Duration(0)
	for calls == 0 || took < d {
		run()
		calls++
		took = time.Since(began)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum += work * float64(calls) / took.Seconds()
}
