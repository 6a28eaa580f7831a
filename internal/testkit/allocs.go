package testkit

import "testing"

// Allocs is how often f allocates, once everything that it needs is there. A worker
// that takes part for the first time makes its scratch, so that the fewest of some
// measurements count.
func Allocs(runs int, f func()) float64 {
	fewest := testing.AllocsPerRun(runs, f)
	for range 50 {
		if fewest == 0 {
			break
		}
		fewest = min(fewest, testing.AllocsPerRun(runs, f))
	}
	return fewest
}
