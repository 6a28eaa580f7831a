// Package attention has the inner loops of attention: 32 positions at a time over
// a block of keys.
//
// A position is a lane. Scores lie key by key, and of each key those of all
// positions side by side, so that the greatest score and the sum of powers of a
// position are found without crossing lanes:
//
//	           position 0  1  2 … 31
//	key 0               s  s  s     s
//	key 1               s  s  s     s
//	…
//
// Queries are turned to lie so too, factor by factor; keys, values and results lie
// row by row. Powers are those of 2: whoever turns the queries scales them with
// log2 e. Everything is fp32.
//
// The plain Go says what is computed. Machine code adds products up in the same
// order, but fuses them, and has a polynomial for powers.
package attention

import "math"

// Lanes is how many positions are taken at a time.
const Lanes = 32

// RoundUp is how many floats rows of so many take: those between are 0.
func RoundUp(n int) int { return (n + 15) &^ 15 }

// Keys is how many rows keys and scores have room for.
func Keys(n int) int { return (n + 3) &^ 3 }

// mostProducts bounds a call of machine code, which cannot be preempted: so many
// products of all lanes take some 30 µs.
const mostProducts = 1 << 16

// Rows converts rows of fp16 numbers, so many bytes apart, into rows of floats, as
// many floats apart as the pitch says. It fills them up with 0.
func Rows(dst []float32, pitch int, src []byte, stride, rows, cols int) {
	if rows == 0 {
		return
	}
	_, _ = dst[(rows-1)*pitch:][:pitch], src[(rows-1)*stride:][:2*cols]
	checkPitch(pitch, cols, rows, rows)
	if !use.whole || cols == 0 {
		goRows(dst, pitch, src, stride, rows, cols)
		return
	}
	for most := max(1, mostProducts/pitch); rows > 0; rows -= most {
		callRows(&rowsCall{&dst[0], &src[0], 4 * pitch, stride, min(rows, most), cols, pitch})
		if rows > most {
			dst, src = dst[most*pitch:], src[most*stride:]
		}
	}
}

// checkPitch panics if rows are not filled up, or too many: machine code writes whole
// vectors.
func checkPitch(pitch, cols, rows, most int) {
	if pitch != RoundUp(pitch) || cols > pitch || cols < 0 || rows > most || rows < 0 {
		panic("bug: rows that are not filled up, or too many")
	}
}

// Turn makes columns of rows, of which there are up to Lanes, and scales them. dst
// has room for the whole pitch.
func Turn(dst, src []float32, pitch, rows int, scale float32) {
	dst = dst[:pitch*Lanes]
	if rows == 0 || pitch == 0 {
		clear(dst)
		return
	}
	_ = src[(rows-1)*pitch:][:pitch]
	checkPitch(pitch, pitch, rows, Lanes)
	if use.rows == 0 {
		goTurn(dst, src, pitch, 0, rows, scale)
		return
	}
	c := turnCall{dst: &dst[0], src: &src[0], pitch: 4 * pitch, cols: pitch, rows: rows, scale: scale}
	if done := callTurn(&c); done < Lanes {
		goTurn(dst, src, pitch, done, rows, scale)
	}
}

// Scores sets the scores of n keys to the products of the queries with them, plus
// a bias: one for each key, or, if each says so, what the scores were before. Keys
// are rows; there is room for Keys(n) of them and of scores. Only the first lanes
// are wanted.
func Scores(s, q, k []float32, pitch, features, n, lanes int, bias []float32, each bool) {
	if n == 0 {
		return
	}
	s, q = s[:Keys(n)*Lanes], q[:features*Lanes]
	_ = k[(Keys(n)-1)*pitch:][:features]
	if lanes > Lanes {
		panic("bug: more positions than there are lanes")
	}
	if bias != nil {
		_ = bias[:Keys(n)]
	}
	if use.rows == 0 || features == 0 {
		goScores(s, q, k, pitch, features, n, bias, each)
		return
	}
	most := max(mostProducts/features/12, 1) * 12 // keys of a call
	for at := 0; at < n; at += most {
		c := scoresCall{s: &s[at*Lanes], q: &q[0], k: &k[at*pitch], pitch: 4 * pitch, features: features, keys: min(most, n-at)}
		switch {
		case each:
			c.bias, c.apart = c.s, 4*Lanes
		case bias != nil:
			c.bias = &bias[at]
		}
		callScores(&c, lanes)
	}
}

