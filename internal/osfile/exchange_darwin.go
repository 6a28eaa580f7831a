//go:build darwin

package osfile

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// exchange makes two names change places, in one step. The error wraps
// errors.ErrUnsupported where the file system cannot.
func exchange(a, b string) error {
	err := unix.RenamexNp(a, b, unix.RENAME_SWAP)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}
