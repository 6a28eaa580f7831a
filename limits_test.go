package espalier_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/tensor"
)

// doublings is a program of a few kilobytes whose result has 2^n elements for each of x.
func doublings(n int) string {
	var b strings.Builder
	b.WriteString("program(1.3)\n{\n  func main<ios18>(tensor<fp32, [1, 1, 64]> x) {\n    int32 axis = const()[name = string(\"axis\"), val = int32(2)];\n    bool no = const()[name = string(\"no\"), val = bool(false)];\n")
	last := "x"
	for i := range n {
		name := fmt.Sprintf("y%d", i)
		fmt.Fprintf(&b, "    tensor<fp32, [1, 1, %d]> %s = concat(values = (%s, %s), axis = axis, interleave = no)[name = string(%q)];\n", 128<<i, name, last, last, name)
		last = name
	}
	fmt.Fprintf(&b, "  } -> (%s);\n}\n", last)
	return b.String()
}

func writeModel(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// predictWith opens a model and runs it once, on an x of 64 zeros.
func predictWith(t *testing.T, c espalier.Config, path string) error {
	t.Helper()
	m, err := c.Open(path)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err = m.Predict(ctx, map[string]any{"x": tensor.New(tensor.Float32, 1, 1, 64)})
	return err
}

// A program of a few kilobytes that asks for gigabytes is refused, by an error that says how much it asked for, and before
// the memory is taken. So it is on every unit.
func TestLimitMemory(t *testing.T) {
	const memory = 32 << 20
	small, large := writeModel(t, doublings(8)), writeModel(t, doublings(22)) // 64 KiB and 1 GiB
	for _, c := range []espalier.Config{{Units: espalier.CPUOnly}, {}, {Target: "h13"}} {
		c.Limits.Memory = memory
		if err := predictWith(t, c, small); err != nil {
			t.Errorf("%q %q: %v", c.Units, c.Target, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := predictWith(t, c, large)
		runtime.ReadMemStats(&after)
		var e *espalier.LimitError
		if !errors.Is(err, espalier.ErrLimit) || !errors.As(err, &e) || e.Resource != "memory" || e.Asked <= e.Allowed-e.InUse || e.Allowed != memory {
			t.Errorf("%q %q: the error is %v", c.Units, c.Target, err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 4*memory {
			t.Errorf("%q %q: %d MiB were taken", c.Units, c.Target, taken>>20)
		}
	}
}

// Work is counted, on the host and on the engine alike.
func TestLimitSteps(t *testing.T) {
	path := writeModel(t, doublings(10))
	for _, c := range []espalier.Config{{Units: espalier.CPUOnly}, {}, {Target: "h13"}} {
		c.Limits.Steps = 1 << 24
		if err := predictWith(t, c, path); err != nil {
			t.Errorf("%q %q: %v", c.Units, c.Target, err)
		}
		c.Limits.Steps = 1 << 8
		var e *espalier.LimitError
		if err := predictWith(t, c, path); !errors.As(err, &e) || e.Resource != "steps" || e.Allowed != 1<<8 || e.Asked == 0 {
			t.Errorf("%q %q: the error is %v", c.Units, c.Target, err)
		}
	}
}

// Compiling ends when it has taken as long as it may; the caller's context is another matter.
func TestLimitCompile(t *testing.T) {
	path := writeModel(t, doublings(8))
	c := espalier.Config{Limits: espalier.Limits{Compile: time.Nanosecond}}
	var e *espalier.LimitError
	if err := predictWith(t, c, path); !errors.As(err, &e) || e.Resource != "compile" || e.Allowed != 1 || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	m, err := c.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Compile(context.Background(), espalier.CompileOptions{}); !errors.Is(err, espalier.ErrLimit) {
		t.Errorf("the error is %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Compile(ended, espalier.CompileOptions{}); !errors.Is(err, context.Canceled) || errors.Is(err, espalier.ErrLimit) {
		t.Errorf("the error is %v", err)
	}
	c.Limits.Compile = time.Hour
	if err := predictWith(t, c, path); err != nil {
		t.Error(err)
	}
}

// A picture is measured before it is unpacked.
func TestLimitPicture(t *testing.T) {
	// The beginning of a PNG of 20000 × 20000 pixels of 16 bits a channel, and as much of what follows as makes it plausible.
	var file bytes.Buffer
	file.WriteString("\x89PNG\r\n\x1a\n")
	header := binary.BigEndian.AppendUint32([]byte("IHDR"), 20000)
	header = append(binary.BigEndian.AppendUint32(header, 20000), 16, 6, 0, 0, 0)
	binary.Write(&file, binary.BigEndian, uint32(len(header)-4))
	file.Write(header)
	binary.Write(&file, binary.BigEndian, crc32.ChecksumIEEE(header))
	file.Write(make([]byte, 200_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := espalier.Limits{Memory: 1 << 30}.DecodePicture(bytes.NewReader(file.Bytes()))
	runtime.ReadMemStats(&after)
	var e *espalier.LimitError
	if !errors.As(err, &e) || e.Asked != 8*20000*20000 || e.Allowed != 1<<30 {
		t.Errorf("the error is %v", err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<22 {
		t.Errorf("%d bytes were taken to say so", taken)
	}
}
