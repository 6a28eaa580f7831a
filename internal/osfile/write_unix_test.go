//go:build unix

package osfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWriteAtomicPermissions(t *testing.T) {
	defer unix.Umask(unix.Umask(0o027))
	dir := t.TempDir()
	path := filepath.Join(dir, "out.npz")
	check := func(want fs.FileMode) {
		t.Helper()
		if err := WriteAtomic(path, put("x")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("permissions are %v, want %v", got, want)
		}
	}
	check(0o640) // a new file: by the mask
	if err := os.Chmod(path, 0o604); err != nil {
		t.Fatal(err)
	}
	check(0o604) // a replaced file: its own
}

// A folder in which nothing can be created gives an error that names the file
// asked for, the folder and the reason, and not the temporary file.
func TestWriteAtomicReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.npz")
	if err := WriteAtomic(path, put("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	if os.Geteuid() == 0 {
		asOrdinaryUser(t, dir)
	}

	err := WriteAtomic(path, func(io.Writer) error { t.Error("the writer was called"); return nil })
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("got %v, want fs.ErrPermission", err)
	}
	for _, want := range []string{path, "folder " + dir, "permission denied"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), ".tmp-") {
		t.Errorf("error %q names the temporary file", err)
	}
	wantOnly(t, dir, "out.npz", "old")
}
