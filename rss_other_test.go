//go:build !unix

package espalier_test

// peakRSS is not known on this platform.
func peakRSS() int64 { return 0 }
