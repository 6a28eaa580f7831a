//go:build !linux && !darwin

package osfile

import "errors"

// exchange would make two names change places; no call here does.
func exchange(a, b string) error { return errors.ErrUnsupported }
