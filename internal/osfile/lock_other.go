//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package osfile

import "errors"

// held is never made here: a folder cannot be locked, and what is open cannot be
// removed on Windows anyway.
type held struct{}

func lock(string) (*held, error) { return nil, errors.ErrUnsupported }

func (*held) still(string) bool { return false }
func (*held) release()          {}
