package bundle

import (
	"errors"
	"fmt"
	"strings"
)

// Errors to be tested with errors.Is.
var (
	// ErrNotBundle is wrapped by errors about folders that are no bundles.
	ErrNotBundle = errors.New("not a bundle of Espalier")
	// ErrVersion is wrapped by errors about bundles of another version.
	ErrVersion = errors.New("the version of the bundle is not known")
	// ErrDigest is wrapped by errors about files that are not the ones that were
	// written.
	ErrDigest = errors.New("the file is not the one that was written")
	// ErrOutside is wrapped by errors about paths that leave the bundle.
	ErrOutside = errors.New("the path leaves the bundle")
)

// FormatError says where and why a bundle is not what it should be.
type FormatError struct {
	File   string // in the bundle
	Offset int64  // in the file, in bytes; -1 if there is no one place
	Field  string // the way to the part of the manifest: "functions[0].segments[2]"
	Msg    string
	Err    error // what is behind it; may be nil
}

func (e *FormatError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Offset >= 0 {
		fmt.Fprintf(&b, ": byte 0x%x", e.Offset)
	}
	for _, part := range []string{e.Field, e.Msg} {
		if part != "" {
			b.WriteString(": " + part)
		}
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

func (e *FormatError) Unwrap() error { return e.Err }

// wrong makes a FormatError about a part of the manifest.
func wrong(field, format string, args ...any) error {
	return &FormatError{File: manifestName, Offset: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// badFile makes a FormatError about a file.
func badFile(file string, err error) error {
	return &FormatError{File: file, Offset: -1, Err: err}
}
