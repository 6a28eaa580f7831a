package coreml

import (
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestReadBlob(t *testing.T) {
	file := blobFile(1, 0, halves)
	if !IsBlob(file) || !IsBlob(file[:64]) || IsBlob(file[:63]) || IsBlob(make([]byte, 128)) {
		t.Error("IsBlob does not tell a weight file")
	}
	list, err := ReadBlob(file)
	if err != nil || len(list) != 1 || list[0] != (BlobRecord{64, tensor.Float16, 4, 128, 8}) {
		t.Fatalf("got %+v, %v", list, err)
	}
	array, err := list[0].Tensor(file)
	if err != nil || fmt.Sprint(array.Float32s()) != "[1 2 3 4]" {
		t.Errorf("got %v, %v", array, err)
	}
	file[0] = 2 // records
	list, err = ReadBlob(file)
	if wantFormatError(t, err, "record 1 of 2", "byte 0xc0"); len(list) != 1 {
		t.Errorf("got %d records before the error", len(list))
	}
}
