package graphfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// Weights are the files beside a graph that it has constants in, those that were asked for.
type Weights struct {
	places files
	held   map[string]*osfile.Mapping // by the names that the graph has for them
	names  []string                   // in the order in which they were asked for
	taken  map[string]string          // the clean name that a place was found for, by the place
}

// files are where weight files are found. Names have slashes and stay in the folder, but for one ".." before a plain name.
type files interface {
	open(name string) (*osfile.Mapping, error)
}

func newWeights(places files) *Weights {
	return &Weights{places: places, held: map[string]*osfile.Mapping{}, taken: map[string]string{}}
}

// Names are those of the files, in the order of their first use.
func (w *Weights) Names() []string { return w.names }

// Bytes is a file, by the name that the graph has for it. It lies in the folder of the graph. One that does not by its name, as
// "/tmp/net.weights" and "../net.weights", is looked for by the last part of its name: in the folder and in the one above it, there
// first if the name says so. Two names that end alike are not given one file.
func (w *Weights) Bytes(name string) ([]byte, error) {
	if m := w.held[name]; m != nil {
		return m.Bytes(), nil
	}
	m, err := w.find(name)
	if err != nil {
		return nil, err
	}
	w.held[name] = m
	w.names = append(w.names, name)
	return m.Bytes(), nil
}

func (w *Weights) find(name string) (*osfile.Mapping, error) {
	clean := path.Clean(filepath.ToSlash(name))
	tries := []string{clean}
	if !filepath.IsLocal(clean) {
		base := path.Base(clean)
		if !filepath.IsLocal(base) || base == "." {
			return nil, fmt.Errorf("weights %q: this is no name of a file", name)
		}
		above := "../" + base
		if tries = []string{base, above}; clean == above {
			tries = []string{above, base}
		}
	}
	for _, try := range tries {
		m, err := w.places.open(try)
		if err == nil {
			return w.take(name, clean, try, m)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if len(tries) > 1 {
		return nil, fmt.Errorf("weights %q: %w: a file outside of the folder is looked for by its name alone, as %s and %s beside the graph", name, fs.ErrNotExist, tries[0], tries[1])
	}
	return nil, fmt.Errorf("weights %q: %w: it is looked for beside the graph", name, fs.ErrNotExist)
}

// take keeps a place for a name.
func (w *Weights) take(name, clean, place string, m *osfile.Mapping) (*osfile.Mapping, error) {
	if other, ok := w.taken[place]; ok && other != clean {
		return nil, errors.Join(fmt.Errorf("weights %q: the file %s beside the graph is that of %q already: "+
			"a file outside of the folder is looked for by its name alone", name, place, other), m.Close())
	}
	w.taken[place] = clean
	return m, nil
}

// Identity is what a file is known by without reading it.
func (w *Weights) Identity(name string) (id osfile.Identity, within string, ok bool) {
	if m := w.held[name]; m != nil {
		id, ok = m.Identity()
	}
	return id, "", ok
}

// Changed says of a file that was written to that it was.
func (w *Weights) Changed() error {
	for _, name := range w.names {
		if err := w.held[name].Changed(); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the files.
func (w *Weights) Close() error {
	var all []error
	for _, name := range slices.Backward(w.names) {
		all = append(all, w.held[name].Close())
	}
	return errors.Join(all...)
}

// A folder has the files beside one at a path.
type folder struct {
	of   string
	load func(path string) (*osfile.Mapping, error)
}

func (f folder) open(name string) (*osfile.Mapping, error) {
	return f.load(filepath.Join(filepath.Dir(f.of), filepath.FromSlash(name)))
}

// A tree has those of a file system; nil if there are none.
type tree struct{ fs.FS }

func (t tree) open(name string) (*osfile.Mapping, error) {
	if t.FS == nil || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	data, err := fs.ReadFile(t.FS, name)
	if err != nil {
		return nil, err
	}
	return osfile.Held(data), nil
}
