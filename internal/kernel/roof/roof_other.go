//go:build !amd64

package roof

// The micro-kernels of the machine are the best loops that there are.
func fmaLoops() []func() loop { return nil }

func read(b []float32) { readGo(b) }

// Caches are the sizes of the second and third level, 0 if they are not known.
func Caches() (l2, l3 int) { return 0, 0 }
