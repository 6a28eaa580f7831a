package coreml

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Errors to be tested with errors.Is.
var (
	// ErrNotSupported is wrapped by errors about files that are recognised but that this package cannot
	// take further, as the program of a neural network.
	ErrNotSupported = errors.New("not supported")
	// ErrOutsidePackage is wrapped by errors about paths that leave the package.
	ErrOutsidePackage = errors.New("the path leaves the package")
	// ErrLFSPointer is wrapped by errors about files that Git LFS has not downloaded.
	ErrLFSPointer = errors.New("the file is a Git LFS pointer, not the file itself; `git lfs pull` downloads it")
)

// MissingWeightsError says which weight file of a model is not there. It wraps fs.ErrNotExist.
type MissingWeightsError struct {
	File string // where it should be
	Path string // as the program spells it: "@model_path/weights/weight.bin"
}

func (e *MissingWeightsError) Error() string {
	return fmt.Sprintf("the weight file %s is missing, which the program calls %s: copy the model with its whole folder, or convert it again; a model in memory is a zip archive of that folder; inspect and check do without it", e.File, e.Path)
}

func (e *MissingWeightsError) Unwrap() error { return fs.ErrNotExist }

// FormatError says where and why a file is not what it should be.
type FormatError struct {
	File   string // as the user or the package calls it
	Field  string // the way to the field: "mlProgram.functions[main].operations[3].type"; "" for the file as a whole
	Offset int64  // in the file, in bytes; -1 if there is no one place
	Msg    string
	Err    error // what is behind it; may be nil
}

func (e *FormatError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ": ")
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, "byte 0x%x: ", e.Offset)
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Msg)
	if e.Err != nil {
		if e.Msg != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

func (e *FormatError) Unwrap() error { return e.Err }

// damage makes a FormatError about the byte at offset.
func damage(offset int64, format string, args ...any) error {
	return &FormatError{Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

// badFile makes a FormatError about a file as a whole.
func badFile(file string, format string, args ...any) error {
	return &FormatError{File: file, Offset: -1, Msg: fmt.Sprintf(format, args...)}
}

// under puts the name of the enclosing field before the field of an error that is passed up.
func under(field string, err error) error {
	if e, ok := err.(*FormatError); ok {
		switch {
		case e.Field == "":
			e.Field = field
		case e.Field[0] == '[':
			e.Field = field + e.Field
		default:
			e.Field = field + "." + e.Field
		}
	}
	return err
}

// inFile names the file in an error that is passed up.
func inFile(file string, err error) error {
	if e, ok := err.(*FormatError); ok && e.File == "" {
		e.File = file
	}
	return err
}
