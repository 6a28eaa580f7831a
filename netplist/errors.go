package netplist

import (
	"fmt"
	"strings"
)

// A Code is the word by which Apple's parser refuses a list.
type Code string

// The codes.
const (
	InvalidNetworkSourceFileName Code = "InvalidNetworkSourceFileName" // no property list, or not of a network
	InvalidUnit                  Code = "InvalidUnit"                  // a unit or port is missing, or of no known type
	InvalidBottomCount           Code = "InvalidBottomCount"
	InvalidParamSyntax           Code = "InvalidParamSyntax" // a key is missing, or not what its parser wants
	InvalidInputViewDimension    Code = "InvalidInputViewDimension"
	InvalidInputViewOffset       Code = "InvalidInputViewOffset"
	InvalidInputViewSize         Code = "InvalidInputViewSize"
	InvalidInputViewStep         Code = "InvalidInputViewStep"
)

// An Error is why a list is refused. What is not known of the place is empty.
type Error struct {
	Code    Code
	Network string
	Unit    string // or the port
	Key     string // as a path, such as Params.Step
	Text    string // what was found, and what is wanted
	Err     error
}

func (e *Error) Error() string {
	var at []string
	for _, part := range []struct{ what, name string }{{"network", e.Network}, {"unit", e.Unit}} {
		if part.name != "" {
			at = append(at, fmt.Sprintf("%s %q", part.what, part.name))
		}
	}
	if e.Key != "" {
		at = append(at, "key "+e.Key)
	}
	text := e.Text
	if e.Err != nil {
		text = strings.TrimPrefix(text+": "+e.Err.Error(), ": ")
	}
	if len(at) == 0 {
		return fmt.Sprintf("%s: %s", e.Code, text)
	}
	return fmt.Sprintf("%s: %s: %s", strings.Join(at, ", "), e.Code, text)
}

func (e *Error) Unwrap() error { return e.Err }

func errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Text: fmt.Sprintf(format, args...)}
}

// at says where, as far as the error does not.
func (e *Error) at(network, unit, key string) *Error {
	if e.Network == "" {
		e.Network = network
	}
	if e.Unit == "" {
		e.Unit = unit
	}
	if e.Key == "" {
		e.Key = key
	}
	return e
}
