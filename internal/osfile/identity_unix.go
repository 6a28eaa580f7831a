//go:build unix

package osfile

import (
	"os"

	"golang.org/x/sys/unix"
)

func (m *mapped) identity() (Identity, error) { return descriptorIdentity(m.file) }

func fileIdentity(f *os.File) (Identity, error) { return descriptorIdentity(int(f.Fd())) }

func descriptorIdentity(file int) (Identity, error) {
	var s unix.Stat_t
	if err := unix.Fstat(file, &s); err != nil {
		return Identity{}, err
	}
	return Identity{uint64(s.Dev), uint64(s.Ino), s.Size, unix.TimespecToNsec(s.Mtim), unix.TimespecToNsec(s.Ctim)}, nil
}
