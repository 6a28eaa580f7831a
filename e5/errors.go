package e5

import "fmt"

// FormatError says where and why bytes are not a dispatch descriptor.
type FormatError struct {
	Offset int64  // in the file, in bytes
	Field  string // the way to the table: "sections[2]"; "" for the root
	Msg    string
}

func (e *FormatError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("byte 0x%x: %s", e.Offset, e.Msg)
	}
	return fmt.Sprintf("byte 0x%x: %s: %s", e.Offset, e.Field, e.Msg)
}
