package coreml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/espalier-ane/espalier/mil"
)

// WeightFile is what CheckWeights finds out about a weight file.
type WeightFile struct {
	Path    string // as the program spells it: "@model_path/weights/weight.bin"
	File    string // where it is
	Size    int64  // of the file, in bytes
	Records int    // how many the file says it has
	Used    int    // how many the program refers to
	Bytes   int64  // of the data of those, in bytes
	Err     error  // what is wrong with the file; fs.ErrNotExist if it is missing
}

// CheckWeights looks at the weight files that the program and those of the stages refer to. Each record of a
// file must lie in it, and each that a program refers to must be what the program says it is. Only the
// headers of the records are read, not their data, and not through the mapping: checking a large file costs
// neither time nor memory. What is wrong with a file is in its Err; the error is that of Program.
func (m *Model) CheckWeights() ([]WeightFile, error) {
	var all []WeightFile
	if m.Type == MLProgram {
		p, err := m.Program()
		if err != nil {
			return nil, err
		}
		refs := map[string][]weightRef{}
		walkConstants(p, func(op *mil.Operation, c *mil.Constant) {
			if c.File != nil {
				refs[c.File.Path] = append(refs[c.File.Path], weightRef{op, c})
			}
		})
		for _, path := range slices.Sorted(maps.Keys(refs)) {
			w := WeightFile{Path: path}
			w.Err = m.file.weights.check(&w, refs[path])
			all = append(all, w)
		}
	}
	for _, stage := range m.Stages {
		files, err := stage.Model.CheckWeights()
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// LoadWeights maps the weight files that the program and those of the stages refer to, or copies them (OpenCopy), so that all
// are of the time when the model was opened. A file that is not there is a MissingWeightsError.
func (m *Model) LoadWeights(ctx context.Context) error {
	if m.Type == MLProgram {
		p, err := m.Program()
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		walkConstants(p, func(_ *mil.Operation, c *mil.Constant) {
			if c.File != nil && !seen[c.File.Path] && ctx.Err() == nil && err == nil {
				seen[c.File.Path] = true
				_, err = m.file.weights.Bytes(c.File.Path)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, stage := range m.Stages {
		if err := stage.Model.LoadWeights(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// weightRef is a constant in a weight file and the operation that has it, nil for an attribute of something else.
type weightRef struct {
	op *mil.Operation
	c  *mil.Constant
}

// check fills w, whose Path is set.
func (s *weightStore) check(w *WeightFile, refs []weightRef) error {
	name, err := s.resolve(w.Path)
	if err != nil {
		return err
	}
	w.File = s.src.display(name)
	file, size, err := s.src.peek(name)
	if err != nil {
		return err
	}
	defer file.Close()
	w.Size = size
	return inFile(w.File, w.checkRecords(&recordReader{file: file, size: size}, refs))
}

func (w *WeightFile) checkRecords(r *recordReader, refs []weightRef) error {
	head := make([]byte, min(r.size, blobHeaderSize))
	if _, err := r.file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := checkPointer(w.File, head); err != nil {
		return err
	}
	count, err := parseBlobHeader(head)
	if err != nil {
		return err
	}
	w.Records = int(count)

	if err := r.walk(count, func(blobRecord) {}); err != nil {
		return err
	}

	// The records that the program refers to.
	slices.SortStableFunc(refs, func(a, b weightRef) int {
		switch {
		case a.c.File.Offset < b.c.File.Offset:
			return -1
		case a.c.File.Offset > b.c.File.Offset:
			return 1
		}
		return 0
	})
	for i, ref := range refs {
		offset := ref.c.File.Offset
		record, err := r.record(offset)
		if err == nil {
			t, ok := ref.c.Type.(*mil.TensorType)
			if !ok {
				err = damage(int64(offset), "a value of type %v cannot live in a file", ref.c.Type)
			} else {
				err = record.checkType(t)
			}
		}
		if err != nil {
			if ref.op != nil {
				err = under(describe(ref.op), err)
			}
			return err
		}
		if i == 0 || refs[i-1].c.File.Offset != offset {
			w.Used++
			w.Bytes += int64(record.size)
		}
	}
	return nil
}

// recordReader reads the headers of records. Neighbouring headers are read at once.
type recordReader struct {
	file   io.ReaderAt
	size   int64
	window [4096]byte
	at     int64 // where the window is in the file
	n      int   // how much of it is filled
}

func (r *recordReader) record(at uint64) (blobRecord, error) {
	if err := checkRecordPlace(at, r.size); err != nil {
		return blobRecord{}, err
	}
	if pos := int64(at); pos < r.at || pos+blobHeaderSize > r.at+int64(r.n) {
		n, err := r.file.ReadAt(r.window[:min(int64(len(r.window)), r.size-pos)], pos)
		if n < blobHeaderSize {
			return blobRecord{}, &FormatError{Offset: pos, Msg: "the record cannot be read", Err: err}
		}
		r.at, r.n = pos, n
	}
	return parseBlobRecord(r.window[int64(at)-r.at:], at, r.size)
}

// walk calls f for the records that the file has, one after the other.
func (r *recordReader) walk(count uint32, f func(blobRecord)) error {
	at := uint64(blobHeaderSize)
	for i := range count {
		record, err := r.record(at)
		if err != nil {
			return under(fmt.Sprintf("record %d of %d", i, count), err)
		}
		end := record.data + record.size
		if end <= at { // a table that goes back would never end
			return under(fmt.Sprintf("record %d of %d", i, count), damage(int64(at)+16, "the data ends at 0x%x, before its record", end))
		}
		f(record)
		at = (end + blobAlignment - 1) / blobAlignment * blobAlignment
	}
	return nil
}

// walkConstants calls f for every constant of a program, with the operation that has it.
func walkConstants(p *mil.Program, f func(*mil.Operation, *mil.Constant)) {
	var visit func(op *mil.Operation, c *mil.Constant)
	visit = func(op *mil.Operation, c *mil.Constant) {
		if c == nil {
			return
		}
		f(op, c)
		for _, item := range c.Items {
			visit(op, item)
		}
		for _, entry := range c.Entries {
			visit(op, entry.Key)
			visit(op, entry.Value)
		}
	}
	attributes := func(op *mil.Operation, list mil.Attributes) {
		for _, a := range list {
			visit(op, a.Value)
		}
	}
	var block func(b *mil.Block)
	block = func(b *mil.Block) {
		attributes(nil, b.Attributes)
		for _, op := range b.Operations {
			attributes(op, op.Attributes)
			for _, in := range op.Inputs {
				for _, arg := range in.Args {
					visit(op, arg.Const)
				}
			}
			for _, nested := range op.Blocks {
				block(nested)
			}
		}
	}
	attributes(nil, p.Attributes)
	for _, fn := range p.Functions {
		attributes(nil, fn.Attributes)
		block(fn.Body)
	}
}
