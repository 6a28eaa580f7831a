package td

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// haveShared reports whether the shared data is there, for seeds that are good
// to have and not needed.
func haveShared(t testing.TB) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(testkit.Root(t)), "shared", "hwx"))
	return err == nil || os.Getenv("ESPALIER_SHARED") != ""
}

func bytesOf(words []uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// FuzzTask decodes a task of any version, reads what it holds, and holds encode
// to give the same words again.
func FuzzTask(f *testing.F) {
	seed := func(t *Task) {
		words, err := t.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint16(t.Version), bytesOf(words))
	}
	seed(NewV7Task(true))
	seed(NewV7Task(false))
	image := NewRegisters(v10)
	image.Write(0x4d10, 1)
	seed(SparseV10(image, nil))
	for _, op := range samples() {
		for _, v := range []Version{V7, V256} {
			task, err := op.Task(v)
			if err != nil {
				f.Fatal(err)
			}
			seed(task)
		}
	}
	if haveShared(f) {
		for _, r := range records(f, "h13")[:10] {
			for _, task := range r.tasks(f) {
				seed(task)
			}
		}
	}
	f.Fuzz(func(t *testing.T, version uint16, data []byte) {
		words := wordsOf(data)
		task, err := Decode(Version(version), words)
		if err != nil {
			return
		}
		again, err := task.Encode()
		if err != nil || !slices.Equal(again, words) {
			t.Fatalf("differs after decode and encode (%v)", err)
		}
		r := NewRegisters(LayoutOf(task.Version))
		r.Apply(task)
		for _, b := range LayoutOf(task.Version).Blocks {
			for _, field := range b.Fields {
				v, ok := task.Get(field)
				if w, wrote := r.Get(field); !b.Header && (ok != wrote || v != w) {
					t.Fatalf("%v: %#x (%t) in the task, %#x (%t) in the registers", field, v, ok, w, wrote)
				}
			}
		}
		if op, err := task.Op(); err == nil {
			same(t, op, task.Version)
		}
		if task.Version == V7 {
			section := make([]byte, 4096)
			if k, ok, err := KernelOf(r); ok && err == nil {
				if streams, err := KernelStreams(r, section); err == nil {
					_, _ = k.Unpack(streams)
				}
			}
		}
	})
}

// same holds an operation to be what its own task holds.
func same(t *testing.T, op *Op, v Version) {
	task, err := op.Task(v)
	if err != nil {
		t.Fatalf("an operation that was read cannot be written: %v", err)
	}
	again, err := task.Op()
	if err != nil {
		t.Fatal(err)
	}
	first, err := task.Encode()
	if err != nil {
		t.Fatal(err)
	}
	task, err = again.Task(v)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := task.Encode(); err != nil || !slices.Equal(first, second) {
		t.Fatalf("the operation differs after encode and decode (%v)", err)
	}
}

// FuzzStream walks a text; what it finds is encoded and walked again.
func FuzzStream(f *testing.F) {
	f.Add(stream(f, 1), 0, 126)
	f.Add(stream(f, 4), 0, 126)
	if haveShared(f) {
		for _, p := range programs(f) {
			f.Add(p.text, p.start, p.firstWords)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, start, words int) {
		placed, err := DecodeStream(V7, text, start, words)
		if err != nil {
			return
		}
		var tasks []*Task
		for _, p := range placed {
			tasks = append(tasks, p.Task)
		}
		again, err := EncodeStream(tasks)
		if err != nil {
			t.Fatal(err)
		}
		second, err := DecodeStream(V7, again, 0, words)
		if err != nil || len(second) != len(placed) {
			t.Fatalf("%d tasks, then %d (%v)", len(placed), len(second), err)
		}
	})
}

// FuzzKernel unpacks streams; the weights are packed and unpacked again.
func FuzzKernel(f *testing.F) {
	f.Add([]byte{0, 3, 2, 0, 0, 0, 0, 2}, make([]byte, 512))
	f.Add([]byte{0, 7, 3, 2, 2, 1, 1, 5}, make([]byte, 4096))
	f.Fuzz(func(t *testing.T, shape, data []byte) {
		if len(shape) < 8 {
			return
		}
		k := Kernel{
			Groups: 1 + int(shape[0]%3), Outputs: 1 + int(shape[1]%64), Inputs: int(shape[2] % 32),
			Height: 1 + int(shape[3]%4), Width: 1 + int(shape[4]%4), StrideY: 1 + int(shape[5]%3), StrideX: 1 + int(shape[6]%3),
			Lanes: 1 << (shape[7] % 4), Engines: 1 << (shape[7] >> 2 % 4), Format: KernelFP16,
			Bias: shape[7]&32 != 0, ZeroSkip: shape[7]&64 != 0, Table: shape[7]&128 != 0,
		}
		streams := make([][]byte, k.Engines)
		for e := range streams {
			streams[e] = data
		}
		w, err := k.Unpack(streams)
		if err != nil {
			return
		}
		packed, err := k.Pack(w)
		if err != nil {
			t.Fatal(err)
		}
		again, err := k.Unpack(packed)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range w.Values {
			if k.ZeroSkip && v == 0x8000 {
				v = 0
			}
			if again.Values[i] != v {
				t.Fatalf("weight %d is %#x, was %#x", i, again.Values[i], v)
			}
		}
		if k.Table {
			if table, err := DecodeTable(w.Table); err == nil {
				if eval, err := table.Func(); err == nil {
					for _, x := range []float32{0, 1, -1, 65504, float32(math.Inf(1)), float32(math.NaN())} {
						eval(x)
					}
				}
			}
		}
	})
}
