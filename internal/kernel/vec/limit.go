package vec

import "math"

// Limits are what chips do to numbers that are too small, too great, or none.
type Limits struct {
	Least float32 // magnitudes below it become 0; 0: none
	Most  float32 // magnitudes from it on become infinity; NaN: none
	None  float32 // what NaN becomes; NaN: it stays
}

// NoLimits change nothing.
var NoLimits = Limits{Most: float32(math.NaN()), None: float32(math.NaN())}

// Apply changes all elements.
func (l *Limits) Apply(v []float32) {
	if !fast {
		l.plain(v)
		return
	}
	for at := 0; at < len(v); at += most {
		callLimit(l, v[at:min(at+most, len(v))])
	}
}

func (l *Limits) plain(v []float32) {
	for i, x := range v {
		switch m := max(x, -x); {
		case x != x:
			v[i] = l.None
		case m < l.Least:
			v[i] = 0
		case m >= l.Most:
			v[i] = float32(math.Copysign(math.Inf(1), float64(x)))
		}
	}
}

// HasNaN reports whether there is a NaN among the elements.
func HasNaN(v []float32) bool {
	if !fast {
		for _, x := range v {
			if x != x {
				return true
			}
		}
		return false
	}
	for at := 0; at < len(v); at += most {
		if callHasNaN(v[at:min(at+most, len(v))]) {
			return true
		}
	}
	return false
}

// Greatest is the greatest magnitude, NaN if an element is NaN, 0 of none.
func Greatest(v []float32) float32 {
	var top float32
	if !fast {
		for _, x := range v {
			top = max(top, x, -x)
		}
		return top
	}
	for at := 0; at < len(v); at += most {
		top = max(top, callGreatest(v[at:min(at+most, len(v))]))
	}
	return top
}
