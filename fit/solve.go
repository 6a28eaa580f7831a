package fit

// solve finds the knots of which lines are nearest to the samples, in the least
// squares. A knot is in the lines to its left and its right alone:
//
//	sample s between knots i and i+1, a part t of the way    (1-t)*y[i] + t*y[i+1] = f(s)
//
// so that the normal equations have three diagonals, and are solved by one way up
// and one way down.
func (r *Result) solve(samples []point) {
	var diagonal, beside, right [segments + 1]float64 // beside[i] is between i and i+1
	for _, s := range samples {
		i, t := r.grid.segment(s.x)
		diagonal[i] += (1 - t) * (1 - t)
		beside[i] += t * (1 - t)
		diagonal[i+1] += t * t
		right[i] += (1 - t) * s.y
		right[i+1] += t * s.y
	}
	for i := r.First; i < r.Last; i++ {
		f := beside[i] / diagonal[i]
		diagonal[i+1] -= f * beside[i]
		right[i+1] -= f * right[i]
	}
	y := &r.Knots
	y[r.Last] = right[r.Last] / diagonal[r.Last]
	for i := r.Last - 1; i >= r.First; i-- {
		y[i] = (right[i] - beside[i]*y[i+1]) / diagonal[i]
	}
	rise := func(e End, a, b int) float64 {
		if e == Hold {
			return 0
		}
		return y[b] - y[a]
	}
	for i, d := r.First-1, rise(r.Options.Left, r.First+1, r.First); i >= 0; i-- {
		y[i] = y[i+1] + d
	}
	for i, d := r.Last+1, rise(r.Options.Right, r.Last-1, r.Last); i <= segments; i++ {
		y[i] = y[i-1] + d
	}
}
