package compiler

import (
	"cmp"
	"fmt"
	"path"
	"slices"
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

// weightFiles returns for each function the weight file that its tasks read in place; nil if there is none.
func (job *Job) weightFiles() ([]*weights, error) {
	list := make([]*weights, len(job.Functions))
	known := map[*mil.Program]*weights{}
	for i, e := range job.Functions {
		p := cmp.Or(e.Program, job.Program)
		w, ok := known[p]
		if !ok {
			var err error
			if w, err = weightFile(p); err != nil {
				return nil, err
			}
			known[p] = w
		}
		list[i] = w
	}
	return list, nil
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
		if slices.ContainsFunc(m.Weights, func(o bundle.Weight) bool { return o.Name == w.path }) {
			return fmt.Errorf("weight file %s: the host reads two files that go by this name; name them differently", w.path)
		}
		m.Weights = append(m.Weights, bundle.Weight{Name: w.path, File: w.add(files), Size: int64(len(w.data))})
		return nil
	})
}

// add puts the file among those of the bundle, by their paths, and returns its path. Programs of a pipeline may have
// different files of one name: those that come later get a folder of their own.
func (w *weights) add(files map[string][]byte) string {
	name := strings.TrimPrefix(path.Clean(strings.TrimPrefix(w.path, "@model_path/")), "weights/")
	for i := 0; ; i++ {
		to := "weights/" + name
		if i > 0 {
			to = fmt.Sprintf("weights/%d/%s", i, name)
		}
		there, ok := files[to]
		if !ok || sameMemory(there, w.data) {
			files[to] = w.data
			return to
		}
	}
}

func sameMemory(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// eachWeightFile calls f once for each file that the constants of a program are in, in the order of the program. Functions
// of several programs may have several files of one name.
func eachWeightFile(p *mil.Program, f func(*weights) error) error {
	var failed error
	seen := map[string][][]byte{}
	visit := func(c *mil.Constant) {
		if c == nil || c.File == nil || c.File.Files == nil || failed != nil {
			return
		}
		path := c.File.Path
		data, err := c.File.Files.Bytes(path)
		if err != nil {
			failed = err
			return
		}
		if slices.ContainsFunc(seen[path], func(s []byte) bool { return sameMemory(s, data) }) {
			return
		}
		seen[path] = append(seen[path], data)
		failed = f(&weights{path, data})
	}
	for _, function := range p.Functions {
		function.Body.Walk(func(op *mil.Operation) { op.VisitConstants(visit) })
	}
	return failed
}
