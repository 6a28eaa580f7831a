//go:build unix

package matvec

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/guard"
)

// Nothing beside matrix, factors and sums is touched, of every row.
func TestGuard(t *testing.T) {
	m := guard.New(t)
	var stage Stage
	for _, r := range Usable() {
		for _, lines := range guard.Sizes[1:] {
			for _, depth := range []int{1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65} {
				for _, rows := range []int{1, 2, 4} {
					for _, more := range []int{0, 1, 6} {
						for _, way := range ways {
							runs, numbers := way.runs(r, lines, depth)
							apart := 2*numbers + more
							m.Check(func() {
								way.do(r, &Product{
									W: m.Bytes((runs-1)*apart + 2*numbers), Apart: apart, Lines: lines, Depth: depth, X: m.Floats(rows * depth), Rows: rows,
									S: m.Floats((rows-1)*(lines+more) + lines), Stride: lines + more, Stage: &stage,
								})
							}, "%s: %s of %d lines, %d deep, %d rows, %d more", r.Name, way.name, lines, depth, rows, more)
						}
					}
				}
			}
		}
		// The matrix is longer than what is asked for beforehand, and than a call.
		m.Check(func() {
			r.Dots(&Product{W: m.Bytes(2 * 32 * 1040), Apart: 2 * 1040, Lines: 32, Depth: 1040, X: m.Floats(1040), Rows: 1, S: m.Floats(32), Stage: &stage})
			r.Strips(&Product{W: m.Bytes(2 * 8 * 1065), Apart: 2 * 1065, Lines: 1065, Depth: 8, X: m.Floats(8), Rows: 1, S: m.Floats(1065), Stage: &stage})
		}, "%s: more than a call", r.Name)
	}
}
