package coreml

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// zipOf packs files, with a folder before their names.
func zipOf(t testing.TB, top string, method uint16, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: top + name, Method: method})
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipFile(t testing.TB, content []byte) string {
	return filepath.Join(writeFiles(t, t.TempDir(), map[string]string{"model.zip": string(content)}), "model.zip")
}

func TestZippedPackage(t *testing.T) {
	for _, top := range []string{"", "model.mlpackage/", "a folder/"} {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			files := packageFiles()
			m := open(t, zipFile(t, zipOf(t, top, method, files)))
			if m.Format != Package {
				t.Errorf("got format %v", m.Format)
			}
			wantOneToFour(t, m)
		}
	}
	// As macOS packs a folder.
	files := map[string]string{"__MACOSX/._m.mlpackage": "x", ".DS_Store": "x"}
	for name, content := range packageFiles() {
		files["m.mlpackage/"+name] = content
	}
	wantOneToFour(t, open(t, zipFile(t, zipOf(t, "", zip.Deflate, files))))

	m := open(t, zipFile(t, zipOf(t, "", zip.Store, packageFiles())))
	array, err := loadOnly(m)
	if err != nil {
		t.Fatal(err)
	}
	all := m.file.src.(*archive).mapping.Bytes()
	if i := bytes.LastIndex(all[:len(all)-100], halves); &array.Bytes()[0] != &all[i] {
		t.Error("a stored weight was copied")
	}
}

func TestZipErrors(t *testing.T) {
	good := zipOf(t, "", zip.Deflate, packageFiles())
	twice := func() []byte {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for range 2 {
			f, _ := w.Create(manifestName)
			f.Write([]byte(manifestText))
		}
		w.Close()
		return out.Bytes()
	}
	linked := func() []byte {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		h := &zip.FileHeader{Name: manifestName}
		h.SetMode(fs.ModeSymlink | 0o777)
		f, _ := w.CreateHeader(h)
		f.Write([]byte("/etc/passwd"))
		w.Close()
		return out.Bytes()
	}
	damaged := slices.Clone(good)
	at := bytes.Index(damaged, []byte(manifestName)) + len(manifestName)
	for i := range 16 {
		damaged[at+i] ^= 0x55
	}
	encrypted := bytes.Replace(good, []byte("PK\x01\x02\x14\x00\x14\x00\x08"), []byte("PK\x01\x02\x14\x00\x14\x00\x09"), 1)
	for _, c := range []struct {
		name string
		data []byte
		is   error
		want string
	}{
		{"cut off", good[:len(good)/2], nil, "cannot be read"},
		{"empty", []byte("PK\x05\x06" + strings.Repeat("\x00", 18)), nil, "neither a package"},
		{"two entries", twice(), nil, "two entries"},
		{"symbolic link", linked(), ErrOutsidePackage, "symbolic link"},
		{"damaged", damaged, nil, "Manifest.json"},
		{"encrypted", encrypted, ErrNotSupported, "encrypted"},
		{"unknown method", bytes.ReplaceAll(good, []byte("\x08\x00\x08\x00"), []byte("\x08\x00\x63\x00")), nil, "cannot be read"},
		{"no model", zipOf(t, "", zip.Deflate, map[string]string{manifestName: manifestText}), fs.ErrNotExist, "model.mlmodel"},
		{"not downloaded", zipOf(t, "", zip.Deflate, map[string]string{manifestName: lfsHeader}), ErrLFSPointer, "Manifest.json"},
		{"model upwards", zipOf(t, "", zip.Deflate, map[string]string{
			manifestName: strings.Replace(manifestText, "com.apple.CoreML/model", "../model", 1), "model.mlmodel": "x"}), ErrOutsidePackage, "../model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Open(zipFile(t, c.data))
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			if c.is == nil {
				wantFormatError(t, err, "model.zip", c.want)
			} else if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v of type %T, want %v", err, err, c.is)
			}
		})
	}
}

// A stored entry whose sizes point out of the archive.
func TestZipStoredOutside(t *testing.T) {
	data := zipOf(t, "", zip.Store, packageFiles())
	i := bytes.LastIndex(data, []byte("PK\x01\x02")) // the last entry of the directory: the weights
	copy(data[i+20:], []byte{0xff, 0xff, 0xff, 0x0f, 0xff, 0xff, 0xff, 0x0f})
	path := zipFile(t, data)
	m, err := Open(path)
	if err == nil {
		defer m.Close()
		_, err = loadOnly(m)
	}
	wantFormatError(t, err, "model.zip")
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// An archive may not unpack to much more than its own size, whatever sizes it declares.
func TestZipBomb(t *testing.T) {
	const size, budget = 1 << 20, 1 << 16
	honest := zipOf(t, "", zip.Deflate, map[string]string{"zeros": strings.Repeat("\x00", size)})
	liar := slices.Clone(honest)
	i := bytes.Index(liar, []byte("PK\x01\x02"))
	copy(liar[i+24:], []byte{16, 0, 0, 0}) // the unpacked size
	for name, data := range map[string][]byte{"bomb": honest, "bomb that lies": liar} {
		mapping, err := osfile.Map(zipFile(t, data))
		if err != nil {
			t.Fatal(err)
		}
		a, err := newArchive("model.zip", mapping)
		if err != nil {
			t.Fatal(err)
		}
		if a.budget != unpackAlways {
			t.Errorf("%s: %d bytes may be unpacked", name, a.budget)
		}
		a.budget = budget
		if _, err = a.open("zeros"); err == nil {
			t.Errorf("%s: no error", name)
		}
		wantFormatError(t, err, "model.zip:zeros")
		if name == "bomb" {
			wantFormatError(t, err, "more than is believable")
		}
		if err := a.close(); err != nil {
			t.Error(err)
		}
	}
	// Many entries share what may be unpacked.
	files := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		files[name] = strings.Repeat("\x00", budget/2)
	}
	mapping, err := osfile.Map(zipFile(t, zipOf(t, "", zip.Deflate, files)))
	if err != nil {
		t.Fatal(err)
	}
	a, err := newArchive("model.zip", mapping)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	a.budget = budget
	for _, name := range []string{"a", "a", "b"} { // opened once, unpacked once
		if _, err := a.open(name); err != nil {
			t.Error(err)
		}
	}
	_, err = a.open("c")
	wantFormatError(t, err, "more than is believable")
}
