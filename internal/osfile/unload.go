package osfile

import "unsafe"

// Unload gives the pages of mapped memory back to the system, which reads the file
// again where they are touched again. Of memory that is not mapped by Map it does
// nothing.
func Unload(b []byte) {
	if len(b) == 0 {
		return
	}
	mappings.Lock() // so that the mapping is not released meanwhile
	defer mappings.Unlock()
	first := uintptr(unsafe.Pointer(&b[0]))
	for sys := range mappings.all {
		if len(sys.data) == 0 {
			continue
		}
		begin := uintptr(unsafe.Pointer(&sys.data[0]))
		if first >= begin && first-begin <= uintptr(len(sys.data)-len(b)) && len(b) <= len(sys.data) {
			unload(b, int(first-begin))
			return
		}
	}
}
