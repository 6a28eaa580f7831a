package model

// A Report describes a model. It and the types in it are the schema of inspect --json: docs/json.md explains the fields.
type Report struct {
	Model string `json:"model"` // the path
	Description
	Weights     Weights          `json:"weights"`
	Compression []OperationCount `json:"compression,omitempty"`
	Warnings    []string         `json:"warnings,omitempty"`
}

// A Description is what a model, or a stage of a pipeline, is and takes.
type Description struct {
	Format               string     `json:"format,omitempty"`
	SpecificationVersion int        `json:"specification_version,omitempty"`
	ProgramVersion       string     `json:"program_version,omitempty"`
	Type                 string     `json:"type"`
	Target               string     `json:"target,omitempty"`
	Updatable            bool       `json:"updatable,omitempty"`
	Metadata             Metadata   `json:"metadata"`
	Functions            []Function `json:"functions"`
	Layers               []Layer    `json:"layers,omitempty"`
	Stages               []Stage    `json:"stages,omitempty"`
}

// Metadata is what the author says of a model.
type Metadata struct {
	Description string            `json:"description,omitempty"`
	Version     string            `json:"version,omitempty"`
	Author      string            `json:"author,omitempty"`
	License     string            `json:"license,omitempty"`
	UserDefined map[string]string `json:"user_defined,omitempty"`
}

// A Stage is a model of a pipeline.
type Stage struct {
	Name string `json:"name,omitempty"`
	Description
}

// A Function is a function of a model: what it takes and gives, and what it is made of.
type Function struct {
	Name    string `json:"name"`
	Default bool   `json:"default,omitempty"`
	Opset   string `json:"opset,omitempty"`

	UnknownOpset bool `json:"unknown_opset,omitempty"`

	Inputs  []Feature `json:"inputs"`
	Outputs []Feature `json:"outputs"`
	States  []Feature `json:"states,omitempty"`

	PredictedFeature       string `json:"predicted_feature,omitempty"`
	PredictedProbabilities string `json:"predicted_probabilities,omitempty"`

	Operations []OperationCount `json:"operations,omitempty"`
	Layers     []Layer          `json:"layers,omitempty"`
	Tasks      int              `json:"tasks,omitempty"`
	Segments   []Segment        `json:"segments,omitempty"`
}

// A Layer is a layer of a neural network, or a native layer of a graph.
type Layer struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
	Depth   int      `json:"depth,omitempty"`
}

// A Segment is a part of a function of a bundle.
type Segment struct {
	Operation string `json:"operation"`
	Backend   string `json:"backend"`
	Container string `json:"container,omitempty"`
	Tasks     int    `json:"tasks,omitempty"`
	Function  string `json:"function,omitempty"`
}

// An OperationCount says how many operations of a kind there are.
type OperationCount struct {
	Kind    string `json:"kind"`
	Count   int    `json:"count"`
	Unknown bool   `json:"unknown,omitempty"`
}

// Weights are those of the whole model.
type Weights struct {
	Files      []WeightFile `json:"files,omitempty"`
	Types      []WeightType `json:"types,omitempty"`
	Parameters int          `json:"parameters"`
}

// A WeightFile is a file of weights, and what the program uses of it.
type WeightFile struct {
	Path    string `json:"path"`
	Missing bool   `json:"missing,omitempty"`
	Size    int64  `json:"size"`
	Records int    `json:"records"`
	Used    int    `json:"used"`
	Bytes   int64  `json:"bytes"`
	Error   string `json:"error,omitempty"`
}

// A WeightType counts the arrays of an element type.
type WeightType struct {
	DType    string `json:"dtype"`
	Arrays   int    `json:"arrays"`
	Elements int    `json:"elements"`
	Bytes    int64  `json:"bytes"`
}
