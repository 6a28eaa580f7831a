package hwx

import "fmt"

// FormatError says where and why bytes are not a container.
type FormatError struct {
	Offset int64 // in the file, in bytes
	Msg    string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte 0x%x: %s", e.Offset, e.Msg) }

// damage makes a FormatError about the byte at offset.
func damage[T int | int64 | uint32 | uint64](offset T, format string, args ...any) error {
	return &FormatError{Offset: int64(offset), Msg: fmt.Sprintf(format, args...)}
}
