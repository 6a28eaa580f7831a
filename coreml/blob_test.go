package coreml

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

func TestBlobElementTypes(t *testing.T) {
	for _, c := range []struct {
		code    uint32
		dtype   tensor.DType
		padding uint64
		data    string
		want    string // the elements as float64
	}{
		{1, tensor.Float16, 0, "\x00\x3c\x01\x00", "[1 5.960464477539063e-08]"},
		{2, tensor.Float32, 0, "\x00\x00\x80\x3f", "[1]"},
		{3, tensor.UInt8, 0, "\x00\xff", "[0 255]"},
		{4, tensor.Int8, 0, "\x80\xff", "[-128 -1]"},
		{5, tensor.BFloat16, 0, "\x80\x3f", "[1]"},
		{6, tensor.Int16, 0, "\x00\x80", "[-32768]"},
		{7, tensor.UInt16, 0, "\xff\xff", "[65535]"},
		{8, tensor.Int4, 4, "\x8f\x07", "[-1 -8 7]"},
		{9, tensor.UInt1, 5, "\x05", "[1 0 1]"},
		{10, tensor.UInt2, 2, "\x1b", "[3 2 1]"},
		{11, tensor.UInt4, 0, "\x1f", "[15 1]"},
		{12, tensor.UInt3, 7, "\xd1\x01", "[1 2 7]"},
		{13, tensor.UInt6, 4, "\xc1\x0f", "[1 63]"},
		{14, tensor.Int32, 0, "\x00\x00\x00\x80", "[-2.147483648e+09]"},
		{15, tensor.UInt32, 0, "\xff\xff\xff\xff", "[4.294967295e+09]"},
		{16, tensor.Float8E4M3FN, 0, "\x38\x7e", "[1 448]"},
		{17, tensor.Float8E5M2, 0, "\x3c", "[1]"},
		// What the padding says does not count for whole bytes: older writers left it as it was.
		{3, tensor.UInt8, 0xDDDDDDDDDDDDDDDD, "\x07", "[7]"},
	} {
		file := blobFile(c.code, c.padding, []byte(c.data))
		record, err := parseBlobRecord(file[64:], 64, int64(len(file)))
		if err != nil {
			t.Errorf("%v: %v", c.dtype, err)
			continue
		}
		array, err := loadArray(file, 64, mil.Tensor(c.dtype, tensor.Dim(record.elements())))
		if err != nil {
			t.Errorf("%v: %v", c.dtype, err)
			continue
		}
		if got := fmt.Sprint(array.Float64s()); got != c.want {
			t.Errorf("%v: got %s, want %s", c.dtype, got, c.want)
		}
	}
	if len(blobDTypes) != 18 {
		t.Errorf("there are %d codes", len(blobDTypes)-1)
	}
}

func TestBlobRecordErrors(t *testing.T) {
	u3 := blobFile(12, 7, []byte("\xd1\x01"))
	for _, c := range []struct {
		name   string
		file   []byte
		offset uint64
		typ    *mil.TensorType
		want   []string
	}{
		{"in the header", u3, 0, mil.Tensor(tensor.UInt3, 3), []string{"byte 0x0", "in the header"}},
		{"not where a record is", u3, 65, mil.Tensor(tensor.UInt3, 3), []string{"byte 0x41", "no record here"}},
		{"past the end", u3, 128, mil.Tensor(tensor.UInt3, 3), []string{"byte 0x80", "outside the file"}},
		{"far past the end", u3, 1<<64 - 64, mil.Tensor(tensor.UInt3, 3), []string{"outside the file"}},
		{"another count", u3, 64, mil.Tensor(tensor.UInt3, 2), []string{"asks for tensor<uint3, [2]>, which has 2 elements, the record holds 3"}},
		{"unknown shape", u3, 64, mil.Tensor(tensor.UInt3, tensor.Unknown), []string{"cannot live in a file"}},
		{"overflow", u3, 64, mil.Tensor(tensor.UInt3, 1<<40, 1<<40), []string{"cannot live in a file"}},
		{"8 bits unused", blobFile(12, 8, []byte("\xd1\x01")), 64, mil.Tensor(tensor.UInt3, 3), []string{"byte 0x58", "fewer than 8"}},
		{"a bit too many", blobFile(12, 6, []byte("\xd1\x01")), 64, mil.Tensor(tensor.UInt3, 3), []string{"byte 0x58", "whole number of uint3"}},
		{"less than nothing", blobFile(9, 7, nil), 64, mil.Tensor(tensor.UInt1, 0), []string{"byte 0x58", "whole number"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := loadArray(c.file, c.offset, c.typ)
			if err == nil {
				t.Fatal("no error")
			}
			wantFormatError(t, err, c.want...)
		})
	}
}

