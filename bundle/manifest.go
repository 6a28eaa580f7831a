package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// The manifest's first two fields. A reader refuses another version, for it
// cannot know what it would overlook.
const (
	formatName    = "espalier bundle"
	formatVersion = 1
)

// manifestName is the one file that is not in the list of files.
const manifestName = "manifest.json"

// maxManifest bounds the manifest that is read. One of ten thousand weights has
// a quarter of that.
const maxManifest = 8 << 20

// A Manifest says what a bundle has.
type Manifest struct {
	Format    string     `json:"format"`
	Version   int        `json:"version"`
	Generator string     `json:"generator,omitempty"` // who wrote it
	Target    string     `json:"target"`              // for which it was compiled
	Numerics  string     `json:"numerics"`            // the profile
	Functions []Function `json:"functions"`
	Pipeline  *Pipeline  `json:"pipeline,omitempty"` // nil if each function is called by itself
	Weights   []Weight   `json:"weights,omitempty"`
	Files     []File     `json:"files"` // by path, without the manifest
}

// A Function is what can be called.
type Function struct {
	Name     string    `json:"name"`
	Inputs   []Feature `json:"inputs,omitempty"`
	Outputs  []Feature `json:"outputs,omitempty"`
	States   []Feature `json:"states,omitempty"`
	Segments []Segment `json:"segments,omitempty"` // in the order of the descriptor

	Classifier *Classifier `json:"classifier,omitempty"` // nil if it is none

	Mutable []MutableWeight `json:"mutable,omitempty"` // constants that may change after it was compiled

	// Source is the function of host.mil that this one was compiled from, of a
	// function that takes other shapes too: who has the compiler can compile it
	// for them. "" if there is none.
	Source string `json:"source,omitempty"`
}

// A Pipeline is the functions of a bundle as one that can be called: they run one
// after the other. Each takes its inputs by name, from the inputs of the pipeline
// and from the outputs of those before it, of which the last of a name counts. An
// output of the pipeline is found in the same way.
//
//	x ─ stage0 ─ h ─ stage1 ─ y
type Pipeline struct {
	Name       string      `json:"name"`
	Inputs     []Feature   `json:"inputs,omitempty"`
	Outputs    []Feature   `json:"outputs,omitempty"`
	Classifier *Classifier `json:"classifier,omitempty"`
	Stages     []string    `json:"stages"` // the functions, in order
}

// Function describes the pipeline as a function, which has no segments.
func (p *Pipeline) Function() *Function {
	return &Function{Name: p.Name, Inputs: p.Inputs, Outputs: p.Outputs, Classifier: p.Classifier}
}

// A Classifier says which outputs of a function are about classes, and what the
// classes are called: by texts or by numbers, in the order of the probabilities.
type Classifier struct {
	Label         string   `json:"label,omitempty"`         // the output that has the best class
	Probabilities string   `json:"probabilities,omitempty"` // the output that has those of all classes
	Texts         []string `json:"texts,omitempty"`
	Numbers       []int64  `json:"numbers,omitempty"`
}

// A Segment is a run of operations on one backend: one dispatch.
type Segment struct {
	Operation string `json:"operation"` // of the descriptor: "Op1_AneInference"
	Backend   string `json:"backend"`   // Engine or Host

	// Of an engine segment.
	Container string `json:"container,omitempty"` // path
	Procedure string `json:"procedure,omitempty"`
	Weights   string `json:"weights,omitempty"` // path of the file that is the container's kernel section; "" if the container has its own

	// Of a host segment: the function of host.mil.
	Function string `json:"function,omitempty"`
}

// The backends.
const (
	Engine = "engine"
	Host   = "host"
)

// A Feature is an input, output or state, as the model describes it.
type Feature struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Kind        string `json:"kind"` // a row of featureKinds
	Optional    bool   `json:"optional,omitempty"`
	Array       *Array `json:"array,omitempty"`  // of "array" and "state"
	Image       *Image `json:"image,omitempty"`  // of "image"
	Elem        string `json:"elem,omitempty"`   // key of "dictionary", element of "sequence": "int64" or "string"
	Length      *Range `json:"length,omitempty"` // of "sequence"
}

// featureKinds are the kinds of feature that Core ML has, with what they need.
var featureKinds = map[string]struct{ array, image, elem bool }{
	"int64":      {},
	"double":     {},
	"string":     {},
	"array":      {array: true},
	"state":      {array: true},
	"image":      {image: true},
	"dictionary": {elem: true},
	"sequence":   {elem: true},
}

