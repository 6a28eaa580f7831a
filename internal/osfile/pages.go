package osfile

import (
	"runtime"
	"unsafe"
)

// Pages are memory outside of the collector's: it is there once, however much room the
// collector leaves itself, it takes place page by page as it is touched, and it is
// given back when it is closed. Where the system has no such memory, it is a slice like
// any other.
//
// Slices of it do not keep it: whoever uses them holds the Pages.
type Pages struct {
	data    []byte
	cleanup runtime.Cleanup // of pages that nobody has closed
	mapped  bool
}

// NewPages returns n bytes, all of them 0.
func NewPages(n int) *Pages {
	p := new(Pages)
	if n > 0 {
		if data, ok := mapPages(n); ok {
			p.data, p.mapped = data, true
			p.cleanup = runtime.AddCleanup(p, unmapPages, data)
			return p
		}
	}
	words := make([]uint64, (n+7)/8)
	p.data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:n]
	return p
}

// Bytes is the memory, until Close. It begins where elements of every type may.
func (p *Pages) Bytes() []byte { return p.data }

// Empty gives the pages between two bytes back, as far as they hold nothing else. They
// may be touched again, and are 0 then or what they were.
func (p *Pages) Empty(from, to int) {
	if p.mapped && from < to {
		unload(p.data[from:to], from)
	}
}

// Close gives all back. Nobody may use it any more. Further calls do nothing.
func (p *Pages) Close() {
	if p == nil {
		return
	}
	if p.mapped {
		p.cleanup.Stop()
		unmapPages(p.data)
	}
	p.data, p.mapped = nil, false
}
