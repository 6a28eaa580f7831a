//go:build !amd64

package depthwise

// fast: there is machine code.
const fast = false

func tapsByMachine(*Taps, *Plane, []float32, []byte, int) { panic("bug: no machine code") }

func planesByMachine(*Taps, *Plane, []float32, []byte, int, *planes) { panic("bug: no machine code") }
