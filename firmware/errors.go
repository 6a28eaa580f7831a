package firmware

import "fmt"

// FormatError says where and why bytes are not what they should be.
type FormatError struct {
	Offset int64 // in bytes, from the start of what was read
	Msg    string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte 0x%x: %s", e.Offset, e.Msg) }

// damage makes a FormatError about the byte at offset.
func damage(offset int, format string, args ...any) error {
	return &FormatError{Offset: int64(offset), Msg: fmt.Sprintf(format, args...)}
}
