package aneclient

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/mil"
)

// A ModelDescriptor is a model in memory: _ANEInMemoryModelDescriptor. It does not change.
type ModelDescriptor struct {
	text       []byte
	weights    map[string][]byte
	plist      []byte
	options    Options
	program    *mil.Program
	identifier string
}

// NewDescriptor makes a descriptor of the text of a MIL program, its weight files by the path that the text has for them
// ("@model_path/weights/weight.bin"), and options as a property list: +modelWithMILText:weights:optionsPlist:. Text and weights must stay as
// they are.
func NewDescriptor(milText []byte, weights map[string][]byte, optionsPlist []byte) (*ModelDescriptor, error) {
	options, err := ParseOptions(optionsPlist)
	if err != nil {
		return nil, err
	}
	d := &ModelDescriptor{text: milText, weights: weights, plist: optionsPlist, options: options}
	d.program, err = mil.ParseText("model.mil", milText, coreml.WeightsOf(func(path string) []byte { return weights[path] }))
	if err != nil {
		return nil, ErrCompile.saying("InvalidMILProgram: %w", err)
	}
	d.identifier = identifierOf(milText, weights, optionsPlist)
	return d, nil
}

// identifierOf is three digests: of the text, the weights, the options.
func identifierOf(text []byte, weights map[string][]byte, options []byte) string {
	all := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(weights)) {
		fmt.Fprintf(all, "%d %s %d ", len(path), path, len(weights[path]))
		all.Write(weights[path])
	}
	var parts []string
	for _, digest := range [][32]byte{sha256.Sum256(text), [32]byte(all.Sum(nil)), sha256.Sum256(options)} {
		parts = append(parts, fmt.Sprintf("%X", digest))
	}
	return strings.Join(parts, "_")
}

// HexStringIdentifier names the model by its content: -hexStringIdentifier.
func (d *ModelDescriptor) HexStringIdentifier() string { return d.identifier }

// Equal reports whether two descriptors are of the same model.
func (d *ModelDescriptor) Equal(o *ModelDescriptor) bool {
	return d.identifier == o.identifier && bytes.Equal(d.text, o.text)
}
