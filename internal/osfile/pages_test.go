package osfile

import (
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

// Pages are empty, take what is written, and forget at most what they are told to.
func TestPages(t *testing.T) {
	size := os.Getpagesize()
	for _, n := range []int{0, 1, 100, 5*size + 3} {
		p := NewPages(n)
		b := p.Bytes()
		if len(b) != n || n > 0 && uintptr(unsafe.Pointer(&b[0]))%8 != 0 {
			t.Fatalf("%d bytes, want %d, or not where elements may begin", len(b), n)
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d is not 0", i)
			}
			b[i] = byte(i%255 + 1)
		}
		if n > 4*size {
			from, to := size-5, 3*size+5 // two whole pages
			p.Empty(from, to)
			for i := range b {
				inside := i >= size && i < 3*size
				if b[i] != byte(i%255+1) && !(inside && b[i] == 0) {
					t.Fatalf("byte %d is %d", i, b[i])
				}
			}
		}
		p.Empty(0, 0)
		p.Close()
		p.Close()
		if p.Bytes() != nil {
			t.Error("there are bytes after Close")
		}
	}
	(*Pages)(nil).Close()
}

// What nobody closes is given back too.
func TestPagesOfNobody(t *testing.T) {
	freed := make(chan bool)
	p := NewPages(1 << 16)
	runtime.AddCleanup(p, func(int) { close(freed) }, 0)
	p.Bytes()[0] = 1
	runtime.KeepAlive(p)
	for range 300 {
		runtime.GC()
		select {
		case <-freed:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Error("pages that nobody holds are kept")
}
