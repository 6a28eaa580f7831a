package engine

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// An Error says why a program cannot be executed.
type Error struct {
	Task  int       // index in the task list, -1 if it is about the whole program
	Field *td.Field // the register or header field, nil if none is to blame
	Value uint32    // what stands in it
	Msg   string
	Err   error // the limit that the program is beyond, a *limit.Error; nil: another reason
}

// Unwrap returns the limit that the program is beyond, if it is.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	where := "engine: "
	if e.Task >= 0 {
		where += fmt.Sprintf("task %d: ", e.Task)
	}
	if e.Field != nil {
		where += fmt.Sprintf("%s = %#x: ", e.Field, e.Value)
	}
	return where + e.Msg
}

func programError(format string, args ...any) error {
	return &Error{Task: -1, Msg: fmt.Sprintf(format, args...)}
}
