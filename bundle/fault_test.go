//go:build unix

package bundle

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// A file that becomes shorter while the bundle is opened is an error, and nothing is kept mapped.
func TestOpenOfWhatIsTruncated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.bundle")
	for name, digests := range map[string]bool{"segments/0.hwx": true, ProgramPath: false, "weights/a.bin": true} {
		if _, err := Write(dir, sample(t)); err != nil {
			t.Fatal(err)
		}
		before, found := osfile.Mapped(), false
		load := func(f *os.File) (*osfile.Mapping, error) {
			m, err := osfile.MapFile(f)
			if strings.HasSuffix(filepath.ToSlash(f.Name()), name) {
				found = true
				err = errors.Join(err, os.Truncate(f.Name(), 0))
			}
			return m, err
		}
		_, err := opener{context.Background(), load, digests}.open(dir)
		if !errors.Is(err, osfile.ErrChanged) || !found || osfile.Mapped() != before {
			t.Errorf("%s: got %v, found %v, %d mappings", name, err, found, osfile.Mapped()-before)
		}
		os.RemoveAll(dir)
	}
}

func TestOpenContextEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.bundle")
	if _, err := Write(dir, sample(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := osfile.Mapped()
	if _, err := OpenContext(ctx, dir); !errors.Is(err, context.Canceled) || osfile.Mapped() != before {
		t.Errorf("got %v, %d mappings", err, osfile.Mapped()-before)
	}
}
