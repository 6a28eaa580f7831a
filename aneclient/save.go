package aneclient

import (
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/netplist"
)

// SaveModelFiles writes the model to LocalModelPath, as the originals do: model.mil, weights, net.plist with the native layers,
// and, if it is compiled, the folder data, which is a bundle. ModelAtURL opens them again: -saveModelFiles. A model whose layers
// no list can say has no net.plist.
func (m *Model) SaveModelFiles() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.descriptor == nil {
		return ErrBadArgument.saying("%s: the model is of files already", m.path)
	}
	if err := os.MkdirAll(m.path, 0o777); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(m.path, textFile), m.descriptor.text); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.descriptor.weights)) {
		local := path.Clean(strings.TrimPrefix(name, "@model_path/"))
		if !filepath.IsLocal(local) {
			return ErrBadArgument.saying("weight file %q does not lie beside the model", name)
		}
		at := filepath.Join(m.path, filepath.FromSlash(local))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o777), writeFile(at, m.descriptor.weights[name])); err != nil {
			return err
		}
	}
	if m.object == nil {
		return nil
	}
	if list, weights, _, err := netplist.FromGraphs(m.object.graphs); err == nil {
		if _, err := list.Save(m.path, netplist.XML, weights); err != nil {
			return err
		}
	}
	_, err := bundle.Write(filepath.Join(m.path, dataFolder), m.object.bundle.Content())
	return err
}

func writeFile(path string, data []byte) error {
	return osfile.WriteAtomic(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
