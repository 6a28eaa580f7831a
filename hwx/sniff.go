package hwx

import (
	"io"
	"os"
)

// IsContainerFile reports whether the file at path begins as a container does.
// A file that cannot be read does not.
func IsContainerFile(path string) bool {
	info, err := os.Stat(path) // before it is opened: a pipe would wait for its writer
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	_, err = io.ReadFull(f, head)
	return err == nil && IsContainer(head)
}
