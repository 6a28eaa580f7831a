package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// message makes a message of ONNX: strings and bytes by their numbers.
func message(fields ...any) (b []byte) {
	for i := 0; i < len(fields); i += 2 {
		number := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), v)
		}
	}
	return b
}

// Both sides of a network get the same numbers: a matrix that the twin has the other way round, and a small array that
// lies in the twin.
func TestSameWeights(t *testing.T) {
	bias := []float32{0.5, -1, 2, 0.25}
	raw := ""
	for _, v := range bias {
		raw += string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
	}
	mean, std := meanAndDeviation(bias)
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(from, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list := func(l weightList) []byte {
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	write("weights.json", list(weightList{File: "weight.bin", Size: 64 + 128 + 64 + 8, Count: 2, Version: 2, Records: []weightRecord{
		{DType: json.RawMessage("1"), Offset: 64, Bytes: 24, DataOffset: 128, Mean: 3, Std: 0.5},
		{DType: json.RawMessage("1"), Offset: 192, Bytes: 8, DataOffset: 256, Mean: mean, Std: std},
	}}))
	write("onnx/weights.json", list(weightList{File: "weights.data", Size: 48, Records: []weightRecord{
		{Name: "w", Shape: []int{3, 4}, DType: json.RawMessage(`"float32"`), Bytes: 48, Mean: 3.0001, Std: 0.5},
	}}))
	write("onnx/model.onnx", message(modelGraph, string(message(
		graphNode, string(message(nodeInput, "x", nodeInput, "w", nodeOperation, "MatMul")),
		graphInitializer, string(message(tensorDataType, elementFloat32, tensorName, "b", tensorRawData, raw)),
	))))
	for range 2 { // the second time, it is there
		if err := complete(from, to); err != nil {
			t.Fatal(err)
		}
	}

	ours, err := os.ReadFile(filepath.Join(to, packageName, "weight.bin"))
	if err != nil {
		t.Fatal(err)
	}
	twins, err := os.ReadFile(filepath.Join(to, "onnx", "weights.data"))
	if err != nil {
		t.Fatal(err)
	}
	records, err := readList(filepath.Join(to, "weights.json"))
	if err != nil {
		t.Fatal(err)
	}
	matrix := records.Records[0].floats(ours) // 4 outputs × 3 inputs
	for i, v := range matrix {
		row, column := i/3, i%3
		got := math.Float32frombits(binary.LittleEndian.Uint32(twins[4*(column*4+row):]))
		if got != v || math.Abs(float64(v-3)) > 3 {
			t.Errorf("output %d, input %d: ours has %v, the twin %v", row, column, v, got)
		}
	}
	for i, v := range records.Records[1].floats(ours) {
		if v != bias[i] {
			t.Errorf("small array: %v at %d, expected %v", v, i, bias[i])
		}
	}
	if got := binary.LittleEndian.Uint32(ours[192:]); got != 0xdeadbeef {
		t.Errorf("the second record begins with %#x", got)
	}
}

// Weights that are like none of ours are an error, not made up.
func TestUnknownWeights(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "onnx"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"file": "weights.data", "size": 8, "records": [{"name": "w", "dtype": "float32", "bytes": 8, "std": 1}]}`
	if err := os.WriteFile(filepath.Join(dir, "onnx", "weights.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeTwin(dir, &twin{}, &weightList{}, nil); err == nil {
		t.Error("no error")
	}
}
