package main

// A peak is a loop of nothing but fp32 multiply-adds, all independent.
type peak struct {
	run   func()
	flops float64 // of a run
}

const (
	peakSteps = 50_000
	peakSums  = 12 // vectors, more than the processor has under way
)
