package dump_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/explain/dump"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// What a file is, its content says; every format has its type, and all three forms.
func TestFormats(t *testing.T) {
	root, dir := testkit.Root(t), t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var npy, npz bytes.Buffer
	if err := tensor.WriteNPY(&npy, tensor.Scalar(2.5)); err != nil {
		t.Fatal(err)
	}
	if err := tensor.WriteNPZ(&npz, []tensor.Named{{Name: "x", Tensor: tensor.Of([]float32{1, 2}, 2)}}); err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(root, "testdata", "models", "tiny_mobilenet", "model.mlpackage")
	inside := filepath.Join(model, "Data", "com.apple.CoreML")
	for _, c := range []struct {
		path, format string
		content      dump.Content
	}{
		{filepath.Join(root, "hwx", "testdata", "relu16.hwx"), "hardware container", &dump.Container{}},
		{model, "package", &dump.Model{}},
		{filepath.Join(inside, "model.mlmodel"), "specification", &dump.Model{}},
		{filepath.Join(inside, "weights", "weight.bin"), "weight file", &dump.WeightFile{}},
		{write("text", []byte("program(1.0) {\n  func main<ios15>() {\n  } -> ();\n}\n")), "MIL text", &dump.Model{}},
		{write("array", npy.Bytes()), "npy array", &dump.Arrays{}},
		{write("arrays", npz.Bytes()), "npz archive", &dump.Arrays{}},
	} {
		r, err := dump.File(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.format, err)
			continue
		}
		if r.Format != c.format || reflect.TypeOf(r.Content) != reflect.TypeOf(c.content) || r.Size == 0 {
			t.Errorf("%s is %q with %T, %d bytes; want %q with %T", c.path, r.Format, r.Content, r.Size, c.format, c.content)
		}
		var text, written bytes.Buffer
		if err := errors.Join(r.WriteText(&text), r.WriteJSON(&written)); err != nil || !strings.HasPrefix(text.String(), c.path) {
			t.Errorf("%s: %v, text %q", c.format, err, &text)
		}
		var head dump.Head
		if err := json.Unmarshal(written.Bytes(), &head); err != nil || head != r.Head {
			t.Errorf("%s: the JSON begins with %+v, want %+v: %v", c.format, head, r.Head, err)
		}
		marshaled, err := json.Marshal(r)
		if err != nil || !json.Valid(marshaled) {
			t.Errorf("%s: %v", c.format, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		err = dump.Raw(&text, c.path)
		if folder := c.format == "package"; errors.Is(err, dump.ErrFolder) != folder || !folder && err != nil {
			t.Errorf("the words of %s: %v", c.path, err)
		}
	}
}

// Of a damaged file there is what comes before the damage, and all of its words.
func TestDamagedFile(t *testing.T) {
	good, err := os.ReadFile(filepath.Join(testkit.Root(t), "hwx", "testdata", "conv3x2.hwx"))
	if err != nil {
		t.Fatal(err)
	}
	good[0x4000+4*10+3] ^= 0xff // the first record of the first task
	path := filepath.Join(t.TempDir(), "damaged.hwx")
	if err := os.WriteFile(path, good, 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := dump.File(path)
	if r == nil || err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("got %v, %v; want a report and an error that names the file", r, err)
	}
	defer r.Close()
	if c := r.Content.(*dump.Container); len(c.Ports) != 2 || len(c.Tasks) != 0 {
		t.Errorf("%d ports and %d tasks, want the ports alone", len(c.Ports), len(c.Tasks))
	}
	var words bytes.Buffer
	if err := dump.Raw(&words, path); err != nil || words.Len() == 0 {
		t.Errorf("its words: %v", err)
	}
}

func TestUnknownFiles(t *testing.T) {
	dir := t.TempDir()
	for content, want := range map[string]string{
		"":                 "the file is empty",
		"bplist00\x01":     "this is a binary property list, which dump does not read",
		"\x00\x01\x02\x03": "it begins with 00 01 02 03, as no format does that dump knows",
	} {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		for form, try := range map[string]func() error{
			"File": func() error { _, err := dump.File(path); return err },
			"Raw":  func() error { return dump.Raw(new(bytes.Buffer), path) },
		} {
			if err := try(); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %q: %v, want %q", form, content, err, want)
			}
		}
	}
	if r, err := dump.File(filepath.Join(dir, "absent")); r != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v, %v", r, err)
	}
}
