//go:build amd64

package attention

import "github.com/espalier-ane/espalier/internal/kernel/isa"

func init() {
	have := isa.Have()
	if have.Has(isa.AVX2) {
		machines = append(machines, machine{name: "avx2", positions: 8, rows: 6, cols: 16})
	}
	if have.Has(isa.AVX512) {
		machines = append(machines, machine{name: "avx512", whole: true, positions: 16, rows: 12, cols: 32})
	}
	if len(machines) > 0 {
		use = machines[len(machines)-1]
	}
}

// The calls are functions of Go so that the scheduler can stop a loop over them:
// machine code it cannot.

//go:noinline
func callRows(c *rowsCall) { rowsAVX512(c) }

// callTurn returns how many lanes it did.
func callTurn(c *turnCall) int {
	if !use.whole {
		return turnEight(c)
	}
	for lane := 0; lane < Lanes; lane += 16 {
		turnSixteen(c, lane)
	}
	return Lanes
}

//go:noinline
func turnSixteen(c *turnCall, lane int) { turnAVX512(c, lane) }

//go:noinline
func callScores(c *scoresCall, lanes int) {
	switch {
	case use.whole && lanes > 16:
		scores32AVX512(c)
	case use.whole:
		scores16AVX512(c)
	default:
		for lane := 0; lane < lanes; lane += 16 {
			scoreSixteen(c, lane)
		}
	}
}

//go:noinline
func scoreSixteen(c *scoresCall, lane int) { scoresAVX2(c, lane) }

//go:noinline
func callPowers(c *powersCall) {
	if use.whole {
		powersAVX512(c)
	} else {
		powersAVX2(c)
	}
}

//go:noinline
func callValues(c *valuesCall, rows, cols int) {
	switch {
	case !use.whole && rows > 4:
		values6AVX2(c)
	case !use.whole:
		values4AVX2(c)
	case cols > 16 && rows > 8:
		values12x32(c)
	case cols > 16 && rows > 4:
		values8x32(c)
	case cols > 16:
		values4x32(c)
	case rows > 8:
		values12x16(c)
	case rows > 4:
		values8x16(c)
	default:
		values4x16(c)
	}
}

//go:noinline
func callPut(c *putCall) {
	if use.whole {
		putAVX512(c)
	} else {
		putAVX2(c)
	}
}

//go:noinline
func callDown(c *downCall) { downAVX512(c) }

//go:noescape
func downAVX512(c *downCall)

//go:noescape
func rowsAVX512(c *rowsCall)

//go:noescape
func turnAVX512(c *turnCall, lane int)

//go:noescape
func scores32AVX512(c *scoresCall)

//go:noescape
func scores16AVX512(c *scoresCall)

//go:noescape
func powersAVX512(c *powersCall)

//go:noescape
func values12x32(c *valuesCall)

//go:noescape
func values8x32(c *valuesCall)

//go:noescape
func values4x32(c *valuesCall)

//go:noescape
func values12x16(c *valuesCall)

//go:noescape
func values8x16(c *valuesCall)

//go:noescape
func values4x16(c *valuesCall)

//go:noescape
func putAVX512(c *putCall)
