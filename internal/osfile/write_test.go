package osfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// put returns a writer function for WriteAtomic that writes s.
func put(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// wantOnly fails unless dir holds the one file, with the given content.
func wantOnly(t *testing.T, dir, name, content string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != name {
		t.Fatalf("the folder holds %v, want %s alone", entries, name)
	}
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != content {
		t.Fatalf("content is %q, want %q", got, content)
	}
}

func TestWriteAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.npz")
	for _, content := range []string{"first", "", strings.Repeat("long ", 1<<16)} {
		if err := WriteAtomic(path, put(content)); err != nil {
			t.Fatal(err)
		}
		wantOnly(t, dir, "out.npz", content)
	}
}

func TestWriteAtomicLongName(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("n", 250)
	if err := WriteAtomic(filepath.Join(dir, name), put("x")); err != nil {
		t.Fatal(err)
	}
	wantOnly(t, dir, name, "x")
}

// When the writer fails, at its start or after more than the buffer holds, the
// old file stays and the temporary one goes.
func TestWriteAtomicWriterFails(t *testing.T) {
	boom := errors.New("boom")
	for _, written := range []int{0, 1 << 20} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out.npz")
		if err := WriteAtomic(path, put("old")); err != nil {
			t.Fatal(err)
		}
		err := WriteAtomic(path, func(w io.Writer) error {
			if _, err := w.Write(make([]byte, written)); err != nil {
				t.Error(err)
			}
			return boom
		})
		if err != boom {
			t.Errorf("got %v, want the writer's own error", err)
		}
		wantOnly(t, dir, "out.npz", "old")
	}
}

func TestWriteAtomicWriterPanics(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.npz")
	if err := WriteAtomic(path, put("old")); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("recovered %v, want the writer's panic", v)
			}
		}()
		WriteAtomic(path, func(io.Writer) error { panic("boom") })
	}()
	wantOnly(t, dir, "out.npz", "old")
}

// What is not a regular file is neither replaced nor written to. A device is
// the case that matters: renaming over /dev/null would break the machine.
func TestWriteAtomicRefuses(t *testing.T) {
	never := func(io.Writer) error { t.Error("the writer was called"); return nil }
	dir := t.TempDir()
	targets := []string{dir}
	if runtime.GOOS != "windows" {
		targets = append(targets, os.DevNull)
	}
	for _, path := range targets {
		if err := WriteAtomic(path, never); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want ErrNotRegular with the path", path, err)
		}
	}
	path := filepath.Join(dir, "none", "out.npz")
	if err := WriteAtomic(path, never); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("missing folder: got %v, want fs.ErrNotExist with the path", err)
	}
}

func TestWriteAtomicFollowsLink(t *testing.T) {
	dir, links := t.TempDir(), t.TempDir()
	link := filepath.Join(links, "link.npz")
	if err := os.Symlink(filepath.Join(dir, "out.npz"), link); err != nil {
		t.Skipf("this system makes no symbolic links: %v", err)
	}
	if err := WriteAtomic(link, put("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dangling link: got %v, want fs.ErrNotExist", err)
	}
	if err := WriteAtomic(filepath.Join(dir, "out.npz"), put("old")); err != nil {
		t.Fatal(err)
	}
	if err := WriteAtomic(link, put("new")); err != nil {
		t.Fatal(err)
	}
	wantOnly(t, dir, "out.npz", "new")
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
}
