package osfile

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestMain is also what a test starts of itself: it makes a temporary folder and waits to
// be killed.
func TestMain(m *testing.M) {
	if target := os.Getenv("ESPALIER_TEST_TEMP"); target != "" {
		dir, _, err := MakeTempDir(target)
		fmt.Println(dir)
		if err == nil {
			select {} // until it is killed
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func there(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// A folder of a process that lives stays; that of one that was killed goes, be
// it a moment old.
func TestTempOfAKilledProcess(t *testing.T) {
	if _, err := lock(t.TempDir()); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("this system has no locks: age decides")
	}
	target := filepath.Join(t.TempDir(), "net.bundle")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "ESPALIER_TEST_TEMP="+target)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the child says nothing")
	}
	left := lines.Text()
	cleanTemp(target)
	if !there(left) {
		t.Fatal("the folder of a living process is gone")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	mine, release, err := MakeTempDir(target)
	if err != nil {
		t.Fatal(err)
	}
	if there(left) {
		t.Error("the folder of a killed process stays")
	}
	cleanTemp(target)
	if !there(mine) {
		t.Error("this process's own folder is gone")
	}
	release()
	cleanTemp(target)
	if there(mine) {
		t.Error("a folder that nobody holds stays")
	}
}

// Without a target, what was replaced is the only copy.
func TestCleanKeepsTheOnlyCopy(t *testing.T) {
	target := filepath.Join(t.TempDir(), "net.bundle")
	old := filepath.Join(filepath.Dir(target), ".net.bundle.espalier-old-0123abcd")
	long := time.Now().Add(-2 * staleAge)
	if err := errors.Join(os.Mkdir(old, 0o777), os.Chtimes(old, long, long)); err != nil {
		t.Fatal(err)
	}
	cleanTemp(target)
	if !there(old) {
		t.Error("the only copy is gone")
	}
	if err := os.Mkdir(target, 0o777); err != nil {
		t.Fatal(err)
	}
	cleanTemp(target)
	if there(old) {
		t.Error("what was replaced stays")
	}
}

// What killed runs have left goes with the next file, too; a link with a name of
// ours is not ours.
func TestWriteAtomicCleans(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.npz")
	left, link := filepath.Join(dir, ".out.npz.espalier-tmp-0123abcd"), filepath.Join(dir, ".out.npz.espalier-tmp-00000000")
	long := time.Now().Add(-2 * staleAge)
	if err := errors.Join(os.WriteFile(left, []byte("half"), 0o666), os.Chtimes(left, long, long)); err != nil {
		t.Fatal(err)
	}
	linked := os.Symlink(path, link) == nil
	if err := WriteAtomic(path, put("new")); err != nil {
		t.Fatal(err)
	}
	if there(left) {
		t.Error("what a killed run has left stays")
	}
	if linked {
		if !there(link) {
			t.Error("a link is gone")
		}
		os.Remove(link)
	}
	wantOnly(t, dir, "out.npz", "new")
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "net.bundle")
	temp, release, err := MakeTempDir(target)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for folder, content := range map[string]string{temp: "new", target: "old"} {
		if err := errors.Join(os.MkdirAll(folder, 0o777), os.WriteFile(filepath.Join(folder, "x"), []byte(content), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		if err := errors.Join(exchange(temp, target), exchange(temp, target)); err != nil {
			t.Errorf("two folders are not exchanged: %v", err)
		}
	}
	if err := Replace(temp, target); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(target, "x")); string(data) != "new" {
		t.Errorf("found %q, %v", data, err)
	}
	if there(temp) {
		t.Error("what was replaced stays")
	}
}
