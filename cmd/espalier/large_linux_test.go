//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInspectOfLargeWeights inspects a package with a weight file of 1 GiB and many records, without reading
// its data or mapping it into memory.
func TestInspectOfLargeWeights(t *testing.T) {
	const rssLimit = 96 << 10 // KiB
	pkg, offsets := largePackage(t)
	cmd := exec.Command("espalier", "inspect", pkg)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, want := range []string{"2,048 records, 2048 used", "536,870,912 parameters", "1.0 GiB"} {
		if !strings.Contains(stdout.String(), want) {
			t.Fatalf("the output lacks %q:\n%s", want, stdout.String())
		}
	}
	if rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; rss > rssLimit {
		t.Errorf("inspect takes %d KiB of memory, expected less than %d", rss, rssLimit)
	}

	// Its records are checked all the same.
	f, err := os.OpenFile(filepath.Join(pkg, largeWeights), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.LittleEndian.AppendUint64(nil, 1<<40), int64(offsets[len(offsets)-1])+8); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("espalier", "inspect", pkg).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "outside the file") {
		t.Errorf("a record that reaches out of the file: %v\n%s", err, out)
	}
}

// BenchmarkInspectOfLargeWeights is the same work as a process.
func BenchmarkInspectOfLargeWeights(b *testing.B) {
	pkg, _ := largePackage(b)
	benchmarkCommand(b, "inspect", pkg)
}

// largeWeights is the weight file of a package.
var largeWeights = filepath.Join("Data", "com.apple.CoreML", "weights", "weight.bin")

// largePackage makes a package with 2048 weights of half a mebibyte, and returns where they stand in their
// file. The file is sparse.
func largePackage(t testing.TB) (pkg string, offsets []uint64) {
	const (
		records  = 2048
		elements = 256 * 1024 // of fp16
	)
	pkg = filepath.Join(t.TempDir(), "large.mlpackage")
	if err := os.MkdirAll(filepath.Join(pkg, filepath.Dir(largeWeights)), 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(pkg, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("Manifest.json", []byte(`{"fileFormatVersion": "1.0.0", "rootModelIdentifier": "m",
		"itemInfoEntries": {"m": {"path": "com.apple.CoreML/model.mlmodel"}}}`))
	offsets = writeSparseWeights(t, filepath.Join(pkg, largeWeights), records, 2*elements)
	write("Data/com.apple.CoreML/model.mlmodel", largeModel(offsets, 256, 1024))
	return pkg, offsets
}

// writeSparseWeights makes a weight file whose records have no data on disk, and returns where they are.
func writeSparseWeights(t testing.TB, name string, records int, size uint64) []uint64 {
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := func(at uint64, data []byte) {
		if _, err := f.WriteAt(data, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	le := binary.LittleEndian
	put(0, le.AppendUint32(le.AppendUint32(nil, uint32(records)), 2))
	offsets := make([]uint64, records)
	at := uint64(64)
	for i := range offsets {
		offsets[i] = at
		head := le.AppendUint32(le.AppendUint32(nil, 0xDEADBEEF), 1) // fp16
		head = le.AppendUint64(le.AppendUint64(head, size), at+64)
		put(at, head)
		at += 64 + size
	}
	if err := f.Truncate(int64(at)); err != nil {
		t.Fatal(err)
	}
	return offsets
}

// largeModel is the specification of a program with a constant for each record and a matrix multiplication by it.
func largeModel(offsets []uint64, rows, columns uint64) []byte {
	text := func(number int, s string) []byte { return bytesField(number, []byte(s)) }
	fp16 := func(dims ...uint64) []byte { // ValueType
		t := message(varintField(1, 10), varintField(2, uint64(len(dims))))
		for _, d := range dims {
			t = append(t, bytesField(3, bytesField(1, varintField(1, d)))...)
		}
		return bytesField(1, t)
	}
	named := func(name string, typ []byte) []byte { return message(text(1, name), bytesField(2, typ)) }
	entry := func(number int, key string, value []byte) []byte {
		return bytesField(number, message(text(1, key), bytesField(2, value)))
	}
	argument := func(number int, param, value string) []byte {
		return entry(number, param, bytesField(1, text(1, value)))
	}
	var block []byte
	last := "x"
	for i, offset := range offsets {
		weight := fmt.Sprintf("w%d", i)
		blob := message(text(1, "@model_path/weights/weight.bin"), varintField(2, offset))
		value := message(bytesField(2, fp16(rows, columns)), bytesField(5, blob))
		block = append(block, bytesField(3, message(text(1, "const"),
			bytesField(3, named(weight, fp16(rows, columns))), entry(5, "val", value)))...)
		out := fmt.Sprintf("y%d", i)
		block = append(block, bytesField(3, message(text(1, "matmul"),
			argument(2, "x", "x"), argument(2, "y", weight), bytesField(3, named(out, fp16(1, columns)))))...)
		last = out
	}
	block = append(block, text(2, last)...)
	function := message(bytesField(1, named("x", fp16(1, rows))), text(2, "CoreML6"), entry(3, "CoreML6", block))
	program := message(varintField(1, 1), entry(2, "main", function))

	feature := func(name string, dims ...uint64) []byte {
		array := varintField(2, 65552)
		for _, d := range dims {
			array = append(array, varintField(1, d)...)
		}
		return message(text(1, name), bytesField(3, bytesField(5, array)))
	}
	description := message(bytesField(1, feature("x", 1, rows)), bytesField(10, feature(last, 1, columns)))
	return message(varintField(1, 7), bytesField(2, description), bytesField(502, program))
}
