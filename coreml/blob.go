package coreml

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A weight file ("blob storage v2" of coremltools' MILBlob/Blob/StorageFormat.hpp) is a header of 64 bytes
// and records, each a header of 64 bytes at a multiple of 64 and its data. All numbers are little endian.
//
//	header  count uint32, version uint32 = 2, 56 bytes reserved
//	record  sentinel uint32 = 0xDEADBEEF, element type uint32, bytes uint64, where the data is uint64,
//	        unused bits at the end of sub-byte data uint64, 32 bytes reserved
//
// Reserved bytes are not looked at: before iOS 18 they could hold anything, as could the unused bits of
// records whose elements are whole bytes.
const (
	blobHeaderSize = 64
	blobAlignment  = 64
	blobVersion    = 2
	blobSentinel   = 0xDEADBEEF
)

// blobDTypes are the element types of records, by their code in BlobDataType.hpp.
var blobDTypes = [...]tensor.DType{
	1:  tensor.Float16,
	2:  tensor.Float32,
	3:  tensor.UInt8,
	4:  tensor.Int8,
	5:  tensor.BFloat16,
	6:  tensor.Int16,
	7:  tensor.UInt16,
	8:  tensor.Int4,
	9:  tensor.UInt1,
	10: tensor.UInt2,
	11: tensor.UInt4,
	12: tensor.UInt3,
	13: tensor.UInt6,
	14: tensor.Int32,
	15: tensor.UInt32,
	16: tensor.Float8E4M3FN,
	17: tensor.Float8E5M2,
}

// blobRecord is the header of a record.
type blobRecord struct {
	at      uint64 // where the record is
	dtype   tensor.DType
	size    uint64 // of the data, in bytes
	data    uint64 // where the data is
	padding uint64 // unused bits at the end of sub-byte data
}

// parseBlobHeader checks the header of a file and returns the number of its records.
func parseBlobHeader(b []byte) (count uint32, err error) {
	if len(b) < blobHeaderSize {
		return 0, damage(0, "a weight file begins with a header of %d bytes, found %d", blobHeaderSize, len(b))
	}
	if version := binary.LittleEndian.Uint32(b[4:]); version != blobVersion {
		return 0, damage(4, "the version of the weight file is %d, expected %d", version, blobVersion)
	}
	return binary.LittleEndian.Uint32(b), nil
}

// checkRecordPlace refuses a record whose header is not inside a file of the given size.
func checkRecordPlace(at uint64, fileSize int64) error {
	switch {
	case fileSize < blobHeaderSize || at > uint64(fileSize)-blobHeaderSize:
		return damage(int64(min(at, 1<<62)), "the record lies outside the file, which has 0x%x bytes", fileSize)
	case at < blobHeaderSize:
		return damage(int64(at), "the record lies in the header of the file")
	}
	return nil
}

// parseBlobRecord reads the header of the record at the given place of a file and checks that its data is
// in the file.
func parseBlobRecord(b []byte, at uint64, fileSize int64) (blobRecord, error) {
	r := blobRecord{
		at:      at,
		size:    binary.LittleEndian.Uint64(b[8:]),
		data:    binary.LittleEndian.Uint64(b[16:]),
		padding: binary.LittleEndian.Uint64(b[24:]),
	}
	fail := func(field int64, format string, args ...any) (blobRecord, error) {
		return r, damage(int64(at)+field, format, args...)
	}
	if sentinel := binary.LittleEndian.Uint32(b); sentinel != blobSentinel {
		return fail(0, "there is no record here: it begins with 0x%08X, expected 0x%08X", sentinel, uint32(blobSentinel))
	}
	code := binary.LittleEndian.Uint32(b[4:])
	if code < uint32(len(blobDTypes)) {
		r.dtype = blobDTypes[code]
	}
	switch {
	case r.dtype == tensor.Invalid:
		return fail(4, "element type %d is not known", code)
	case r.data > uint64(fileSize) || r.size > uint64(fileSize)-r.data:
		return fail(8, "the data lies outside the file: 0x%x bytes at 0x%x of 0x%x", r.size, r.data, fileSize)
	case r.data < blobHeaderSize:
		return fail(16, "the data lies in the header of the file, at 0x%x", r.data)
	case r.dtype.SubByte() && r.padding >= 8:
		return fail(24, "%d bits at the end of the data are unused, expected fewer than 8", r.padding)
	case r.dtype.SubByte() && (8*r.size < r.padding || (8*r.size-r.padding)%uint64(r.dtype.Bits()) != 0):
		return fail(24, "0x%x bytes without %d bits are not a whole number of %v elements", r.size, r.padding, r.dtype)
	case !r.dtype.SubByte() && r.size%uint64(r.dtype.Size()) != 0:
		return fail(8, "0x%x bytes are not a whole number of %v elements", r.size, r.dtype)
	}
	return r, nil
}

// elements is how many elements a record has.
func (r blobRecord) elements() uint64 {
	if r.dtype.SubByte() {
		return (8*r.size - r.padding) / uint64(r.dtype.Bits())
	}
	return r.size / uint64(r.dtype.Size())
}

// checkType refuses a record that does not hold an array of the type.
func (r blobRecord) checkType(t *mil.TensorType) error {
	count, ok := t.Shape.Count()
	switch {
	case !ok || t.AnyRank:
		return damage(int64(r.at), "an array of type %v cannot live in a file", t)
	case t.DType != r.dtype:
		return damage(int64(r.at)+4, "the program asks for %v, the record holds elements of type %v", t, r.dtype)
	case uint64(count) != r.elements():
		return damage(int64(r.at)+8, "the program asks for %v, which has %d elements, the record holds %d", t, count, r.elements())
	}
	return nil
}

// weightStore gives the arrays of a model's weight files. It implements mil.Files.
type weightStore struct {
	src source
	dir string // what programs call @model_path

	made map[string][]byte // files that are absent and were made up, as programs call them
}

func newWeightStore(src source, dir string) *weightStore {
	if dir == "." {
		dir = ""
	}
	return &weightStore{src, dir, map[string][]byte{}}
}

// modelPath is how programs spell the folder that the model is in.
const modelPath = "@model_path/"

// resolve returns the name in the source of a file that a program refers to.
func (w *weightStore) resolve(ref string) (string, error) {
	name := strings.TrimPrefix(ref, modelPath)
	if err := checkPath(name); err != nil {
		return "", &FormatError{File: w.src.display("."), Offset: -1, Msg: fmt.Sprintf("weight file %s", ref), Err: err}
	}
	return path.Join(w.dir, name), nil
}

// Load returns the array of the given type whose record is at offset in the file that the program calls ref.
// The array is a view of the file.
func (w *weightStore) Load(ref string, offset uint64, t *mil.TensorType) (*tensor.Tensor, error) {
	data, err := w.Bytes(ref)
	if err != nil {
		return nil, err
	}
	array, err := loadArray(data, offset, t)
	if err != nil {
		name, _ := w.resolve(ref)
		return nil, inFile(w.src.display(name), err)
	}
	return array, nil
}

// Bytes returns the file that the program calls ref.
func (w *weightStore) Bytes(ref string) ([]byte, error) {
	if data, ok := w.made[ref]; ok {
		return data, nil
	}
	name, err := w.resolve(ref)
	if err != nil {
		return nil, err
	}
	data, err := w.src.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = &MissingWeightsError{File: w.src.display(name), Path: ref}
	}
	return data, err
}

// Identity is what the file that the program calls ref is known by without reading it, once it was read: see package build.
func (w *weightStore) Identity(ref string) (id osfile.Identity, within string, ok bool) {
	if _, made := w.made[ref]; made {
		return osfile.Identity{}, "", false
	}
	name, err := w.resolve(ref)
	if err != nil {
		return osfile.Identity{}, "", false
	}
	return w.src.identity(name)
}

// loadArray returns the array of a record of a weight file, without copying it.
func loadArray(file []byte, offset uint64, t *mil.TensorType) (*tensor.Tensor, error) {
	size := int64(len(file))
	if _, err := parseBlobHeader(file); err != nil {
		return nil, err
	}
	if err := checkRecordPlace(offset, size); err != nil {
		return nil, err
	}
	record, err := parseBlobRecord(file[offset:offset+blobHeaderSize], offset, size)
	if err != nil {
		return nil, err
	}
	if err := record.checkType(t); err != nil {
		return nil, err
	}
	shape, _ := t.Shape.Ints()
	array, err := tensor.FromBytes(t.DType, shape, file[record.data:record.data+record.size])
	if err != nil {
		return nil, damage(int64(record.data), "%v", err)
	}
	return array, nil
}
