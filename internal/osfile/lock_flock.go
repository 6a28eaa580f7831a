//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// A held is a lock on a file or folder. It lasts until release, or until the
// process ends.
type held struct{ file *os.File }

// lock takes the lock of a file or folder, and does not wait: errLocked if
// somebody else has it.
func lock(name string) (*held, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		return &held{f}, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, err
}

// still reports whether the name is that of what is locked.
func (h *held) still(name string) bool {
	mine, err := h.file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(name)
	return err == nil && os.SameFile(mine, now)
}

func (h *held) release() { h.file.Close() }
