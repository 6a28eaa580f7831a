package build

import (
	"unsafe"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// graph takes in a graph: its text, and the bytes that the text leaves out. Those in a weight file are its number and their place
// there, so that the digest of the file, which is remembered, stands for them.
func (k *keyMaker) graph(e *compiler.Entry) {
	files := make([]uint64, len(e.Weights))
	for i, w := range e.Weights {
		f := weightFile{path: w.Path, data: w.Data}
		if w.Identity != nil {
			f.known = func() (osfile.Identity, string, bool) {
				id, ok := w.Identity()
				return id, "", ok
			}
		}
		k.text(w.Path)
		files[i] = k.fileNumber(f)
	}
	k.text(anec.PrintWith(e.Graph, func(data []byte) string {
		for i, w := range e.Weights {
			if at, ok := offsetIn(w.Data, data); ok {
				k.number(files[i])
				k.number(uint64(at))
				return ""
			}
		}
		k.number(0) // no file
		k.bytes(data)
		return ""
	}))
}

// offsetIn is where bytes begin in memory that they are a part of.
func offsetIn(memory, part []byte) (int, bool) {
	if len(memory) == 0 || len(part) == 0 {
		return 0, false
	}
	from, at := uintptr(unsafe.Pointer(unsafe.SliceData(memory))), uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	if at < from || at-from > uintptr(len(memory)) || uintptr(len(part)) > uintptr(len(memory))-(at-from) {
		return 0, false
	}
	return int(at - from), true
}
