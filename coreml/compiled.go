package coreml

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/espalier-ane/espalier/mil"
)

// A compiled model (.mlmodelc) is a folder:
//
//	coremldata.bin              the model's type and description, see parseCompiledData
//	metadata.json               the same for people; not everywhere
//	model.mil                   the program, if it is one
//	weights/…                   its weights
//	model0/, model1/ …          the stages of a pipeline, compiled models themselves
//	modelNames/coremldata.bin   their names
const (
	compiledProgram  = "model.mil"
	compiledData     = "coremldata.bin"
	compiledMetadata = "metadata.json"
	compiledNames    = "modelNames/coremldata.bin"
)

// openCompiled opens a compiled model.
func openCompiled(src source) (*Model, error) { return openCompiledIn(src, "", 0) }

// openCompiledIn opens the compiled model in a folder of the source.
func openCompiledIn(src source, dir string, depth int) (*Model, error) {
	file := &modelFile{format: Compiled, name: src.display(path.Join(dir, compiledProgram)), src: src, weights: newWeightStore(src, dir)}
	m := &Model{Format: Compiled, file: file, isStage: depth > 0}
	described, err := m.describeCompiled(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case m.Type == MLProgram, !described:
		text, err := src.open(path.Join(dir, compiledProgram))
		if err != nil {
			return nil, err
		}
		if !described {
			derived, err := openText(file, text)
			if err != nil {
				return nil, err
			}
			derived.isStage = m.isStage
			return derived, nil
		}
		m.Size = int64(len(text))
		m.decode = func() (*mil.Program, []UnknownField, error) {
			p, err := mil.ParseText(file.name, text, file.weights)
			return p, nil, err
		}
	case m.Type.IsPipeline():
		if err := m.openStages(dir, depth); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// describeCompiled fills the type and the description of a compiled model. It is false if no file has them.
func (m *Model) describeCompiled(dir string) (bool, error) {
	src := m.file.src
	name := path.Join(dir, compiledData)
	data, err := src.open(name)
	var broken error
	switch {
	case err == nil:
		if broken = m.parseCompiledData(data); broken == nil {
			return true, nil
		}
		broken = inFile(src.display(name), broken)
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	// Only samples tell what coremldata.bin looks like. Where it looks otherwise, metadata.json will do.
	name = path.Join(dir, compiledMetadata)
	data, err = src.open(name)
	switch {
	case err == nil:
		return true, inFile(src.display(name), m.parseCompiledMetadata(data))
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	return false, broken
}

// parseCompiledData reads the type and the description from a coremldata.bin. Its layout was read off
// compiled programs and pipelines, numbers are little endian:
//
//	type uint32, as in Model.proto; 24 bytes
//	length uint64 and text, such as "generic"
//	specification version uint64; 24 bytes
//	length uint64 and ModelDescription, a protobuf message
//	more that is not looked at
func (m *Model) parseCompiledData(data []byte) error {
	const targetAt = 28
	if len(data) < targetAt+8 {
		return damage(0, "%d bytes are too few for a compiled model's description", len(data))
	}
	m.Type = Type(binary.LittleEndian.Uint32(data))
	if _, known := typeNames[m.Type]; !known {
		return damage(0, "model type %d is not known", int(m.Type))
	}
	target := binary.LittleEndian.Uint64(data[targetAt:])
	rest := data[targetAt+8:]
	if target > uint64(len(rest)) || uint64(len(rest))-target < 40 {
		return damage(targetAt, "a text of 0x%x bytes does not fit the file", target)
	}
	rest = rest[target:]
	m.SpecificationVersion = int(binary.LittleEndian.Uint64(rest))
	size := binary.LittleEndian.Uint64(rest[32:])
	rest = rest[40:]
	at := int64(len(data) - len(rest))
	if size > uint64(len(rest)) {
		return damage(at-8, "a description of 0x%x bytes does not fit the file", size)
	}
	var k keeper
	var err error
	if m.Description, err = k.description(message{rest[:size:size], at}); err != nil {
		return under("description", err)
	}
	m.unknown = k.unknown
	return nil
}

// openStages opens the stages of a compiled pipeline.
func (m *Model) openStages(dir string, depth int) error {
	if depth >= maxPipelineDepth {
		return badFile(m.file.src.display(dir), "pipelines are nested more than %d deep", maxPipelineDepth)
	}
	src := m.file.src
	for i := 0; ; i++ {
		stageDir := path.Join(dir, "model"+strconv.Itoa(i))
		if _, err := src.stat(path.Join(stageDir, compiledData)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		stage, err := openCompiledIn(src, stageDir, depth+1)
		if err != nil {
			return err
		}
		m.Stages = append(m.Stages, Stage{Model: stage})
	}
	if len(m.Stages) == 0 {
		return badFile(src.display(dir), "the pipeline has no stages: there is no folder model0 with a %s", compiledData)
	}
	name := path.Join(dir, compiledNames)
	data, err := src.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = inFile(src.display(name), m.nameStages(data))
	}
	return err
}

// nameStages reads the names of the stages: their number, and each with its length before it, as uint64.
func (m *Model) nameStages(data []byte) error {
	rest := data
	number := func() (uint64, error) {
		if len(rest) < 8 {
			return 0, damage(int64(len(data)-len(rest)), "the names of the stages are cut off")
		}
		n := binary.LittleEndian.Uint64(rest)
		rest = rest[8:]
		return n, nil
	}
	count, err := number()
	if err != nil {
		return err
	}
	if count != uint64(len(m.Stages)) {
		return damage(0, "%d names for %d stages", count, len(m.Stages))
	}
	for i := range m.Stages {
		size, err := number()
		if err != nil {
			return err
		}
		if size > uint64(len(rest)) {
			return damage(int64(len(data)-len(rest)), "a name of 0x%x bytes does not fit the file", size)
		}
		m.Stages[i].Name = string(bytes.ToValidUTF8(rest[:size], []byte("\uFFFD")))
		rest = rest[size:]
	}
	return nil
}

// compiledInfo is what metadata.json says of a model, which coremltools' mlmodel/src/DataType.cpp writes.
type compiledInfo struct {
	SpecificationVersion int `json:"specificationVersion"`
	ModelType            struct {
		Name string `json:"name"` // "MLModelType_mlProgram"
	} `json:"modelType"`
	IsUpdatable      string              `json:"isUpdatable"`
	Inputs           []map[string]string `json:"inputSchema"`
	Outputs          []map[string]string `json:"outputSchema"`
	States           []map[string]string `json:"stateSchema"`
	ShortDescription string              `json:"shortDescription"`
	Version          string              `json:"version"`
	Author           string              `json:"author"`
	License          string              `json:"license"`
	UserDefined      map[string]string   `json:"userDefinedMetadata"`
}

// maxMetadata bounds the size of a metadata.json; real ones have some kilobytes.
const maxMetadata = 16 << 20

func (m *Model) parseCompiledMetadata(data []byte) error {
	if len(data) > maxMetadata {
		return damage(-1, "%d bytes are too many for the metadata", len(data))
	}
	var infos []compiledInfo
	if err := json.Unmarshal(data, &infos); err != nil {
		return jsonError("the metadata is not valid", err)
	}
	if len(infos) != 1 {
		return damage(-1, "the metadata describes %d models, expected one", len(infos))
	}
	info := infos[0]
	const prefix = "MLModelType_"
	name := info.ModelType.Name
	if len(name) < len(prefix) || name[:len(prefix)] != prefix {
		return under("modelType", damage(-1, "%q is not a model type", name))
	}
	t, ok := typeNamed(name[len(prefix):])
	if !ok {
		return under("modelType", damage(-1, "model type %q is not known", name))
	}
	m.Type, m.SpecificationVersion, m.Updatable = t, info.SpecificationVersion, info.IsUpdatable == "1"
	fn := FunctionDescription{Name: mainFunction}
	for _, list := range []struct {
		field    string
		schemas  []map[string]string
		features *[]Feature
	}{{"inputSchema", info.Inputs, &fn.Inputs}, {"outputSchema", info.Outputs, &fn.Outputs}, {"stateSchema", info.States, &fn.States}} {
		for i, schema := range list.schemas {
			feature, err := schemaFeature(schema)
			if err != nil {
				return under(fmt.Sprintf("%s[%d]", list.field, i), err)
			}
			*list.features = append(*list.features, feature)
		}
	}
	if err := fn.checkNames(-1); err != nil {
		return err
	}
	m.Description = Description{
		Functions:       []FunctionDescription{fn},
		DefaultFunction: mainFunction,
		Metadata: Metadata{
			ShortDescription: info.ShortDescription, Version: info.Version, Author: info.Author,
			License: info.License, UserDefined: info.UserDefined,
		},
	}
	return nil
}
