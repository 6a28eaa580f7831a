package coreml

import (
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
)

// Model is a model file, or a stage of a pipeline.
type Model struct {
	Format               Format
	SpecificationVersion int // 0 if the file does not say, as a MIL text
	Type                 Type
	Updatable            bool // trainable on the device
	Description          Description
	Stages               []Stage // of a pipeline
	Size                 int64   // of the specification or the program's text, in bytes, without weights

	file    *modelFile
	isStage bool
	body    message                                      // the member of the alternative Type
	decode  func() (*mil.Program, []UnknownField, error) // decodes the program; nil if there is none

	mu      sync.Mutex // guards what follows
	decoded bool
	program *mil.Program
	err     error // of decoding the program
	unknown []UnknownField
}

// Stage is a model of a pipeline. Its outputs are inputs of later stages, by name.
type Stage struct {
	Name  string // may be empty
	Model *Model
}

// Close releases the files. The arrays of the program and of its weights must not be used any more. Closing
// a stage does nothing; it is released with the model it belongs to.
func (m *Model) Close() error {
	if m.isStage {
		return nil
	}
	m.file.closed.Store(true)
	return m.file.src.close()
}

// Changed says of a file of the model that was written to since it was mapped that it was. The error wraps that of package
// osfile.
func (m *Model) Changed() error { return m.file.src.changed() }

// Program decodes the model's program; further calls return the same one. The error of a model that is not a
// program wraps ErrNotSupported.
func (m *Model) Program() (p *mil.Program, err error) {
	if m.decode == nil {
		err := fmt.Errorf("a model of type %v has no program: %w", m.Type, ErrNotSupported)
		if remedy := m.Type.Remedy(); remedy != "" {
			err = fmt.Errorf("%w; %s", err, remedy)
		}
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	defer osfile.Protect().Catch(&err)
	if !m.decoded {
		if m.file.closed.Load() {
			return nil, &fs.PathError{Op: "read", Path: m.file.name, Err: fs.ErrClosed}
		}
		var unknown []UnknownField
		m.program, unknown, m.err = m.decode()
		m.unknown = append(m.unknown, unknown...)
		m.decoded = true
	}
	return m.program, m.err
}

// Unknown returns the fields of the specification that were not interpreted: those of the model and, once
// Program has decoded it, those of the program.
func (m *Model) Unknown() []UnknownField {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.unknown)
}

// maxPipelineDepth bounds how deep pipelines may be nested; real ones are not.
const maxPipelineDepth = 16

// decodeModel decodes a Model (Model.proto), except what the alternative Type holds.
func decodeModel(file *modelFile, raw message, depth int) (*Model, error) {
	m := &Model{Format: file.format, Size: int64(len(raw.data)), file: file, isStage: depth > 0}
	var k keeper
	var description message
	typeAt := int64(0)
	f := raw.fields()
	for f.next() {
		switch {
		case f.num == 1:
			m.SpecificationVersion = int(f.int64("specificationVersion"))
		case f.num == 2:
			f.one("description", &description)
		case f.num == 10:
			m.Updatable = f.bool("isUpdatable")
		case f.num >= 200 && f.typ == protowire.BytesType: // a model type, perhaps of the future
			if m.Type != 0 {
				f.fail(Type(f.num).String(), "the model has a second type, after %v at byte 0x%x", m.Type, typeAt)
				break
			}
			m.Type, m.body, typeAt = Type(f.num), f.message(Type(f.num).String()), f.start
		default:
			k.keep("Model", f)
		}
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case m.Type == 0:
		return nil, damage(raw.at, "no model type is given: the file is not a Core ML model, or is cut off")
	case !description.present():
		return nil, under("description", damage(raw.at, "the model has no description"))
	}
	var err error
	if m.Description, err = k.description(description); err != nil {
		return nil, under("description", err)
	}
	switch {
	case m.Type == MLProgram:
		m.decode = m.decodeProgram
	case m.Type.IsPipeline():
		if err := m.decodeStages(&k, depth); err != nil {
			return nil, under(m.Type.String(), err)
		}
	}
	m.unknown = k.unknown
	return m, nil
}

// decodeStages decodes the models of a pipeline.
func (m *Model) decodeStages(k *keeper, depth int) error {
	if depth >= maxPipelineDepth {
		return damage(m.body.at, "pipelines are nested more than %d deep", maxPipelineDepth)
	}
	pipeline := m.body
	if m.Type != Pipeline { // a classifier or a regressor wraps one
		pipeline = message{}
		f := m.body.fields()
		for f.next() {
			if f.num != 1 {
				k.keep("PipelineClassifier", f)
				continue
			}
			f.one("pipeline", &pipeline)
		}
		if f.err != nil {
			return f.err
		}
	}
	var names []string
	f := pipeline.fields()
	for f.next() {
		switch f.num {
		case 1:
			raw := f.message("models")
			if f.err != nil {
				break
			}
			stage, err := decodeModel(m.file, raw, depth+1)
			f.wrapAt("models", len(m.Stages), err)
			m.Stages = append(m.Stages, Stage{Model: stage})
		case 2:
			names = append(names, f.text("names"))
		default:
			k.keep("Pipeline", f)
		}
	}
	switch {
	case f.err != nil:
		return f.err
	case len(names) > 0 && len(names) != len(m.Stages):
		return under("names", damage(pipeline.at, "%d names for %d models", len(names), len(m.Stages)))
	}
	for i := range names {
		m.Stages[i].Name = names[i]
	}
	return nil
}
