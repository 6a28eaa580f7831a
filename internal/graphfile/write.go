package graphfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/netplist"
)

// A Text is graphs on their way to a file. The bytes of large constants go into another one, each once:
//
//	net.anec      const %w : fp16[64,1,3,7,7] {data = file(net.weights+0, 18816)}
//	net.weights   [ %w, at multiples of 64 … ]
type Text struct {
	path   string
	text   strings.Builder
	pieces [][]byte
	placed map[[sha256.Size]byte]int64
	size   int64
}

// Extension is that of a text of graphs.
const Extension = ".anec"

const weightsExtension = ".weights"

// NewText begins a text that is to be written to a path.
func NewText(path string) *Text { return &Text{path: path, placed: map[[sha256.Size]byte]int64{}} }

func (t *Text) weightsPath() string {
	return strings.TrimSuffix(t.path, filepath.Ext(t.path)) + weightsExtension
}

// Place is what stands in the text for the bytes of a constant: see anec.PrintWith. They must not change before Write.
func (t *Text) Place(data []byte) string {
	sum := sha256.Sum256(data)
	at, ok := t.placed[sum]
	if !ok {
		at = t.size
		t.placed[sum] = at
		t.pieces = append(t.pieces, data)
		t.size = aligned(at + int64(len(data)))
	}
	return anec.InFile(filepath.Base(t.weightsPath()), at, data)
}

// alignment of a constant suits every element, and the engine.
const alignment = 64

func aligned(n int64) int64 { return (n + alignment - 1) / alignment * alignment }

// Add adds the text of a graph, under a name.
func (t *Text) Add(name, text string) {
	if t.text.Len() > 0 {
		t.text.WriteByte('\n')
	}
	_, rest, _ := strings.Cut(text, "\n")
	fmt.Fprintf(&t.text, "graph %q\n%s", name, rest)
}

// CheckText refuses a path at which there is something else than a text of graphs and its weights.
func CheckText(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err == nil && (!info.Mode().IsRegular() || !IsFile(path)):
		return fmt.Errorf("%s exists and is no graph of native layers: it is not replaced", path)
	case err == nil:
		return nil
	}
	weights := NewText(path).weightsPath()
	if _, err := os.Lstat(weights); err == nil {
		return fmt.Errorf("%s exists, and may be of another graph: it is not replaced", weights)
	}
	return nil
}

// Write writes the text, and before it the weights if there are any.
func (t *Text) Write() error {
	if err := CheckText(t.path); err != nil {
		return err
	}
	if len(t.pieces) > 0 {
		if err := osfile.WriteAtomic(t.weightsPath(), t.writeWeights); err != nil {
			return err
		}
	}
	return osfile.WriteAtomic(t.path, func(w io.Writer) error {
		_, err := io.WriteString(w, t.text.String())
		return err
	})
}

func (t *Text) writeWeights(w io.Writer) error {
	for _, data := range t.pieces {
		if _, err := w.Write(data); err != nil {
			return err
		}
		if _, err := w.Write(make([]byte, aligned(int64(len(data)))-int64(len(data)))); err != nil {
			return err
		}
	}
	return nil
}

// CheckFolder refuses a path at which there is something else than a folder of ours: one with a network description and weights, or
// with nothing.
func CheckFolder(path string) error {
	refuse := fmt.Errorf("%s exists and is no folder of a network description alone: it is not replaced", path)
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return refuse
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() != listName && filepath.Ext(e.Name()) != weightsExtension {
			return refuse
		}
	}
	if len(entries) > 0 && !IsFile(path) {
		return refuse
	}
	return nil
}

// WriteFolder writes a network description and its weights as a folder, whole or not at all.
func WriteFolder(path string, list *netplist.File, weights map[string][]byte) (err error) {
	path = filepath.Clean(path)
	if err := CheckFolder(path); err != nil {
		return err
	}
	temp, release, err := osfile.MakeTempDir(path)
	if err != nil {
		return err
	}
	defer release()
	defer func() {
		if err != nil {
			os.RemoveAll(temp)
		}
	}()
	for name, data := range weights {
		if err := os.WriteFile(filepath.Join(temp, name), data, 0o666); err != nil {
			return err
		}
	}
	err = osfile.WriteAtomic(filepath.Join(temp, listName), func(w io.Writer) error { return list.Write(w, netplist.XML) })
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return osfile.Replace(temp, path)
	}
	return os.Rename(temp, path)
}
