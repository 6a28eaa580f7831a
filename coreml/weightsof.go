package coreml

import (
	"fmt"
	"io/fs"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// WeightsOf opens the arrays of weight files that somebody else holds: open returns the bytes of the file that
// a program calls path, nil if there is none. The arrays are views of them.
func WeightsOf(open func(path string) []byte) mil.Files { return heldWeights(open) }

type heldWeights func(path string) []byte

// Bytes returns the file that the program calls ref.
func (w heldWeights) Bytes(ref string) ([]byte, error) {
	data := w(ref)
	if data == nil {
		return nil, &FormatError{File: ref, Offset: -1, Err: fmt.Errorf("weight file: %w", fs.ErrNotExist)}
	}
	return data, nil
}

// Load returns the array of the given type whose record is at offset in the file that the program calls ref.
func (w heldWeights) Load(ref string, offset uint64, t *mil.TensorType) (*tensor.Tensor, error) {
	data, err := w.Bytes(ref)
	if err != nil {
		return nil, err
	}
	array, err := loadArray(data, offset, t)
	if err != nil {
		return nil, inFile(ref, err)
	}
	return array, nil
}
