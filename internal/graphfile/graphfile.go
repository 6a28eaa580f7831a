// Package graphfile reads files that hold graphs of native layers: what they are, their content says. Weights lie beside them
// and are mapped.
//
//	f, err := graphfile.Open("net.anec")
//	…
//	defer f.Close()
//	for _, p := range f.Procedures { … p.Graph … }
//
// The forms themselves are those of other packages: the text of internal/anec, the property list of netplist. What becomes of a
// graph, the compiler knows.
package graphfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/netplist"
)

// A File is one with graphs. Its constants may be memory of the weight files: they are valid until Close.
type File struct {
	Path       string // as it was given
	Format     string // in words
	Size       int64
	Procedures []Procedure
	Warnings   []*diag.Finding // of the reader
	*Weights

	list *netplist.File // nil of a text
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
	{"netplist", netplist.Is, readList},
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

// listName is the file of a folder that is a model: a property list with its weights beside it.
const listName = "net.plist"

// inFolder is the path of the file: that in a folder, or the path itself.
func inFolder(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, listName)
	}
	return path
}

// IsFile reports whether there is such a file at a path, or a folder with one that is called net.plist.
func IsFile(path string) bool {
	m, err := osfile.Map(inFolder(path))
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
	path = inFolder(path)
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

// WriteDocument writes the file for people: the texts of graphs, without the bytes of large constants, or the list as XML.
func (f *File) WriteDocument(w io.Writer) error {
	if f.list != nil {
		return f.list.Write(w, netplist.XML)
	}
	for i, p := range f.Procedures {
		text := anec.Print(p.Graph)
		if i > 0 {
			text = "\n" + text
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

func readList(f *File, data []byte) (err error) {
	if f.list, err = netplist.Read(data); err != nil {
		return err
	}
	procedures, warnings, err := f.list.Procedures(f.Bytes)
	for _, p := range procedures {
		f.Procedures = append(f.Procedures, Procedure{Name: p.Name, Graph: p.Graph})
	}
	for _, w := range warnings {
		f.Warnings = append(f.Warnings, &w)
	}
	return err
}

func readText(f *File, data []byte) error {
	graphs, err := anec.ParseAll(string(data), f.Bytes)
	for _, g := range graphs {
		f.Procedures = append(f.Procedures, Procedure{g.Name, g.Graph, g.Lines})
	}
	return err
}
