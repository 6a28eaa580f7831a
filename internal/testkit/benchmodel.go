package testkit

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// BenchModel makes a benchmark network whole: its package comes without weights, which are drawn here from
// the mean and the deviation that weights.json gives for each record.
func BenchModel(t testing.TB, name string) string {
	from := Shared(t, "models", "bench", name)
	to := filepath.Join(t.TempDir(), "model.mlpackage")
	if err := os.CopyFS(to, os.DirFS(filepath.Join(from, "model.mlpackage"))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(from, "weights.json"))
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		File    string
		Size    int
		Count   uint32
		Version uint32
		Records []struct {
			Offset, Bytes int
			DType         uint32
			DataOffset    int    `json:"data_offset"`
			PaddingBits   uint64 `json:"padding_bits"`
			Mean, Std     float64
		}
	}
	if err := json.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(to, w.File)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// By records, not at once: tests measure the memory of processes that they start, which begins as their own.
	write := func(data []byte, at int) {
		if _, err := f.WriteAt(data, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	var head [64]byte
	binary.LittleEndian.PutUint32(head[:], w.Count)
	binary.LittleEndian.PutUint32(head[4:], w.Version)
	write(head[:], 0)
	r := rand.New(rand.NewPCG(1, 1))
	for _, rec := range w.Records {
		head = [64]byte{}
		binary.LittleEndian.PutUint32(head[:], 0xdeadbeef)
		binary.LittleEndian.PutUint32(head[4:], rec.DType)
		binary.LittleEndian.PutUint64(head[8:], uint64(rec.Bytes))
		binary.LittleEndian.PutUint64(head[16:], uint64(rec.DataOffset))
		binary.LittleEndian.PutUint64(head[24:], rec.PaddingBits)
		write(head[:], rec.Offset)
		normal := func() float32 { return float32(r.NormFloat64()*rec.Std + rec.Mean) }
		var chunk [1 << 16]byte
		for done := 0; done < rec.Bytes; done += len(chunk) {
			data := chunk[:min(len(chunk), rec.Bytes-done)]
			fill(data, rec.DType, normal, r)
			write(data, rec.DataOffset+done)
		}
	}
	if err := f.Truncate(int64(w.Size)); err != nil {
		t.Fatal(err)
	}
	return to
}

// fill draws the elements of an array.
func fill(data []byte, dtype uint32, normal func() float32, r *rand.Rand) {
	const float16, float32s = 1, 2 // element codes of the blob format
	switch dtype {
	case float16:
		for ; len(data) > 0; data = data[2:] {
			binary.LittleEndian.PutUint16(data, half(normal()))
		}
	case float32s:
		for ; len(data) > 0; data = data[4:] {
			binary.LittleEndian.PutUint32(data, math.Float32bits(normal()))
		}
	default:
		for i := range data {
			data[i] = byte(r.Uint32())
		}
	}
}

// half cuts a number off to fp16; what is too small becomes 0. It is for numbers that are drawn anyway.
func half(f float32) uint16 {
	b := math.Float32bits(f)
	sign, exponent, mantissa := uint16(b>>16&0x8000), int(b>>23&0xff)-127+15, uint16(b>>13&0x3ff)
	switch {
	case exponent <= 0:
		return sign
	case exponent > 30:
		exponent, mantissa = 30, 0x3ff
	}
	return sign | uint16(exponent)<<10 | mantissa
}
