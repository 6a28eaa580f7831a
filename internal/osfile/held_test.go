package osfile

import (
	"bytes"
	"testing"
	"unsafe"
)

// Memory that is held begins where any element may, and is the caller's own if it does already.
func TestHeld(t *testing.T) {
	data := make([]byte, 100)
	for i := range data {
		data[i] = byte(i)
	}
	for at := range 16 {
		given := data[at : at+50]
		m := Held(given)
		got := m.Bytes()
		start := func(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
		if !bytes.Equal(got, given) || start(got)%8 != 0 {
			t.Errorf("at %d: got %v at %#x", at, got, start(got))
		}
		if same := start(got) == start(given); same != (start(given)%8 == 0) {
			t.Errorf("at %d: copied or not: %v", at, same)
		}
		if err := m.Close(); err != nil || m.Bytes() != nil {
			t.Errorf("at %d: after Close: %v, %v", at, m.Bytes(), err)
		}
	}
	if got := Held(nil).Bytes(); len(got) != 0 {
		t.Errorf("got %v of nothing", got)
	}
}
