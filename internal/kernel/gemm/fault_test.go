//go:build unix

package gemm

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// gone is memory of a file that is no longer there.
func gone(t *testing.T, n int) []byte {
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, make([]byte, n), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := syscall.Mmap(int(f.Fd()), 0, n, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	return m
}

// A fault is a panic that can be recovered in every row, where it packs and where it
// multiplies, and the row is as before after it: machine code of tiles sets them up
// whenever it is called, so what a fault leaves in them does not matter.
func TestFaults(t *testing.T) {
	runtime.LockOSThread() // tiles belong to a thread
	defer runtime.UnlockOSThread()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	memory := gone(t, 1<<20)
	floats := unsafe.Slice((*float32)(unsafe.Pointer(&memory[0])), len(memory)/4)
	faults := func(f func()) (fault bool) {
		defer func() { _, fault = recover().(interface{ Addr() uintptr }) }()
		f()
		return false
	}
	if !faults(func() { ones := memory[0] + memory[1]; runtime.KeepAlive(ones) }) {
		t.Skip("memory that is gone is no fault here: an emulator?")
	}
	for _, r := range Usable() {
		const depth = 64
		lines := max(r.A.Lines, r.B.Lines)
		ones := make([]float32, lines*depth)
		for i := range ones {
			ones[i] = 1
		}
		a, b := make([]float32, r.A.Words(depth)), make([]float32, r.B.Words(depth))
		good := func(p *Panel) *Source {
			return &Source{Floats: ones, Line: depth, Step: 1, Lines: p.Lines, Depth: depth}
		}
		r.A.Pack(a, len(a), good(&r.A))
		r.B.Pack(b, len(b), good(&r.B))
		works := func(after string) {
			t.Helper()
			room, stride := r.Room(r.A.Lines, r.B.Lines)
			tile := Tile{A: a, DistA: len(a), B: b, DistB: len(b), Depth: depth, Rows: r.A.Lines, Cols: r.B.Lines, C: make([]float32, room), Stride: stride}
			r.Run(&tile)
			for i, v := range tile.C {
				if v != depth {
					t.Fatalf("%s: after a fault %s, sum %d is %g, want %d", r.Name, after, i, v, depth)
				}
			}
		}
		for _, p := range []*Panel{&r.A, &r.B} {
			panel := make([]float32, p.Words(depth))
			for name, s := range map[string]*Source{
				"floats, line by line":  {Floats: floats, Line: depth, Step: 1},
				"floats, side by side":  {Floats: floats, Line: 1, Step: p.Lines},
				"floats, apart":         {Floats: floats, Line: 3 * depth, Step: 3},
				"numbers, line by line": {Elem: F16, Bytes: memory, Line: depth, Step: 1},
				"numbers, side by side": {Elem: F16, Bytes: memory, Line: 1, Step: p.Lines},
			} {
				s.Lines, s.Depth = p.Lines, depth
				if p.Reads(s.Elem) && !faults(func() { p.Pack(panel, len(panel), s) }) {
					t.Errorf("%s: packing %s is no fault", r.Name, name)
				}
			}
		}
		works("in a source")
		for name, tile := range map[string]Tile{"left": {A: floats, B: b}, "right": {A: a, B: floats}} {
			room, stride := r.Room(r.A.Lines, r.B.Lines)
			tile.DistA, tile.DistB, tile.Depth, tile.Rows, tile.Cols = len(a), len(b), depth, r.A.Lines, r.B.Lines
			tile.C, tile.Stride = make([]float32, room), stride
			if !faults(func() { r.Run(&tile) }) {
				t.Errorf("%s: a fault of the %s panel is none", r.Name, name)
			}
			works("in the " + name + " panel")
		}
	}
}
