//go:build unix

package osfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mapped is a mapping of the system, with a descriptor of the file by which to
// see what becomes of it, whatever its name is by then.
type mapped struct {
	data []byte
	file int
}

func mapFile(f *os.File, size int, write bool) (*mapped, error) {
	access := unix.PROT_READ
	if write {
		access |= unix.PROT_WRITE
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, access, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	file, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(data))
	}
	return &mapped{data, file}, nil
}

func (m *mapped) stamp() (stamp, error) {
	var s unix.Stat_t
	if err := unix.Fstat(m.file, &s); err != nil {
		return stamp{}, err
	}
	seconds, nanoseconds := s.Mtim.Unix()
	return stamp{s.Size, seconds, nanoseconds}, nil
}

func (m *mapped) release() error { return errors.Join(unix.Munmap(m.data), unix.Close(m.file)) }
