//go:build unix

package guard

import (
	"testing"
	"unsafe"
)

// What lies beside a slice is a fault, at the side that is looked at.
func TestFaultsBeside(t *testing.T) {
	m := New(t)
	for _, m.first = range []bool{false, true} {
		for _, beside := range []int{-1, 3} {
			fault := m.call(func() {
				v := m.Bytes(3)
				_ = *at(v, beside)
			})
			if want := m.first == (beside < 0); (fault != nil) != want {
				t.Errorf("first %v, byte %d: fault %v, want %v", m.first, beside, fault, want)
			}
		}
	}
	m.Check(func() {
		for _, n := range Sizes {
			for i, v := range m.Bytes(n) {
				m.Floats(n)[i] = float32(v)
			}
			m.used = 0
		}
	}, "slices themselves")
}

//go:noinline
func at(v []byte, i int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(&v[0]), i)) }
