//go:build linux

package osfile

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// exchange makes two names change places, in one step. The error wraps
// errors.ErrUnsupported where the system or the file system cannot.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}
