package pool

import (
	"errors"
	"testing"
)

func TestTeam(t *testing.T) {
	withThreads(t, func(t *testing.T) {
		for _, size := range []int{0, 1, 3, 8} {
			var visits []int32
			busy := make([]bool, max(size, 1))
			team := NewTeam(size, func(worker, lo, hi int) {
				if busy[worker] { // unsynchronised: the race detector checks that numbers are private
					t.Errorf("two at once are worker %d", worker)
				}
				busy[worker] = true
				for i := lo; i < hi; i++ {
					visits[i]++
				}
				busy[worker] = false
			})
			for _, n := range []int{-1, 0, 1, 2, 100, 10_000} {
				for _, grain := range []int{0, 1, 3, 100, 20_000} {
					visits = make([]int32, max(n, 0))
					team.For(n, grain)
					for i, v := range visits {
						if v != 1 {
							t.Fatalf("size=%d n=%d grain=%d: item %d was visited %d times", size, n, grain, i, v)
						}
					}
				}
			}
		}
	})
}

func TestTeamAllocatesNothing(t *testing.T) {
	sum := make([]float32, 1<<16)
	team := NewTeam(4, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			sum[i]++
		}
	})
	if n := testing.AllocsPerRun(200, func() { team.For(len(sum), 256) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTeamPanics(t *testing.T) {
	boom := errors.New("boom")
	withThreads(t, func(t *testing.T) {
		fail := true
		team := NewTeam(4, func(_, lo, hi int) {
			if fail && lo >= 30 {
				panic(boom)
			}
		})
		for range 50 {
			p, ok := caught(func() { team.For(100, 1) }).(*Panic)
			if !ok || p.Value != boom {
				t.Fatalf("recovered %v, want a *Panic of %v", p, boom)
			}
		}
		fail = false
		team.For(100, 1) // still in order
	})
}
