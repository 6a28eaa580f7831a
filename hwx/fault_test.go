//go:build unix

package hwx

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// A container that becomes shorter while it is read is an error, and is not kept mapped.
func TestOpenOfWhatIsTruncated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.hwx")
	data := make([]byte, 1<<16)
	le.PutUint32(data, Magic)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	before := osfile.Mapped()
	_, err := open(path, func(path string) (*osfile.Mapping, error) {
		m, err := osfile.Map(path)
		return m, errors.Join(err, os.Truncate(path, 0))
	})
	if !errors.Is(err, osfile.ErrChanged) || osfile.Mapped() != before {
		t.Errorf("got %v, %d mappings", err, osfile.Mapped()-before)
	}
}