// A table of records that does not end, or goes back, ends the check.
func TestBlobTable(t *testing.T) {
	check := func(data []byte) WeightFile {
		files := packageFiles()
		files[weightFile] = string(data)
		reports, err := open(t, writeFiles(t, t.TempDir(), files)).CheckWeights()
		if err != nil || len(reports) != 1 {
			t.Fatalf("got %+v, %v", reports, err)
		}
		return reports[0]
	}
	more := blobFile(1, 0, halves)
	binary.LittleEndian.PutUint32(more, 1<<32-1)
	wantFormatError(t, check(more).Err, "weight.bin: byte 0xc0: record 1 of 4294967295", "outside the file")

	backwards := append(blobFile(1, 0, halves), make([]byte, 64-8)...)
	backwards = append(backwards, blobFile(1, 0, halves)[64:]...) // a second record, whose data is that of the first
	binary.LittleEndian.PutUint32(backwards, 2)
	if w := check(backwards); w.Records != 2 || w.Used != 0 {
		t.Errorf("got %+v", w)
	}
	wantFormatError(t, check(backwards).Err, "record 1 of 2", "before its record")

	none := blobFile(1, 0, halves)
	binary.LittleEndian.PutUint32(none, 0)
	if w := check(none); w.Err != nil || w.Records != 0 || w.Used != 1 || w.Size != int64(len(none)) {
		t.Errorf("got %+v", w)
	}
}

// sparse makes a file of the given size that is zero but for the given parts.
func sparse(t *testing.T, path string, size int64, parts map[int64][]byte) {
	t.Helper()
	f, err := os.Create(path)
	if err == nil {
		err = f.Truncate(size)
	}
	for at, part := range parts {
		if err == nil {
			_, err = f.WriteAt(part, at)
		}
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Skipf("no large file can be made here: %v", err)
	}
}

// The weights of a large model are checked without mapping them.
func TestCheckWeightsIsLazy(t *testing.T) {
	const records, each = 1024, 1 << 20 // each record with its header, one right after the other
	dir := writeFiles(t, t.TempDir(), packageFiles())
	typ := tensorOf(31, each-64)
	header := blobFile(3, 0, nil)
	binary.LittleEndian.PutUint32(header, records)
	parts := map[int64][]byte{0: header[:64]}
	var ops [][]byte
	for i := range int64(records) {
		at := 64 + i*each
		record := slices.Clone(header[64:])
		binary.LittleEndian.PutUint64(record[8:], each-64)
		binary.LittleEndian.PutUint64(record[16:], uint64(at+64))
		parts[at] = record
		ops = append(ops, sub(3, text(1, "const"), val(sub(2, typ), sub(5, text(1, weightRef4), number(2, at))),
			sub(3, named(fmt.Sprint("w", i), typ))))
	}
	sparse(t, filepath.Join(dir, filepath.FromSlash(weightFile)), 64+records*each, parts)
	spec := join(number(1, 9), sub(2), sub(502, program(join(ops...), gives("w0"))))
	writeFiles(t, dir, map[string]string{specFile: string(spec)})

	m := open(t, dir)
	reports, err := m.CheckWeights()
	if err != nil || len(reports) != 1 || reports[0].Err != nil || reports[0].Used != records || reports[0].Bytes != records*(each-64) {
		t.Fatalf("got %+v, %v", reports, err)
	}
	if _, mapped := m.file.src.(*folder).mappings[weightFile]; mapped {
		t.Error("the weights were mapped")
	}
	if array, err := loadOnly(m); err != nil || array.Len() != each-64 {
		t.Errorf("got %v, %v", array, err)
	}
}

// Opening a large network looks at its top only: what is below is not even protobuf.
func TestOpenIsLazy(t *testing.T) {
	const size = 576 << 20
	head := join(number(1, 4), sub(2, sub(1, text(1, "x"), sub(3, sub(5, packed(1, 3), number(2, 65568))))))
	head = protowire.AppendVarint(protowire.AppendTag(head, 500, protowire.BytesType), size)
	tail := number(10, 1)
	path := filepath.Join(t.TempDir(), "large.mlmodel")
	sparse(t, path, int64(len(head)+size+len(tail)), map[int64][]byte{0: head, int64(len(head) + size): tail})
	if n := testing.AllocsPerRun(1, func() {
		m := open(t, path)
		if m.Type.String() != "neuralNetwork" || !m.Updatable || len(m.Description.Function("").Inputs) != 1 {
			t.Errorf("got %+v", m)
		}
	}); n > 200 {
		t.Errorf("opening the model took %v allocations", n)
	}
}
