package bundle

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// Who opens a bundle while it is replaced finds the one or the other, never none
// and never half of one.
func TestReplaceLeavesNoMomentWithout(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system cannot exchange two folders in one step")
	}
	dir, _ := write(t)
	other, _ := write(t)
	content := sample(t)
	done := make(chan error, 1)
	go func() {
		for i := range 200 {
			var err error
			if i%20 == 0 {
				_, err = Write(dir, content)
			} else {
				err = copyOver(dir, other) // as Write, but it does not wait for the disk
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for opened := 0; ; opened++ {
		if !IsBundle(dir) {
			t.Fatalf("after %d times there is none", opened)
		}
		b, err := Open(dir)
		if err != nil {
			t.Fatalf("after %d times: %v", opened, err)
		}
		b.Close()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

// copyOver replaces a bundle by a copy of another.
func copyOver(dir, other string) error {
	temp, release, err := osfile.MakeTempDir(dir)
	if err != nil {
		return err
	}
	defer release()
	if err := os.CopyFS(temp, os.DirFS(other)); err != nil {
		return err
	}
	return osfile.Replace(temp, dir)
}

// What killed writers have left beside a bundle goes with the next one. What is
// not ours, or is being written, stays.
func TestWriteCleansWhatKilledWritersLeft(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "net.bundle")
	stale := ".net.bundle.espalier-tmp-0123abcd"
	if err := os.MkdirAll(filepath.Join(top, stale, "weights"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, stale, "weights", "a.bin"), []byte("half of it"), 0o666); err != nil {
		t.Fatal(err)
	}
	foreign := []string{".net.bundle.espalier-tmp-mine", ".net.bundle.tmp-0123abcd", ".other.bundle.espalier-tmp-0123abcd", "net.bundle.espalier-tmp-0123abcd"}
	for _, name := range foreign {
		if err := os.Mkdir(filepath.Join(top, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Write(dir, sample(t)); err != nil {
		t.Fatal(err)
	}
	entries := func() (names []string) {
		list, err := os.ReadDir(top)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			names = append(names, e.Name())
		}
		return names
	}
	want := append(slices.Clone(foreign), "net.bundle")
	slices.Sort(want)
	if got := entries(); !slices.Equal(got, want) {
		t.Errorf("beside the bundle there are %q, want %q", got, want)
	}

	// A second writer, while the first is at it.
	c := sample(t)
	whole := c.Weights[0].Write
	c.Weights[0].Write = func(w io.Writer) error {
		before := len(entries())
		if _, err := Write(dir, sample(t)); err != nil {
			t.Error(err)
		}
		if after := len(entries()); after != before {
			t.Errorf("%d entries, and %d after another writer", before, after)
		}
		return whole(w)
	}
	if _, err := Write(dir, c); err != nil {
		t.Error(err)
	}
	if got := entries(); !slices.Equal(got, want) {
		t.Errorf("beside the bundle there are %q, want %q", got, want)
	}
}