// Array describes an array.
type Array struct {
	Type    string  `json:"type,omitempty"`    // element type in MIL's spelling
	Shape   []int   `json:"shape,omitempty"`   // the default one
	Shapes  [][]int `json:"shapes,omitempty"`  // these are possible too
	Ranges  []Range `json:"ranges,omitempty"`  // any shape in the ranges is
	Default *Float  `json:"default,omitempty"` // every element of an input that is left out
}

// Image describes a picture.
type Image struct {
	Width       int      `json:"width"`
	Height      int      `json:"height"`
	ColorSpace  string   `json:"colorSpace"`
	Sizes       [][2]int `json:"sizes,omitempty"` // width and height: these are possible too
	WidthRange  *Range   `json:"widthRange,omitempty"`
	HeightRange *Range   `json:"heightRange,omitempty"`
}

// Range is a range of lengths, both ends included.
type Range struct {
	Lower int `json:"lower"`
	Upper int `json:"upper"` // -1 is without end
}

// A Weight is a part of a file of weights.
type Weight struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Offset  int64  `json:"offset"`
	Size    int64  `json:"size"`
	Type    string `json:"type,omitempty"`  // element type in MIL's spelling; absent for raw bytes
	Shape   []int  `json:"shape,omitempty"` // of Type
	Mutable bool   `json:"mutable,omitempty"`
}

// A File is one of the bundle's files.
type File struct {
	Path   string `json:"path"` // with slashes, from the bundle's folder
	Role   string `json:"role"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in lower-case hexadecimal digits; "" in memory
}

// The roles of files.
const (
	RoleProgram   = "program"   // the descriptor
	RoleContainer = "container" // of an engine segment
	RoleHost      = "host"      // the host program
	RoleWeights   = "weights"
)

// The paths of the files that every bundle has but once.
const (
	ProgramPath = "program.e5"
	HostPath    = "host.mil"
)

// Float is a number that may be infinite or none, which JSON cannot write: it is
// then "Infinity", "-Infinity" or "NaN".
type Float float64

// specials are the numbers that JSON cannot write.
var specials = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}

// MarshalJSON writes a number or a text.
func (f Float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(v)
	}
}

// UnmarshalJSON reads a number or a text.
func (f *Float) UnmarshalJSON(data []byte) error {
	var name string
	if json.Unmarshal(data, &name) == nil {
		v, ok := specials[name]
		if !ok {
			return fmt.Errorf("%q is not a number", name)
		}
		*f = Float(v)
		return nil
	}
	return json.Unmarshal(data, (*float64)(f))
}

// Encode writes the manifest. The same manifest always gives the same bytes.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.check(true); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	if b.Len() > maxManifest {
		return nil, wrong("", "it would have %d bytes, and at most %d are read", b.Len(), maxManifest)
	}
	return b.Bytes(), nil
}

// ParseManifest reads a manifest and checks that it is consistent.
func ParseManifest(data []byte) (*Manifest, error) {
	if len(data) > maxManifest {
		return nil, wrong("", "it has %d bytes, and at most %d are read", len(data), maxManifest)
	}
	// The version first: what another one has is none of this one's business.
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, &FormatError{File: manifestName, Offset: jsonOffset(err), Msg: err.Error(), Err: ErrNotBundle}
	}
	if head.Format != formatName {
		return nil, &FormatError{File: manifestName, Offset: -1, Field: "format", Msg: fmt.Sprintf("%q", head.Format), Err: ErrNotBundle}
	}
	if head.Version != formatVersion {
		return nil, &FormatError{File: manifestName, Offset: -1, Field: "version",
			Msg: fmt.Sprintf("%d instead of %d", head.Version, formatVersion), Err: ErrVersion}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	m := &Manifest{}
	if err := d.Decode(m); err != nil {
		return nil, &FormatError{File: manifestName, Offset: jsonOffset(err), Msg: err.Error()}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &FormatError{File: manifestName, Offset: d.InputOffset(), Msg: "something follows the manifest"}
	}
	if err := m.check(true); err != nil {
		return nil, err
	}
	return m, nil
}

// jsonOffset returns where an error of the JSON reader is, -1 if it does not say.
func jsonOffset(err error) int64 {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return e.Offset
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return e.Offset
	}
	return -1
}
