//go:build windows

package osfile

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

func mapFile(f *os.File, size int) (*Mapping, error) {
	// A size of zero stands for the size of the file.
	h, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(h) // the view keeps the mapping alive
	addr, err := windows.MapViewOfFile(h, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return nil, err
	}
	// The address is of memory that the collector does not manage. Reading it
	// through a pointer to addr, rather than converting addr, says so to vet.
	data := unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size)
	return &Mapping{data: data, unmap: unmapView}, nil
}

func unmapView(data []byte) error {
	return windows.UnmapViewOfFile(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}
