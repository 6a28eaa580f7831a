//go:build windows

package osfile

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

func (m *mapped) identity() (Identity, error) { return handleIdentity(m.file) }

func fileIdentity(f *os.File) (Identity, error) { return handleIdentity(windows.Handle(f.Fd())) }

func handleIdentity(file windows.Handle) (Identity, error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(file, &info); err != nil {
		return Identity{}, err
	}
	var basic struct { // FILE_BASIC_INFO
		creation, access, write, change windows.Filetime
		attributes, _                   uint32
	}
	if err := windows.GetFileInformationByHandleEx(file, windows.FileBasicInfo, (*byte)(unsafe.Pointer(&basic)), uint32(unsafe.Sizeof(basic))); err != nil {
		return Identity{}, err
	}
	return Identity{
		Device:   uint64(info.VolumeSerialNumber),
		Inode:    uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow),
		Size:     int64(info.FileSizeHigh)<<32 | int64(info.FileSizeLow),
		Modified: info.LastWriteTime.Nanoseconds(),
		Changed:  basic.change.Nanoseconds(),
	}, nil
}
