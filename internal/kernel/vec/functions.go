package vec

// A Function is a function of one value.
type Function uint8

// The functions that machine code computes. A is a constant of the call.
const (
	Exp      Function = iota
	Sigmoid           // 1/(1+exp(-x))
	Swish             // x·sigmoid(a·x)
	Tanh              //
	GELU              // x·Φ(x)
	GELUTanh          // x·sigmoid(2·√(2/π)·(x + 0.044715·x³))
	numFunctions
)

// function is what the machine code is told.
type function struct {
	v   *float32
	n   int
	odd int     // 1: round to odd
	a   float64 // the constant

	done int // singles: how many elements it did
}

// mostApplied is how many elements go into one call.
const mostApplied = 1 << 12

// Applies reports whether there is machine code for functions.
func Applies() bool { return fast }

// Apply sets each element to a function of it, rounded to fp32; odd: to what a later
// rounding to fp16 takes to the number nearest to the result itself. It is for where
// there is machine code.
func Apply(f Function, v []float32, a float32, odd bool) {
	if odd {
		applySingles(f, v, a)
		return
	}
	for at := 0; at < len(v); at += mostApplied {
		callFunction(f, &function{v: &v[at], n: min(mostApplied, len(v)-at), a: float64(a)})
	}
}

// applySingles computes in fp32. That leaves open, of a few elements in a thousand,
// which fp16 number is the nearest: those are computed in fp64 and rounded to odd.
func applySingles(f Function, v []float32, a float32) {
	for len(v) > 0 {
		p := function{v: &v[0], n: min(mostApplied, len(v)), a: float64(a)}
		callSingles(f, &p)
		if v = v[p.done:]; p.done == p.n {
			continue
		}
		p.v, p.n, p.odd = &v[0], min(singlesStep, len(v)), 1
		callFunction(f, &p)
		v = v[p.n:]
	}
}

// singlesStep is how many elements are taken at a time.
var singlesStep int
