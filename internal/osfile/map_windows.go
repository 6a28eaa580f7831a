//go:build windows

package osfile

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapped is a view of a file, with a handle of the file by which to see what
// becomes of it.
type mapped struct {
	data []byte
	file windows.Handle
}

func mapFile(f *os.File, size int, write bool) (*mapped, error) {
	protect, access := uint32(windows.PAGE_READONLY), uint32(windows.FILE_MAP_READ)
	if write {
		protect, access = windows.PAGE_READWRITE, windows.FILE_MAP_READ|windows.FILE_MAP_WRITE
	}
	// A size of zero stands for the size of the file.
	h, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, protect, 0, 0, nil)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(h) // the view keeps the mapping alive
	m := &mapped{}
	self := windows.CurrentProcess()
	if err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &m.file, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, err
	}
	addr, err := windows.MapViewOfFile(h, access, 0, 0, uintptr(size))
	if err != nil {
		return nil, errors.Join(err, windows.CloseHandle(m.file))
	}
	// The address is of memory that the collector does not manage. Reading it
	// through a pointer to addr, rather than converting addr, says so to vet.
	m.data = unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size)
	return m, nil
}

func (m *mapped) stamp() (stamp, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(m.file, &info); err != nil {
		return stamp{}, err
	}
	return stamp{
		size:        int64(info.FileSizeHigh)<<32 | int64(info.FileSizeLow),
		nanoseconds: info.LastWriteTime.Nanoseconds(),
	}, nil
}

func (m *mapped) release() error {
	return errors.Join(windows.UnmapViewOfFile(uintptr(unsafe.Pointer(unsafe.SliceData(m.data)))), windows.CloseHandle(m.file))
}
