//go:build !unix && !windows

package osfile

import (
	"errors"
	"os"
)

func (m *mapped) identity() (Identity, error) { return Identity{}, errors.ErrUnsupported }

func fileIdentity(*os.File) (Identity, error) { return Identity{}, errors.ErrUnsupported }
