package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/firmware"
)

// A Code is a status of the kernel, a row of firmware.ReturnCodes: errors.Is(err, driver.BadArgument).
type Code uint32

// The codes that the driver gives. Their numbers are those of Apple's header.
const (
	Failed          Code = 0xe00002bc // kIOReturnError
	NoMemory        Code = 0xe00002bd
	NoResources     Code = 0xe00002be
	NotPrivileged   Code = 0xe00002c1
	BadArgument     Code = 0xe00002c2
	ExclusiveAccess Code = 0xe00002c5 // the client is closed
	Unsupported     Code = 0xe00002c7
	Busy            Code = 0xe00002d5
	Timeout         Code = 0xe00002d6
	NotReady        Code = 0xe00002d8
	Aborted         Code = 0xe00002eb
	NotFound        Code = 0xe00002f0
)

func (c Code) Error() string {
	row, ok := firmware.FindReturnCode(uint32(c))
	if !ok {
		return fmt.Sprintf("status %#x", uint32(c))
	}
	return fmt.Sprintf("%s (%#x): %s", row.Name, uint32(c), row.Meaning)
}

// An Error is a Code with the reason.
type Error struct {
	Code Code
	Msg  string // in the firmware's own words, where it has some
	Err  error  // what it comes from, or nil
}

func (e *Error) Error() string {
	row, _ := firmware.FindReturnCode(uint32(e.Code))
	text := e.Msg
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s (%s)", text, row.Name)
}

// Unwrap returns the code, and what the error comes from.
func (e *Error) Unwrap() []error {
	if e.Err != nil {
		return []error{e.Code, e.Err}
	}
	return []error{e.Code}
}

func fail(c Code, format string, args ...any) error {
	return &Error{Code: c, Msg: fmt.Sprintf(format, args...)}
}

// because is an error that comes from another.
func because(c Code, err error, format string, args ...any) error {
	return &Error{Code: c, Msg: fmt.Sprintf(format, args...), Err: err}
}

// CodeOf is the status that stands for an error: 0 for none.
func CodeOf(err error) Code {
	var c Code
	switch {
	case err == nil:
		return 0
	case errors.As(err, &c):
		return c
	case errors.Is(err, context.Canceled):
		return Aborted
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Failed
}
