package e5rt

import (
	"errors"
	"strings"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// Errors to be tested with errors.Is.
var (
	// ErrNoHost is wrapped by the error about a bundle with host segments that is
	// opened without a host.
	ErrNoHost = errors.New("the bundle has host segments, and there is no host to run them")
	// ErrNotFound is wrapped by errors about functions, ports and states that are
	// not there.
	ErrNotFound = errors.New("there is no such name")
	// ErrBusy is wrapped by errors about a state that another run has, of which
	// nobody knows which was meant to come first, and about an operation that is
	// bound, set or asked for its values during a run.
	ErrBusy = errors.New("it is in use by another goroutine")
	// ErrOverlap is wrapped by errors about outputs and states that are bound to the
	// same memory.
	ErrOverlap = errors.New("there is no memory for the content of both")
	// ErrLayout is wrapped by errors about memory that lies otherwise than a port, or
	// the engine behind it, takes it.
	ErrLayout = errors.New("it does not lie as the port takes it")
	// ErrClosed is wrapped by errors about what is used after its library, or the
	// bundle of it, was closed.
	ErrClosed = errors.New("it is closed")
	// ErrFileChanged is wrapped by errors about a file of the bundle that was written
	// to while it was in use. The error is a *FileError.
	ErrFileChanged = osfile.ErrChanged
	// ErrInUse is wrapped by the error about a port that is to be bound while the operation is encoded in a stream.
	ErrInUse = errors.New("Port bindings cannot be changed while operation is in use in an execution stream")
	// ErrNotReset is wrapped by the error about a stream that is to take or to run operations, and was not reset since it ran.
	ErrNotReset = errors.New("Reset stream to add more operations to stream. (2)")
	// ErrNothingEncoded is the error of a stream that is to run, and has no operations.
	ErrNothingEncoded = errors.New("the stream has no operations: encode some first")
	// ErrState is wrapped by errors about states that are missing or that another
	// function has.
	ErrState = errors.New("the state is not that of the function")
)

// A FileError says what is wrong with a file of a bundle that is open: it was
// written to (ErrFileChanged), or a page of it cannot be read.
type FileError = osfile.FileError

// An Error says where in a bundle something is that cannot be run, or that
// failed.
type Error struct {
	Function  string
	Operation string // of the descriptor; "" if it is about the function
	Container string // that the operation runs, if it is to blame
	Symbol    string // of an operand or port; "" if none is to blame
	Err       error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("function " + e.Function)
	for _, part := range []string{e.Operation, e.Container, e.Symbol} {
		if part != "" {
			b.WriteString(": " + part)
		}
	}
	return b.String() + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }
