package build

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkLargeWeights is the way from a model with a weight file of 1 GiB to its bundle, which the cache has: below 50 ms.
func BenchmarkLargeWeights(b *testing.B) {
	const rows, columns = 16384, 32768
	dir := b.TempDir()
	path := filepath.Join(dir, "large.mil")
	check(b, os.WriteFile(path, []byte(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 32768]> x) {
            tensor<fp16, [16384, 32768]> w = const()[name = string("w"), val = tensor<fp16, [16384, 32768]>(BLOBFILE(path = string("@model_path/large.bin"), offset = uint64(64)))];
            bool no = const()[name = string("no"), val = bool(false)];
            bool yes = const()[name = string("yes"), val = bool(true)];
            tensor<fp16, [1, 16384]> y = matmul(x = x, y = w, transpose_x = no, transpose_y = yes)[name = string("y")];
        } -> (y);
}
`), 0o666))
	head := make([]byte, 128)
	binary.LittleEndian.PutUint32(head, 1)
	binary.LittleEndian.PutUint32(head[4:], 2)
	binary.LittleEndian.PutUint32(head[64:], 0xDEADBEEF)
	binary.LittleEndian.PutUint32(head[68:], 1) // fp16
	binary.LittleEndian.PutUint64(head[72:], 2*rows*columns)
	binary.LittleEndian.PutUint64(head[80:], 128)
	weights := filepath.Join(dir, "large.bin")
	check(b, os.WriteFile(weights, head, 0o666))
	check(b, os.Truncate(weights, 128+2*rows*columns)) // a hole, which takes no room on the disk
	c := openAt(b, filepath.Join(dir, "cache"), 0)
	later(c, time.Minute)
	began := time.Now()
	if build(b, c, openJob(b, path, "virtual")).Cached {
		b.Fatal("a new cache has it")
	}
	b.Logf("the first time, %v", time.Since(began))
	for b.Loop() {
		if !build(b, c, openJob(b, path, "virtual")).Cached {
			b.Fatal("it is not kept")
		}
	}
}
