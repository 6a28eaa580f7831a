// Package graphfile reads files that hold graphs of native layers: what they are, their content says. Weights lie beside them
// and are mapped.
//
//	f, err := graphfile.Open("net.anec")
//	…
//	defer f.Close()
//	for _, p := range f.Procedures { … p.Graph … }
//
// The forms themselves are those of other packages: the text of internal/anec. What becomes of a graph, the compiler knows.
package graphfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// A File is one with graphs. Its constants may be memory of the weight files: they are valid until Close.
type File struct {
	Path       string // as it was given
	Format     string // in words
	Size       int64
	Procedures []Procedure
	Warnings   []*diag.Finding // of the reader
	*Weights
}

// A Procedure is a graph that can be called.
type Procedure struct {
	Name  string
	Graph *anec.Graph
	Lines map[string]int // of layers, by name, in a text; nil where there are none
}

// A format is a form of graphs.
type format struct {
	name string
	is   func(data []byte) bool
	read func(f *File, data []byte) error
}

var formats = []format{
	{"graph text", anec.IsText, readText},
}

// Is reports whether a file is of a form that this package reads.
func Is(data []byte) bool { return formatOf(data) != nil }

func formatOf(data []byte) *format {
	for i := range formats {
		if formats[i].is(data) {
			return &formats[i]
		}
	}
	return nil
}

// IsFile reports whether there is such a file at a path.
func IsFile(path string) bool {
	m, err := osfile.Map(path)
	if err != nil {
		return false
	}
	defer m.Close()
	return isMapped(m)
}

func isMapped(m *osfile.Mapping) (is bool) {
	var err error
	defer osfile.Protect().Catch(&err) // it is gone: then it is none
	return Is(m.Bytes())
}

// Open reads a file and maps its weights.
func Open(path string) (*File, error) { return openPath(path, osfile.Map) }

// OpenCopy is Open that reads weights into memory.
func OpenCopy(path string) (*File, error) { return openPath(path, osfile.Copy) }

func openPath(path string, load func(string) (*osfile.Mapping, error)) (*File, error) {
	m, err := load(path)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return open(path, m.Bytes(), newWeights(folder{path, load}))
}

// OpenBytes reads a file that is in memory. Its weights are beside it; nil if there is nothing.
func OpenBytes(name string, data []byte, beside fs.FS) (*File, error) {
	return open(name, data, newWeights(tree{beside}))
}

func open(path string, data []byte, weights *Weights) (f *File, err error) {
	form := formatOf(data)
	if form == nil {
		return nil, fmt.Errorf("%s: this is no graph of native layers", path)
	}
	f = &File{Path: path, Format: form.name, Size: int64(len(data)), Weights: weights}
	defer func() {
		if err != nil {
			f, err = nil, errors.Join(fmt.Errorf("%s: %w", path, err), weights.Close())
		}
	}()
	defer osfile.Protect().Catch(&err)
	if err := form.read(f, data); err != nil {
		return nil, err
	}
	return f, f.checkNames()
}

// checkNames gives a graph without a name the one that the compiler gives it, and refuses a name that two have.
func (f *File) checkNames() error {
	names := map[string]bool{}
	for i := range f.Procedures {
		p := &f.Procedures[i]
		p.Name = cmp.Or(p.Name, "main")
		p.Graph.Name = p.Name
		if names[p.Name] {
			return fmt.Errorf("two graphs are called %q: a graph is called by its name", p.Name)
		}
		names[p.Name] = true
	}
	return nil
}

func readText(f *File, data []byte) error {
	graphs, err := anec.ParseAll(string(data), f.Bytes)
	for _, g := range graphs {
		f.Procedures = append(f.Procedures, Procedure{g.Name, g.Graph, g.Lines})
	}
	return err
}
