package main

import (
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// The types of this file are the schema of inspect --json; docs/json.md explains them.

type inspectReport struct {
	Model string `json:"model"`
	modelReport
	Weights     weightsReport     `json:"weights"`
	Compression []operationReport `json:"compression,omitempty"`
}

type modelReport struct {
	Format               string           `json:"format,omitempty"`
	SpecificationVersion int              `json:"specification_version,omitempty"`
	ProgramVersion       string           `json:"program_version,omitempty"`
	Type                 string           `json:"type"`
	Target               string           `json:"target,omitempty"`
	Updatable            bool             `json:"updatable,omitempty"`
	Metadata             metadataReport   `json:"metadata"`
	Functions            []functionReport `json:"functions"`
	Stages               []stageReport    `json:"stages,omitempty"`
}

type metadataReport struct {
	Description string            `json:"description,omitempty"`
	Version     string            `json:"version,omitempty"`
	Author      string            `json:"author,omitempty"`
	License     string            `json:"license,omitempty"`
	UserDefined map[string]string `json:"user_defined,omitempty"`
}

type stageReport struct {
	Name string `json:"name,omitempty"`
	modelReport
}

type functionReport struct {
	Name    string `json:"name"`
	Default bool   `json:"default,omitempty"`
	Opset   string `json:"opset,omitempty"`

	UnknownOpset bool `json:"unknown_opset,omitempty"`

	Inputs  []featureReport `json:"inputs"`
	Outputs []featureReport `json:"outputs"`
	States  []featureReport `json:"states,omitempty"`

	PredictedFeature       string `json:"predicted_feature,omitempty"`
	PredictedProbabilities string `json:"predicted_probabilities,omitempty"`

	Operations []operationReport `json:"operations,omitempty"`
	Tasks      int               `json:"tasks,omitempty"`
	Segments   []segmentReport   `json:"segments,omitempty"`
}

type segmentReport struct {
	Operation string `json:"operation"`
	Backend   string `json:"backend"`
	Container string `json:"container,omitempty"`
	Tasks     int    `json:"tasks,omitempty"`
	Function  string `json:"function,omitempty"`
}

type operationReport struct {
	Kind    string `json:"kind"`
	Count   int    `json:"count"`
	Unknown bool   `json:"unknown,omitempty"`
}

type weightsReport struct {
	Files      []weightFileReport `json:"files,omitempty"`
	Types      []weightTypeReport `json:"types,omitempty"`
	Parameters int                `json:"parameters"`
}

type weightFileReport struct {
	Path    string `json:"path"`
	Missing bool   `json:"missing,omitempty"`
	Size    int64  `json:"size"`
	Records int    `json:"records"`
	Used    int    `json:"used"`
	Bytes   int64  `json:"bytes"`
	Error   string `json:"error,omitempty"`
}

type weightTypeReport struct {
	DType    string `json:"dtype"`
	Arrays   int    `json:"arrays"`
	Elements int    `json:"elements"`
	Bytes    int64  `json:"bytes"`
}

type featureReport struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type"`
	Kind        string `json:"kind"`
	Optional    bool   `json:"optional,omitempty"`

	DType   string        `json:"dtype,omitempty"`
	Shape   []int         `json:"shape,omitempty"`
	Shapes  [][]int       `json:"shapes,omitempty"`
	Ranges  []rangeReport `json:"ranges,omitempty"`
	Default *number       `json:"default,omitempty"`

	Width       int          `json:"width,omitempty"`
	Height      int          `json:"height,omitempty"`
	ColorSpace  string       `json:"color_space,omitempty"`
	Sizes       [][2]int     `json:"sizes,omitempty"`
	WidthRange  *rangeReport `json:"width_range,omitempty"`
	HeightRange *rangeReport `json:"height_range,omitempty"`
	Key         string       `json:"key,omitempty"`
	Element     string       `json:"element,omitempty"`
	Length      *rangeReport `json:"length,omitempty"`
}

// rangeReport has no upper end if there is none.
type rangeReport struct {
	Lower int  `json:"lower"`
	Upper *int `json:"upper,omitempty"`
}

func newRange(r coreml.Range) rangeReport {
	if r.Upper == coreml.Unbounded {
		return rangeReport{Lower: r.Lower}
	}
	return rangeReport{r.Lower, &r.Upper}
}

func describeFeatures(features []coreml.Feature) []featureReport {
	list := make([]featureReport, len(features))
	for i, f := range features {
		r := featureReport{Name: f.Name, Description: f.Description, Type: f.Type.String(), Optional: f.Optional}
		r.describeType(f.Type)
		list[i] = r
	}
	return list
}

func (r *featureReport) describeType(t coreml.FeatureType) {
	switch t := t.(type) {
	case *coreml.Int64Type:
		r.Kind = "int64"
	case *coreml.DoubleType:
		r.Kind = "double"
	case *coreml.StringType:
		r.Kind = "string"
	case *coreml.ImageType:
		r.Kind = "image"
		r.Width, r.Height, r.ColorSpace = t.Width, t.Height, t.ColorSpace.String()
		for _, s := range t.Sizes {
			r.Sizes = append(r.Sizes, [2]int{s.Width, s.Height})
		}
		if t.Range != nil {
			w, h := newRange(t.Range.Width), newRange(t.Range.Height)
			r.WidthRange, r.HeightRange = &w, &h
		}
	case *coreml.ArrayType:
		r.Kind = "array"
		r.describeArray(t)
	case *coreml.DictType:
		r.Kind, r.Key = "dictionary", t.Key.String()
	case *coreml.SequenceType:
		length := newRange(t.Length)
		r.Kind, r.Element, r.Length = "sequence", t.Elem.String(), &length
	case *coreml.StateType:
		r.Kind = "state"
		r.describeArray(t.Array)
	}
}

func (r *featureReport) describeArray(t *coreml.ArrayType) {
	if t.DType != tensor.Invalid {
		r.DType = t.DType.String()
	}
	r.Shape, r.Shapes = t.Shape, t.Shapes
	for _, axis := range t.Ranges {
		r.Ranges = append(r.Ranges, newRange(axis))
	}
	if t.Default != nil {
		d := number(*t.Default)
		r.Default = &d
	}
}
