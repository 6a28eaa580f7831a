package osfile

import "unsafe"

// Held makes a mapping of memory, for what takes a file that is mapped: it is closed like any other. The memory
// belongs to the mapping from then on. It is copied if it does not begin where elements of every type may.
func Held(data []byte) *Mapping {
	if uintptr(unsafe.Pointer(unsafe.SliceData(data)))%heldAlignment != 0 {
		aligned := make([]uint64, (len(data)+7)/8)
		data = append(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(aligned))), 8*len(aligned))[:0], data...)
	}
	return &Mapping{data: data}
}

// heldAlignment is that of the widest element, in bytes. Files that are mapped begin at a page.
const heldAlignment = 8
