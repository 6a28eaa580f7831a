package netplist

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// FileName is what Apple's tools call a network description.
const FileName = "net.plist"

// Save writes the list into a folder, which it makes if need be, as net.plist with its weights files beside it, each replaced
// atomically. It returns the path of the list.
func (f *File) Save(dir string, form Form, weights map[string][]byte) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if name != filepath.Base(name) || name == FileName || !filepath.IsLocal(name) {
			return "", fmt.Errorf("weights file %q does not lie beside the list", name)
		}
		err := osfile.WriteAtomic(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := w.Write(weights[name])
			return err
		})
		if err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, FileName)
	return path, osfile.WriteAtomic(path, func(w io.Writer) error { return f.Write(w, form) })
}
