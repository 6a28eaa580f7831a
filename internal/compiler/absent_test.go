package compiler

import (
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A model may declare any size for an array of a file that is not there: what stands for it is bounded and shared.
func TestZerosAreBounded(t *testing.T) {
	load := func(n int) (*tensor.Tensor, error) {
		return zeroFiles{}.Load("weights", 64, &mil.TensorType{DType: tensor.Float16, Shape: tensor.Shape{tensor.Dim(n)}})
	}
	small, err := load(1000)
	if err != nil || small.Len() != 1000 {
		t.Fatalf("%v, %v", small, err)
	}
	had := len(zeros.bytes)
	if _, err := load(had/2 - 1); err != nil || len(zeros.bytes) != had {
		t.Errorf("arrays of less than %d bytes have memory of their own: %d, %v", had, len(zeros.bytes), err)
	}
	if _, err := load(mostZeros/2 + 1); err == nil {
		t.Error("an array beyond the bound was made")
	}
}
