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
}
