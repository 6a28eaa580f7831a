package compiler

import (
	"fmt"
	"path"
	"strings"
	"unsafe"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/mil"
)

// weights is the weight file that tasks read in place.
type weights struct {
	path string // as the program spells it
	data []byte
}

// weightFile returns the largest weight file of a program; nil if there is none. Constants of others are copied.
func weightFile(p *mil.Program) (*weights, error) {
	if p == nil {
		return nil, nil
	}
	var largest *weights
	err := eachWeightFile(p, func(w *weights) error {
		if largest == nil || len(w.data) > len(largest.data) {
			largest = w
		}
		return nil
	})
	return largest, err
}

// addHostWeights adds the weight files that the host program reads, under the names by which it calls them.
func addHostWeights(host *mil.Program, m *bundle.Manifest, files map[string][]byte) error {
	return eachWeightFile(host, func(w *weights) error {
		to, err := w.add(files)
		m.Weights = append(m.Weights, bundle.Weight{Name: w.path, File: to, Size: int64(len(w.data))})
		return err
	})
}

// add puts the file among those of the bundle, by their paths, and returns its path.
func (w *weights) add(files map[string][]byte) (string, error) {
	to := path.Clean(strings.TrimPrefix(w.path, "@model_path/"))
	if !strings.HasPrefix(to, "weights/") {
		to = "weights/" + to
	}
	if there, ok := files[to]; ok && (len(there) != len(w.data) || unsafe.SliceData(there) != unsafe.SliceData(w.data)) {
		return "", fmt.Errorf("weight file %s: the bundle has another one at %s already", w.path, to)
	}
	files[to] = w.data
	return to, nil
}

// eachWeightFile calls f once for each file that the constants of a program are in, in the order of the program.
func eachWeightFile(p *mil.Program, f func(*weights) error) error {
	var failed error
	seen := map[string]bool{}
	visit := func(c *mil.Constant) {
		if c == nil || c.File == nil || c.File.Files == nil || seen[c.File.Path] || failed != nil {
			return
		}
		seen[c.File.Path] = true
		data, err := c.File.Files.Bytes(c.File.Path)
		if failed = err; err == nil {
			failed = f(&weights{c.File.Path, data})
		}
	}
	for _, function := range p.Functions {
		function.Body.Walk(func(op *mil.Operation) { op.VisitConstants(visit) })
	}
	return failed
}
