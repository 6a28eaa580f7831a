//go:build amd64

package attention

//go:noescape
func scoresAVX2(c *scoresCall, lane int)

//go:noescape
func powersAVX2(c *powersCall)

//go:noescape
func values6AVX2(c *valuesCall)

//go:noescape
func values4AVX2(c *valuesCall)

//go:noescape
func putAVX2(c *putCall)

//go:noescape
func turnAVX2(c *turnCall, lane int)

// turnEight turns as many rows as fill vectors, and returns how many these are.
func turnEight(c *turnCall) (rows int) {
	for ; rows+8 <= c.rows; rows += 8 {
		callTurnAVX2(c, rows)
	}
	return rows
}

//go:noinline
func callTurnAVX2(c *turnCall, lane int) { turnAVX2(c, lane) }
