package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel"
)

// careful is for rules that look at each product of a sum. Where they change
// nothing, which is nearly everywhere, sums come from the fast loops: a tile is
// added up again, product by product and in the same order, only if
//
//   - a sum is NaN, which 0·inf or inf-inf may have made, or
//   - a partial sum may have reached the port's limit. Whatever the order, it is
//     at most the product of the lengths of its two lines, which are cheap:
//     |Σ a·b| ≤ √Σa² · √Σb², and what the sum began with, or
//   - products are added up in small groups first.
type careful struct{ kernel.Accumulation }

// careful returns what rules ask of sums of n products, nil if nothing.
func (r *Rules) careful(n int) *careful {
	if r == nil {
		return nil
	}
	c := careful{kernel.Accumulation{Settle: r.IndeterminateToZero}}
	if n > 1 {
		c.Lanes = r.TileLanes
		if r.SaturatePartials {
			c.Limit = r.SaturateAtPort
		}
	}
	if c == (careful{}) {
		return nil
	}
	return &c
}

// measure begins, or goes on with, the squares of the lengths of the lines of a
// tile. Of what is packed they are there already.
func (c *careful) measure(w *Scratch, left, right *side, k int, a []quad, distA int, b []quad, distB, d int) {
	if c.Limit == 0 {
		return
	}
	g := &w.gemm
	if k == 0 {
		clear(g.squaresA[:])
		clear(g.squaresB[:])
		if left.packed.there {
			copy(g.squaresA[:], left.packed.squares(w, &g.left))
		}
		if right.packed.there {
			copy(g.squaresB[:], right.packed.squares(w, &g.right))
		}
	}
	if !left.packed.there {
		addSquares(g.squaresA[:roundUp(g.left.count)], a, distA, d)
	}
	if !right.packed.there {
		addSquares(g.squaresB[:roundUp(g.right.count)], b, distB, d)
	}
}

func addSquares(squares []float32, panels []quad, distance, d int) {
	for p := 0; p < len(squares); p += panelLines {
		var s0, s1, s2, s3 float32
		for _, q := range panels[p/panelLines*distance:][:d] {
			s0 += float32(q[0] * q[0])
			s1 += float32(q[1] * q[1])
			s2 += float32(q[2] * q[2])
			s3 += float32(q[3] * q[3])
		}
		addTo(squares[p:], s0, s1, s2, s3)
	}
}

// review adds up the tile again if it must.
func (c *careful) review(w *Scratch, left, right *side, n int, tile []float32, stride int, start []float32) {
	rows, cols := w.gemm.left.count, w.gemm.right.count
	if !c.asks(w, tile, stride, start) {
		return
	}
	begin(tile, stride, start)
	bufA, bufB := w.quads, w.quads
	if !left.packed.there {
		bufB = bufB[panelsOf(rows)*pitch:]
	}
	for k := 0; k < n; k += depth {
		d := min(depth, n-k)
		a, distA := left.panels(w, bufA, &w.gemm.left, k, d)
		b, distB := right.panels(w, bufB, &w.gemm.right, k, d)
		for r := range rows {
			row := a[r/panelLines*distA:][:d]
			for j := range cols {
				column := b[j/panelLines*distB:][:d]
				var s kernel.Partial
				for i := range row {
					c.Add(&s, tile[r*stride+j], i, row[i][r%panelLines], column[i][j%panelLines])
				}
				tile[r*stride+j] = c.Total(&s, tile[r*stride+j])
			}
		}
	}
}

func (c *careful) asks(w *Scratch, tile []float32, stride int, start []float32) bool {
	g := &w.gemm
	if c.Lanes > 0 {
		return true
	}
	if c.Limit != 0 {
		var longestA, longestB float32
		for _, s := range g.squaresA[:g.left.count] {
			longestA = max(longestA, s)
		}
		for _, s := range g.squaresB[:g.right.count] {
			longestB = max(longestB, s)
		}
		if room := float64(c.Limit - greatest(start)); !(room > 0 && float64(longestA)*float64(longestB) < room*room) {
			return true
		}
	}
	if c.Settle {
		for r := range g.left.count {
			for _, v := range tile[r*stride:][:g.right.count] {
				if v != v {
					return true
				}
			}
		}
	}
	return false
}

// greatest is the greatest magnitude, NaN if one is NaN, 0 of none.
func greatest(values []float32) float32 {
	var top float32
	for _, v := range values {
		top = max(top, float32(math.Abs(float64(v))))
	}
	return top
}

// reviewRow is review for a row of a channelwise convolution: the places of the
// result from the first on, what they meet being in the area. The bias, with
// which the sums begin, is not in them yet.
func (c *careful) reviewRow(result, area, weights []float32, shift []int, bias float32) {
	if !c.asksRow(result, area, weights, shift, bias) {
		return
	}
	for at := range result {
		var s kernel.Partial
		for t, v := range weights {
			c.Add(&s, bias, t, v, area[at+shift[t]])
		}
		result[at] = c.Total(&s, 0)
	}
}

func (c *careful) asksRow(result, area, weights []float32, shift []int, bias float32) bool {
	if c.Lanes > 0 {
		return true
	}
	if c.Limit != 0 {
		var sum, most float32
		for t, v := range weights {
			sum += float32(math.Abs(float64(v)))
			most = max(most, greatest(area[shift[t]:][:len(result)]))
		}
		if !(sum*most+float32(math.Abs(float64(bias))) < c.Limit) {
			return true
		}
	}
	if c.Settle {
		for _, v := range result {
			if v != v {
				return true
			}
		}
	}
	return false
}