// A State is what is kept of the positions from one block of keys to the next.
type State struct {
	Top   [Lanes]float32 // the greatest score so far
	Total [Lanes]float32 // the sum of powers relative to it
	Down  [Lanes]float32 // by how much the last block scales down what was before
}

// Reset is the state before the first use.
func (st *State) Reset() {
	*st = State{}
	for i := range st.Top {
		st.Top[i] = float32(math.Inf(-1))
	}
}

// Powers turns the scores of n keys, times a scale above 0, into powers of 2, relative
// to the greatest so far. A position with nothing but -inf so far has the powers 0; of one with NaN or
// +inf the total is NaN, and so is a power. A power below 2^-126 may be 0.
func Powers(s []float32, n, lanes int, scale float32, st *State) {
	s = s[:n*Lanes]
	if n == 0 {
		for i := range st.Down {
			st.Down[i] = 1
		}
		return
	}
	if scale != 1 && !use.whole {
		for i := range s {
			s[i] *= scale
		}
	}
	if use.positions == 0 {
		goPowers(s, n, st)
		return
	}
	for lane := 0; lane < lanes; lane += use.positions {
		callPowers(&powersCall{&s[lane], n, &st.Top[lane], &st.Total[lane], &st.Down[lane], scale})
	}
}

// Down scales down results that lie as scores do, a row of all lanes for each column.
func Down(o []float32, rows int, st *State) {
	if o = o[:rows*Lanes]; rows == 0 {
		return
	}
	if use.whole {
		callDown(&downCall{&o[0], rows, &st.Down[0]})
		return
	}
	for r := range rows {
		for i, d := range st.Down {
			o[r*Lanes+i] *= d
		}
	}
}

// Values scales down the results of some positions, and adds the values of n keys,
// weighted with their powers. There is room for Lanes results, of which those after
// the rows may be anything then.
func Values(o, s, v []float32, pitch, n, rows int, st *State) {
	if n == 0 || rows == 0 || pitch == 0 {
		return
	}
	o, s, v = o[:Lanes*pitch], s[:n*Lanes], v[:n*pitch]
	checkPitch(pitch, pitch, rows, Lanes)
	if use.rows == 0 {
		goValues(o, s, v, pitch, n, rows, st)
		return
	}
	for r, some := 0, 0; r < rows; r += some {
		some = use.some(r, rows)
		for c := 0; c < pitch; c += use.cols {
			callValues(&valuesCall{
				&o[r*pitch+c], &s[r], &v[c], 4 * pitch, n, &st.Down[r],
			}, min(some, rows-r), pitch-c)
		}
	}
}

// Put writes results, each row with its factor, as rows of fp16 numbers, so many
// bytes apart.
func Put(dst []byte, stride int, o []float32, pitch, rows, cols int, factors *[Lanes]float32) {
	if rows == 0 || cols == 0 {
		return
	}
	_, _ = dst[(rows-1)*stride:][:2*cols], o[(rows-1)*pitch:][:cols]
	_ = factors[rows-1]
	done := 0 // columns
	switch {
	case use.whole:
		done = cols
	case use.rows != 0:
		done = cols &^ 7
	}
	if done > 0 {
		callPut(&putCall{&dst[0], &o[0], stride, 4 * pitch, rows, done, &factors[0]})
	}
	if done < cols {
		goPut(dst[2*done:], stride, o[done:], pitch, rows, cols-done, factors)
	}
}
