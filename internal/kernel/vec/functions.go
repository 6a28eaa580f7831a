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
}

// Apply sets each element to a function of it, computed in fp64 and rounded to
// fp32; odd: to odd, which a later rounding to fp16 takes to the number nearest to
// the result itself. It reports whether it did: without machine code it does
// nothing.
func Apply(f Function, v []float32, a float32, odd bool) bool {
	if !fast {
		return false
	}
	const most = 1 << 12 // elements of a call
	for at := 0; at < len(v); at += most {
		p := function{v: &v[at], n: min(most, len(v)-at), a: float64(a)}
		if odd {
			p.odd = 1
		}
		callFunction(f, &p)
	}
	return true
}
