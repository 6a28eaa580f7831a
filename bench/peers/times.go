package main

import (
	"math"
	"slices"
	"time"
)

// Times are what runs of a model took, in milliseconds.
type Times struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Runs   int     `json:"runs"`
}

func timesOf(runs []time.Duration) Times {
	if len(runs) == 0 {
		return Times{}
	}
	return Times{milliseconds(median(runs)), milliseconds(slices.Min(runs)), len(runs)}
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// median returns the middle of the values, or the mean of the two in the middle.
func median(values []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// A side is one of those that are measured in turn.
type side struct {
	run   func() error
	count int             // runs of a phase
	runs  []time.Duration // what its runs took
}

const (
	pause     = 50 * time.Millisecond  // in which the threads of the side before go to sleep
	phaseTime = 100 * time.Millisecond // that the runs of a phase take, about; a long run is alone
	mostRuns  = 2000                   // in a phase
)

// interleave measures the sides in turn. A round has a phase of each side: a
// pause, a run that is not counted, and runs that are.
//
//	round 0   ─pause─a·aaaa─pause─b·bbbb
//	round 1   ─pause─b·bbbb─pause─a·aaaa
//
// Threads of ONNX Runtime spin for a while after a run, and ours may: without the
// pause, each side would measure the other's.
func interleave(rounds int, sides ...*side) error {
	for _, s := range sides {
		fastest := time.Duration(math.MaxInt64)
		for range 2 {
			d, err := s.once()
			if err != nil {
				return err
			}
			fastest = min(fastest, d)
		}
		s.count = int(min(max(phaseTime/max(fastest, 1), 1), mostRuns))
	}
	order := slices.Clone(sides)
	for range rounds {
		for _, s := range order {
			if err := s.phase(); err != nil {
				return err
			}
		}
		slices.Reverse(order)
	}
	return nil
}

// phase is the part of a round that one side has.
func (s *side) phase() error {
	time.Sleep(pause)
	if _, err := s.once(); err != nil {
		return err
	}
	for range s.count {
		d, err := s.once()
		if err != nil {
			return err
		}
		s.runs = append(s.runs, d)
	}
	return nil
}

func (s *side) once() (time.Duration, error) {
	start := time.Now()
	err := s.run()
	return time.Since(start), err
}
