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

// eight: there is machine code that takes eight elements at a time, for results that
// become fp16 numbers, and leaves some to its caller.
var eight bool

// Left is how many elements at most Apply leaves to its caller before it can go on.
const Left = 8

// Applies reports whether there is machine code for functions.
func Applies(odd bool) bool { return fast || eight && odd }

// Apply sets each element to a function of it, rounded to fp32; odd: to what a later
// rounding to fp16 takes to the number nearest to the result itself. It returns how
// many elements it did, the first ones: all of them, or up to some that the caller
// must do by itself.
func Apply(f Function, v []float32, a float32, odd bool) (done int) {
	switch {
	case !Applies(odd):
		return 0
	case !fast:
		for len(v) >= Left {
			p := function{v: &v[0], n: min(mostApplied, len(v)), a: float64(a)}
			callEight(f, &p)
			done += p.done
			if v = v[p.done:]; p.done < p.n {
				break
			}
		}
		return done
	case odd:
		applySingles(f, v, a)
		return len(v)
	}
	for at := 0; at < len(v); at += mostApplied {
		callFunction(f, &function{v: &v[at], n: min(mostApplied, len(v)-at), a: float64(a)})
	}
	return len(v)
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
		p.v, p.n, p.odd = &v[0], min(singles, len(v)), 1
		callFunction(f, &p)
		v = v[p.n:]
	}
}

// singles is how many elements are taken at a time.
const singles = 16
