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

// weightFiles returns for each function the weight file that its tasks read in place; nil if there is none.
func (job *Job) weightFiles() ([]*WeightFile, error) {
	list := make([]*WeightFile, len(job.Functions))
	known := map[*mil.Program]*WeightFile{}
	for i, e := range job.Functions {
		if e.Graph != nil {
			list[i] = largest(e.Weights)
			continue
		}
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
func weightFile(p *mil.Program) (*WeightFile, error) {
	if p == nil {
		return nil, nil
	}
	var files []WeightFile
	err := eachWeightFile(p, func(w *WeightFile) error {
		files = append(files, *w)
		return nil
	})
	return largest(files), err
}

// largest is the largest file, the first of equal ones; nil if there is none.
func largest(files []WeightFile) *WeightFile {
	var found *WeightFile
	for i := range files {
		if found == nil || len(files[i].Data) > len(found.Data) {
			found = &files[i]
		}
	}
	return found
}

// addHostWeights adds the weight files that the host program reads, under the names by which it calls them.
func addHostWeights(host *mil.Program, m *bundle.Manifest, files map[string][]byte) error {
	return eachWeightFile(host, func(w *WeightFile) error {
		if slices.ContainsFunc(m.Weights, func(o bundle.Weight) bool { return o.Name == w.Path }) {
			return fmt.Errorf("weight file %s: the host reads two files that go by this name; name them differently", w.Path)
		}
		m.Weights = append(m.Weights, bundle.Weight{Name: w.Path, File: w.add(files), Size: int64(len(w.Data))})
		return nil
	})
}

// add puts the file among those of the bundle, by their paths, and returns its path. Programs of a pipeline may have
// different files of one name: those that come later get a folder of their own.
func (w *WeightFile) add(files map[string][]byte) string {
	name := strings.TrimPrefix(path.Clean(strings.TrimPrefix(w.Path, "@model_path/")), "weights/")
	for i := 0; ; i++ {
		to := "weights/" + name
		if i > 0 {
			to = fmt.Sprintf("weights/%d/%s", i, name)
		}
		there, ok := files[to]
		if !ok || sameMemory(there, w.Data) {
			files[to] = w.Data
			return to
		}
	}
}

func sameMemory(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// eachWeightFile calls f once for each file that the constants of a program are in, in the order of the program. Functions
// of several programs may have several files of one name.
func eachWeightFile(p *mil.Program, f func(*WeightFile) error) error {
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
		failed = f(&WeightFile{Path: path, Data: data})
	}
	for _, function := range p.Functions {
		function.Body.Walk(func(op *mil.Operation) { op.VisitConstants(visit) })
	}
	return failed
}
