package coreml

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// seeds adds the files that match a pattern below the models of testdata, no larger than limit.
func seeds(f *testing.F, pattern string, limit int64, add func(data []byte)) {
	for _, dir := range modelDirs(f) {
		paths, err := filepath.Glob(filepath.Join(dir, "model.mlpackage", filepath.FromSlash(pattern)))
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				f.Fatal(err)
			}
			if info.Size() > limit {
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			add(data)
		}
	}
}

// A specification gives a model or a FormatError.
func FuzzSpecification(f *testing.F) {
	seeds(f, "Data/*/model.mlmodel", 4<<10, func(data []byte) { f.Add(data) })
	for _, name := range []string{"features", "functions", "pipeline_classifier", "values"} {
		data, err := os.ReadFile("testdata/" + name + ".mlmodel")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeModel(&modelFile{name: "fuzz"}, message{data, 0}, 0)
		if err == nil {
			walk(m)
			_, err = m.Program()
		}
		var format *FormatError
		if err != nil && !errors.As(err, &format) && !errors.Is(err, ErrNotSupported) {
			t.Errorf("error %v is of type %T", err, err)
		}
	})
}

// A weight file gives arrays of the right size or a FormatError, and loading and checking agree.
func FuzzBlob(f *testing.F) {
	seeds(f, "Data/*/weights/*.bin", 4<<10, func(data []byte) { f.Add(data, uint64(64), uint8(tensor.Float16), uint32(4)) })
	for code, dtype := range blobDTypes {
		f.Add(blobFile(uint32(code), 0, halves), uint64(64), uint8(dtype), uint32(4))
	}
	f.Fuzz(func(t *testing.T, data []byte, offset uint64, dtype uint8, count uint32) {
		typ := mil.Tensor(tensor.DType(dtype), tensor.Dim(count))
		array, err := loadArray(data, offset, typ)
		var format *FormatError
		if err != nil && !errors.As(err, &format) {
			t.Errorf("error %v is of type %T", err, err)
		}
		if err == nil {
			if array.Len() != int(count) {
				t.Errorf("got %v, want %v", array, typ)
			}
			_ = array.Float64s()
		}
		if len(data) >= 4 {
			w := WeightFile{}
			ref := weightRef{c: &mil.Constant{Type: typ, File: &mil.FileRef{Offset: offset}}}
			reader := &recordReader{file: byteReader(data), size: int64(len(data))}
			checked := w.checkRecords(reader, []weightRef{ref})
			if err != nil && checked == nil || err == nil && checked != nil && w.Records == 0 {
				t.Errorf("loading says %v, checking says %v", err, checked)
			}
			if int64(w.Records) != int64(binary.LittleEndian.Uint32(data)) && w.Records != 0 {
				t.Errorf("got %d records", w.Records)
			}
		}
	})
}

// byteReader is a file in memory.
type byteReader []byte

func (r byteReader) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, r[min(off, int64(len(r))):])
	if n < len(p) {
		return n, os.ErrInvalid
	}
	return n, nil
}

// A manifest gives a path inside the package or a FormatError.
func FuzzManifest(f *testing.F) {
	seeds(f, "Manifest.json", 16<<10, func(data []byte) { f.Add(data) })
	f.Add([]byte(manifestText))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		var root string
		if err == nil {
			root, err = m.rootModel()
		}
		var format *FormatError
		if err != nil {
			if !errors.As(err, &format) {
				t.Errorf("error %v is of type %T", err, err)
			}
			return
		}
		if checkPath(root) != nil || !filepath.IsLocal(filepath.FromSlash(root)) {
			t.Errorf("the model is at %q", root)
		}
	})
}

// A description of a compiled model gives a model or a FormatError.
func FuzzCompiled(f *testing.F) {
	f.Add([]byte(compiledBytes(MLProgram, 7, "generic", sub(1, halvesFeature))))
	f.Add([]byte(metadataText))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parse := range []func(*Model, []byte) error{(*Model).parseCompiledData, (*Model).parseCompiledMetadata} {
			m := &Model{}
			err := parse(m, data)
			var format *FormatError
			switch {
			case err != nil && !errors.As(err, &format):
				t.Errorf("error %v is of type %T", err, err)
			case err == nil:
				walk(m)
			}
		}
	})
}
