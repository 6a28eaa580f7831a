package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A verdict is a testing.TB that notes how the test ended instead of ending
// the real one.
type verdict struct {
	testing.TB
	how string // "passed", "failed", "fatal" or "skipped"
	msg string
}

func (v *verdict) Helper() {}

func (v *verdict) Errorf(format string, args ...any) {
	v.how, v.msg = "failed", fmt.Sprintf(format, args...)
}

func (v *verdict) Fatal(args ...any) { v.end("fatal", fmt.Sprint(args...)) }

func (v *verdict) Fatalf(format string, args ...any) { v.end("fatal", fmt.Sprintf(format, args...)) }

func (v *verdict) Skipf(format string, args ...any) { v.end("skipped", fmt.Sprintf(format, args...)) }

func (v *verdict) end(how, msg string) {
	v.how, v.msg = how, msg
	runtime.Goexit()
}

// judge runs f with a verdict, to its end or to the call that ends the test.
func judge(f func(t testing.TB)) *verdict {
	v := &verdict{how: "passed"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(v)
	}()
	<-done
	return v
}

func (v *verdict) want(t *testing.T, how, msg string) {
	t.Helper()
	if v.how != how || !strings.Contains(v.msg, msg) {
		t.Errorf("%s with %q, want %s with %q", v.how, v.msg, how, msg)
	}
}

// repo makes a repository in a fresh folder, enters a folder deep inside it,
// and returns its root.
func repo(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "main")
	deep := filepath.Join(root, "internal", "deep")
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module m\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	return root
}

func TestRoot(t *testing.T) {
	if _, err := os.Stat(filepath.Join(Root(t), "internal", "testkit", "testkit.go")); err != nil {
		t.Error(err)
	}
	want := repo(t)
	if got := Root(t); !sameFile(t, got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	ia, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	ib, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(ia, ib)
}

func TestShared(t *testing.T) {
	beside := filepath.Join(filepath.Dir(repo(t)), "shared")
	shared := func(elem ...string) *verdict {
		return judge(func(t testing.TB) { Shared(t, elem...) })
	}

	t.Setenv(envShared, "")
	t.Setenv(envRequireShared, "")
	t.Setenv("CI", "true") // a fork's CI does not have the data
	shared("mil").want(t, "skipped", "ESPALIER_SHARED")
	t.Setenv(envRequireShared, "1")
	shared("mil").want(t, "fatal", "ESPALIER_SHARED")

	if err := os.MkdirAll(filepath.Join(beside, "mil"), 0o777); err != nil {
		t.Fatal(err)
	}
	shared("mil").want(t, "passed", "")
	if got := Shared(t, "mil"); !sameFile(t, got, filepath.Join(beside, "mil")) {
		t.Errorf("got %s", got)
	}
	t.Setenv(envRequireShared, "")
	shared("milk").want(t, "fatal", "milk") // a wrong name must not pass as absence

	elsewhere := t.TempDir()
	t.Setenv(envShared, elsewhere)
	if got := Shared(t); got != elsewhere {
		t.Errorf("got %s, want %s", got, elsewhere)
	}
	t.Setenv(envShared, filepath.Join(elsewhere, "none"))
	shared().want(t, "fatal", "is not a folder")
}

func TestGolden(t *testing.T) {
	defer func(old bool) { *update = old }(*update)
	path := filepath.Join(t.TempDir(), "new", "x.golden")
	golden := func(got string) *verdict {
		return judge(func(t testing.TB) { Golden(t, path, []byte(got)) })
	}

	*update = false
	golden("a\nb\nc\n").want(t, "fatal", "-update")
	*update = true
	golden("a\nb\nc\n").want(t, "passed", "")
	*update = false
	golden("a\nb\nc\n").want(t, "passed", "")
	golden("a\nB\nc\n").want(t, "failed", "line 2:\n       a\n  want \"b\\n\"\n  got  \"B\\n\"\n")
	golden("a\nb\n").want(t, "failed", "got  (end of text)")
	golden("a\nb\nc\nd").want(t, "failed", `got  "d"`)
	golden("a\nb\nc").want(t, "failed", `want "c\n"`)
}
