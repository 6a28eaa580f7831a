//go:build unix

// Package guard is for tests of machine code: it has memory beside which nothing may
// be read or written.
//
//	pages    none | ………………slice | none      slices that end where memory does
//	         none | slice……………… | none      and such that begin there
package guard

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// Sizes are around those of vectors and of what is done at once.
var Sizes = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129}

// room is the bytes of the longest slice.
const room = 1 << 18

// Memory is where the slices of a call lie, each between pages of its own.
type Memory struct {
	t     testing.TB
	first bool // slices begin where memory does
	areas [][]byte
	used  int
}

// New makes memory that lives as long as the test.
func New(t testing.TB) *Memory { return &Memory{t: t} }

// Check calls f with slices that end where memory does, then with such that begin
// there. A fault is an error of the test, and so is another panic.
func (m *Memory) Check(f func(), format string, args ...any) {
	m.t.Helper()
	for _, m.first = range []bool{false, true} {
		if p := m.call(f); p != nil {
			where := "end"
			if m.first {
				where = "begin"
			}
			m.t.Errorf("%s, slices that %s where memory does: %v", fmt.Sprintf(format, args...), where, p)
		}
	}
}

// Refuses calls f likewise, with slices that are too short for what it does: that is a
// panic, before memory beside them is touched.
func (m *Memory) Refuses(f func(), format string, args ...any) {
	m.t.Helper()
	for _, m.first = range []bool{false, true} {
		p := m.call(f)
		if _, fault := p.(interface{ Addr() uintptr }); p == nil || fault {
			m.t.Errorf("%s: %v, want it refused", fmt.Sprintf(format, args...), p)
		}
	}
}

func (m *Memory) call(f func()) (p any) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { p = recover() }()
	m.used = 0
	f()
	return nil
}

// Bytes is a slice of n bytes, all different from 0.
func (m *Memory) Bytes(n int) []byte {
	b := m.slice(n)
	for i := range b {
		b[i] = byte(i%7 + 0x31) // as fp16 numbers: small ones
	}
	return b
}

// Floats is a slice of n small floats, which fp16 has too.
func (m *Memory) Floats(n int) []float32 {
	b := m.slice(4 * n)
	f := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), n)
	for i := range f {
		f[i] = float32(i%11-5) / 4
	}
	return f
}

// Place is a T that lies as a slice does. T has no pointers.
func Place[T any](m *Memory, v T) *T {
	p := (*T)(unsafe.Pointer(unsafe.SliceData(m.slice(int(unsafe.Sizeof(v))))))
	*p = v
	return p
}

func (m *Memory) slice(n int) []byte {
	if n > room {
		panic(fmt.Sprintf("bug: %d bytes of %d", n, room))
	}
	if m.used == len(m.areas) {
		m.areas = append(m.areas, m.area())
	}
	area := m.areas[m.used]
	m.used++
	if m.first {
		return area[:n:n]
	}
	return area[room-n : room : room]
}

// area is memory with a page on both sides that is none.
func (m *Memory) area() []byte {
	page := os.Getpagesize()
	all, err := syscall.Mmap(-1, 0, room+2*page, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { syscall.Munmap(all) })
	area := all[page:][:room:room]
	if err := syscall.Mprotect(area, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		m.t.Fatal(err)
	}
	return area
}
