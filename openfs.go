package espalier

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/graphfile"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// OpenFS reads a model from a file system, such as an embed.FS: name is that of a file or folder in it. All that Open
// takes may be there. Files are read into memory, not mapped.
func OpenFS(fsys fs.FS, name string) (*Model, error) { return Config{}.OpenFS(fsys, name) }

// OpenFS reads a model from a file system.
func (c Config) OpenFS(fsys fs.FS, name string) (*Model, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		beside, err := fs.Sub(fsys, path.Dir(name))
		if err != nil {
			return nil, err
		}
		return c.openData(name, data, beside)
	}
	folder, err := fs.Sub(fsys, name)
	if err != nil {
		return nil, err
	}
	m := &Model{life: &lifetime{}}
	c.path = name
	if bundle.IsBundleFS(folder) {
		err = openWith(context.Background(), m, name, func(string) (*bundle.Bundle, error) { return bundle.OpenFS(folder, name) }, c.bundleFunctions)
	} else {
		err = openWith(context.Background(), m, name, func(string) (*coreml.Model, error) { return coreml.OpenFS(fsys, name) }, c.modelFunctions)
	}
	return m.opened(name, err)
}

// OpenBytes reads a model that is one file in memory: a model file, MIL text, a graph of native layers, a hardware container, or a zip archive of a
// package, of a compiled model or of a bundle. Errors call it by the name. The memory must not be changed before Close.
func OpenBytes(name string, data []byte) (*Model, error) { return Config{}.OpenBytes(name, data) }

// OpenBytes reads a model that is one file in memory.
func (c Config) OpenBytes(name string, data []byte) (*Model, error) {
	return c.openData(name, data, nil)
}

// openData reads a model of a file. What it refers to is beside it.
func (c Config) openData(name string, data []byte, beside fs.FS) (*Model, error) {
	m := &Model{life: &lifetime{}}
	c.path = name
	var err error
	if hwx.IsContainer(data) {
		open := func(string) (*hwx.File, error) { return containerOf(name, data) }
		err = openWith(context.Background(), m, name, open, c.containerFunctions)
	} else if graphfile.Is(data) {
		open := func(string) (*graphfile.File, error) { return graphfile.OpenBytes(name, data, beside) }
		err = openWith(context.Background(), m, name, open, c.graphFunctions)
	} else if files := archivedBundle(name, data); files != nil {
		open := func(string) (*bundle.Bundle, error) { return bundle.OpenFS(files, name) }
		err = openWith(context.Background(), m, name, open, c.bundleFunctions)
	} else {
		open := func(string) (*coreml.Model, error) { return coreml.OpenBytes(name, data, beside) }
		err = openWith(context.Background(), m, name, open, c.modelFunctions)
	}
	return m.opened(name, err)
}

func containerOf(name string, data []byte) (*hwx.File, error) {
	f, err := hwx.NewFile(osfile.Held(data).Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// archivedBundle returns the files of a zip archive that holds a bundle; nil if it does not.
func archivedBundle(name string, data []byte) fs.FS {
	if !coreml.IsArchive(data) {
		return nil
	}
	files, err := coreml.ArchiveFS(name, data)
	if err != nil || !bundle.IsBundleFS(files) {
		return nil
	}
	return files
}

// isArchivedBundle reports whether the file at a path is a zip archive that holds a bundle.
func isArchivedBundle(path string) bool {
	file, err := osfile.Map(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return archivedBundle(path, file.Bytes()) != nil
}

// openArchivedBundle opens one. Its files are unpacked into memory.
func openArchivedBundle(path string) (*bundle.Bundle, error) {
	file, err := osfile.Map(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	files, err := coreml.ArchiveFS(path, file.Bytes())
	if err != nil {
		return nil, err
	}
	return bundle.OpenFS(files, path)
}

// opened gives the functions of a model that was opened its name.
func (m *Model) opened(name string, err error) (*Model, error) {
	if err != nil {
		return nil, err
	}
	for _, f := range m.functions {
		f.path = name
	}
	return m, nil
}
