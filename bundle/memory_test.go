package bundle

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hwx"
)

// parts is the sample in memory.
type parts struct {
	manifest   Manifest
	program    *e5.Program
	containers map[string]*hwx.File
	host       string
	weights    map[string][]byte
}

func inMemory(t testing.TB) *parts {
	t.Helper()
	c := sample(t)
	program, err := e5.Decode(c.Program)
	if err != nil {
		t.Fatal(err)
	}
	file, err := hwx.NewFile(container(t))
	if err != nil {
		t.Fatal(err)
	}
	return &parts{
		manifest: c.Manifest, program: program, host: c.Host, weights: map[string][]byte{"weights/a.bin": []byte("01234567")},
		containers: map[string]*hwx.File{ContainerPath(0): file, ContainerPath(1): file},
	}
}

func (p *parts) bundle() (*Bundle, error) {
	return New(p.manifest, p.program, p.containers, p.host, p.weights)
}

// A bundle in memory is the one that is written from the same content, and so is
// one that was opened.
func TestNew(t *testing.T) {
	p := inMemory(t)
	b, err := p.bundle()
	if err != nil {
		t.Fatal(err)
	}
	if b.ID() != "" || b.Host() != p.host || b.Container(ContainerPath(1)) != p.containers[ContainerPath(1)] || b.Bytes(ContainerPath(0)) != nil {
		t.Error("the bundle is not what it was made of")
	}
	if &b.Bytes("weights/a.bin")[0] != &p.weights["weights/a.bin"][0] {
		t.Error("the weights are copied")
	}
	if got, ok := b.Weight("w"); !ok || string(got) != "234567" {
		t.Errorf("weight w is %q, %t", got, ok)
	}
	_, want := write(t)
	dir := filepath.Join(t.TempDir(), "net.bundle")
	for range 2 { // from memory, then from disk
		id, err := Write(dir, b.Content())
		if err != nil {
			t.Fatal(err)
		}
		if id != want {
			t.Errorf("written, its ID is %s, want %s", id, want)
		}
		opened, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		if !reflect.DeepEqual(opened.Program, b.Program) || !bytes.Equal(opened.Bytes(ProgramPath), b.Bytes(ProgramPath)) {
			t.Error("the descriptor differs")
		}
		b, dir = opened, filepath.Join(t.TempDir(), "again.bundle")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(*parts){
		`functions[0].segments[0].container: there is no container "segments/0.hwx"`: func(p *parts) { delete(p.containers, ContainerPath(0)) },
		"nothing uses segments/2.hwx":                   func(p *parts) { p.containers[ContainerPath(2)] = p.containers[ContainerPath(0)] },
		`a container cannot be at "weights/b.hwx"`:      func(p *parts) { p.containers["weights/b.hwx"] = p.containers[ContainerPath(0)] },
		`weights cannot be at "segments/0.hwx"`:         func(p *parts) { p.weights[ContainerPath(0)] = nil },
		"the path leaves the bundle":                    func(p *parts) { p.weights["weights/../../b"] = nil },
		"there is no host.mil":                          func(p *parts) { p.host = "" },
		"6 bytes at 2 are not in weights/a.bin":         func(p *parts) { p.weights["weights/a.bin"] = []byte("0123") },
		"1 functions, and 2 in program.e5":              func(p *parts) { p.manifest.Functions = p.manifest.Functions[:1] },
		"program.e5: the descriptor has fields that":    func(p *parts) { p.program.Unknown = []string{"x"} },
		`functions[1].name: "other", and "another" in `: func(p *parts) { p.program.Functions[1].Name = "another" },
	} {
		p := inMemory(t)
		change(p)
		_, err := p.bundle()
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
