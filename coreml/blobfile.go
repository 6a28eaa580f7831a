package coreml

import (
	"bytes"
	"encoding/binary"

	"github.com/espalier-ane/espalier/tensor"
)

// BlobRecord is an array of a weight file.
type BlobRecord struct {
	Offset   int64 // of the record, by which programs refer to it
	DType    tensor.DType
	Elements int64
	Data     int64 // where the elements are
	Size     int64 // of the elements, in bytes
}

// IsBlob reports whether data begins as a weight file does.
func IsBlob(data []byte) bool {
	if len(data) < blobHeaderSize || binary.LittleEndian.Uint32(data[4:]) != blobVersion {
		return false
	}
	if len(data) >= blobHeaderSize+4 && binary.LittleEndian.Uint32(data[blobHeaderSize:]) == blobSentinel {
		return true
	}
	return len(bytes.TrimLeft(data[8:blobHeaderSize], "\x00")) == 0
}

// ReadBlob lists the records of a weight file, one after the other. Beside an error, it returns those that
// come before it.
func ReadBlob(data []byte) ([]BlobRecord, error) {
	count, err := parseBlobHeader(data)
	if err != nil {
		return nil, err
	}
	var list []BlobRecord
	r := &recordReader{file: bytes.NewReader(data), size: int64(len(data))}
	err = r.walk(count, func(r blobRecord) {
		list = append(list, BlobRecord{int64(r.at), r.dtype, int64(r.elements()), int64(r.data), int64(r.size)})
	})
	return list, err
}

// Tensor returns the elements of a record as a list, which is a view of the file.
func (r BlobRecord) Tensor(file []byte) (*tensor.Tensor, error) {
	t, err := tensor.FromBytes(r.DType, []int{int(r.Elements)}, file[r.Data:r.Data+r.Size])
	if err != nil {
		return nil, damage(r.Data, "%v", err)
	}
	return t, nil
}
