package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
)

// careful is for rules that look at each product of a sum. Where they change
// nothing, which is nearly everywhere, sums come from the micro-kernel: an element
// is added up again, product by product and in their order, only if
//
//   - it is NaN, which 0·inf or inf-inf may have made, or
//   - a partial sum may have reached the port's limit. Whatever the order, it is
//     at most the product of the lengths of its two lines, which are cheap:
//     |Σ a·b| ≤ √Σa² · √Σb², and what the sum began with, or
//   - products are added up in small groups first.
//
// That depends on the lines of the element alone, not on what else is in a tile.
type careful struct{ accumulation }

// careful returns what rules ask of sums of n products, nil if nothing.
func (r *Rules) careful(n int) *careful {
	if r == nil {
		return nil
	}
	c := careful{accumulation{toZero: r.IndeterminateToZero}}
	if n > 1 {
		c.lanes = r.TileLanes
		if r.SaturatePartials {
			c.limit = r.SaturateAtPort
		}
	}
	if c == (careful{}) {
		return nil
	}
	return &c
}

// measure begins, or goes on with, the squares of the lengths of the lines of a
// tile, with the block of factors from k on. Of what is packed they are there
// already.
func (c *careful) measure(w *Scratch, p *product, k int) {
	if c.limit == 0 {
		return
	}
	g, t := &w.gemm, &w.gemm.tile
	if k == 0 {
		clear(g.squaresA[:])
		clear(g.squaresB[:])
		if p.left.packed.there {
			copy(g.squaresA[:], p.left.packed.squares(w, &g.left))
		}
		if p.right.packed.there {
			copy(g.squaresB[:], p.right.packed.squares(w, &g.right))
		}
		switch p.strip {
		case &p.left:
			copy(g.squaresA[:], g.strips[p.level].squares[:])
		case &p.right:
			copy(g.squaresB[:], g.strips[p.level].squares[:])
		}
	}
	if !p.left.packed.there && p.strip != &p.left {
		addSquares(p.left.panel, g.squaresA[:], t.A, t.DistA, t.Rows, t.Depth)
	}
	if !p.right.packed.there && p.strip != &p.right {
		addSquares(p.right.panel, g.squaresB[:], t.B, t.DistB, t.Cols, t.Depth)
	}
}

// addSquares adds the squares of the factors of lines that are in panels.
func addSquares(panel *gemm.Panel, squares, panels []float32, apart, lines, d int) {
	for i := range panel.Panels(lines) {
		panel.Squares(squares[i*panel.Lines:][:panel.Lines], panels[i*apart:], d)
	}
}

// review adds up again what must be.
func (c *careful) review(w *Scratch, p *product, n int, tile []float32, stride int, start []float32) {
	if !c.asks(w, tile, stride, start) {
		return
	}
	g, t := &w.gemm, &w.gemm.tile
	line, column := w.float[:p.row.Depth], w.float[p.row.Depth:2*p.row.Depth] // of the stage
	for k := 0; k < n; k += p.row.Depth {
		p.block(w, k, n)
		line, column := line[:t.Depth], column[:t.Depth]
		for r := range t.Rows {
			sums := tile[r*stride:][:t.Cols]
			marks := &g.again[r]
			if *marks == [maxLines / 64]uint64{} {
				continue
			}
			p.left.panel.Unpack(line, t.A[r/p.left.panel.Lines*t.DistA:], r%p.left.panel.Lines)
			for j := range sums {
				if marks[j/64]>>(j%64)&1 == 0 {
					continue
				}
				p.right.panel.Unpack(column, t.B[j/p.right.panel.Lines*t.DistB:], j%p.right.panel.Lines)
				if k == 0 {
					sums[j] = 0
					if start != nil {
						sums[j] = start[r]
					}
				}
				var s partial
				for i, x := range line {
					c.add(&s, sums[j], i, x, column[i])
				}
				sums[j] = c.total(&s, sums[j])
			}
		}
	}
}

// asks marks the elements that must be added up again, and reports whether there
// are any.
func (c *careful) asks(w *Scratch, tile []float32, stride int, start []float32) bool {
	g := &w.gemm
	rows, cols := g.left.count, g.right.count
	longest := float64(greatest(g.squaresB[:cols]))
	any, none := false, c.toZero && vec.HasNaN(tile[:(rows-1)*stride+cols])
	for r := range rows {
		marks := &g.again[r]
		*marks = [maxLines / 64]uint64{}
		// room is what the products of a line may come to, squared.
		room := math.Inf(1)
		if c.limit != 0 {
			room = float64(c.limit)
			if start != nil {
				room -= math.Abs(float64(start[r]))
			}
			room = math.Copysign(room*room, room)
		}
		a := float64(g.squaresA[r])
		near := c.lanes > 0 || c.limit != 0 && !(a*longest < room)
		if !near && !none {
			continue // as nearly always
		}
		for j, v := range tile[r*stride:][:cols] {
			if c.toZero && v != v || near && (c.lanes > 0 || !(a*float64(g.squaresB[j]) < room)) {
				marks[j/64] |= 1 << (j % 64)
				any = true
			}
		}
	}
	return any
}

// greatest is the greatest magnitude, NaN if one is NaN, 0 of none.
func greatest(values []float32) float32 { return vec.Greatest(values) }

// reviewRow is review for a row of a channelwise convolution: the places of the
// result from the first on, what they meet being in the area. The bias, with
// which the sums begin, is not in them yet.
func (c *careful) reviewRow(result, area, weights []float32, shift []int, bias float32) {
	if !c.asksRow(result, area, weights, shift, bias) {
		return
	}
	for at := range result {
		var s partial
		for t, v := range weights {
			c.add(&s, bias, t, v, area[at+shift[t]])
		}
		result[at] = c.total(&s, 0)
	}
}

func (c *careful) asksRow(result, area, weights []float32, shift []int, bias float32) bool {
	if c.lanes > 0 {
		return true
	}
	if c.limit != 0 {
		var sum, most float32
		for t, v := range weights {
			sum += float32(math.Abs(float64(v)))
			most = max(most, greatest(area[shift[t]:][:len(result)]))
		}
		if !(sum*most+float32(math.Abs(float64(bias))) < c.limit) {
			return true
		}
	}
	return c.toZero && vec.HasNaN(result)
}
