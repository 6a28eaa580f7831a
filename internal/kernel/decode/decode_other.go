//go:build !amd64

package decode

const fastBits = 0

func lookFast(dst, codes []byte, bits int, table *Table, n int) int { return 0 }
func scaleFast(dst, codes []byte, s *Scale) int                     { return 0 }
func table4Fast(t *Table, s *Scale) bool                            { return false }

func blocks4Fast(dst, codes []byte, signed bool, block int, factors []byte, zeros []float32) bool {
	return false
}

func lookTwiceFast(t *Twice) bool { return false }

func (l *Lines8) fast(group, second int) bool { return false }
