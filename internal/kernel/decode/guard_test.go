//go:build unix

package decode

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/guard"
)

// Nothing beside codes, tables and numbers is touched.
func TestGuard(t *testing.T) {
	m := guard.New(t)
	for _, n := range guard.Sizes {
		for _, bits := range []int{1, 2, 3, 4, 6, 8} {
			m.Check(func() {
				codes := m.Bytes(Bytes(n, bits))
				for i := range codes {
					codes[i] = 255 // the last of the table
				}
				Look(m.Bytes(2*n), codes, bits, guard.Place(m, Table{}), n)
			}, "%d codes of %d bits", n, bits)
		}
		for _, signed := range []bool{false, true} {
			m.Check(func() {
				s := guard.Place(m, Scale{signed, 3, 0.5})
				s.Bytes8(m.Bytes(2*n), m.Bytes(n))
				s.Table4(guard.Place(m, Table{}))
			}, "scale of %d codes, signed %v", n, signed)
			for _, block := range []int{32, 64, 96} {
				for _, zeros := range []bool{false, true} {
					m.Check(func() {
						var z []float32
						if zeros {
							z = m.Floats(n)
						}
						Blocks4(m.Bytes(2*n*block), m.Bytes(n*block/2), signed, block, m.Bytes(2*n), z)
					}, "%d blocks of %d codes, signed %v, zeros %v", n, block, signed, zeros)
				}
			}
		}
	}
	for _, n := range guard.Sizes {
		for _, lines := range []int{1, 3} {
			for _, parts := range []bool{false, true} {
				m.Check(func() {
					l := Lines8{Line: 2*n + 6, Codes: m.Bytes((lines-1)*(n+3) + n), Apart: n + 3, N: n, Signed: parts, Factors: m.Floats(lines), Zeros: m.Floats(lines)}
					if l.Dst = m.Bytes((lines-1)*l.Line + 2*n); !parts {
						l.Write()
						return
					}
					const group, second = 128, 64
					groups := max(1, (n+31)/32)
					l.Line = groups * group
					l.Dst = m.Bytes((lines-1)*l.Line + (groups-1)*group + second + 64)
					l.Split(group, second)
				}, "%d lines of %d codes, parts %v", lines, n, parts)
			}
		}
	}
	for _, bits := range []int{1, 2, 3, 4, 6} {
		for _, groups := range []int{1, 2, 5} {
			m.Check(func() {
				l := Twice{Group: 128, Second: 64, Line: 128 * groups, Apart: 4*bits*groups + 1, Bits: bits, Lines: 3, Groups: groups}
				l.Dst, l.Codes = m.Bytes(2*l.Line+(groups-1)*l.Group+128), m.Bytes(2*l.Apart+4*bits*groups)
				l.First, l.Last = guard.Place(m, Table{}), guard.Place(m, Table{})
				l.Look()
			}, "%d groups of %d bits, twice", groups, bits)
		}
	}
}
