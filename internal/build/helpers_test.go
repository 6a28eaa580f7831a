package build

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/testkit"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openCache opens a cache in a fresh folder. Its compiler has the version 1: the digest of the test binary takes a while.
func openCache(t testing.TB) *Cache {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "cache"), 0)
}

func openAt(t testing.TB, dir string, bound int64) *Cache {
	t.Helper()
	c, err := Open(dir, bound)
	check(t, err)
	c.version = func() (string, error) { return "1", nil }
	return c
}

// copyModel copies a model of the repository to a folder of the test.
func copyModel(t testing.TB, name string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), name+".mlpackage")
	check(t, os.CopyFS(to, os.DirFS(filepath.Join(testkit.Root(t), "testdata", "models", name, "model.mlpackage"))))
	return to
}

// openJob opens a model, and makes a job of its first function.
func openJob(t testing.TB, path, target string) *compiler.Job {
	t.Helper()
	m, err := coreml.Open(path)
	check(t, err)
	t.Cleanup(func() { m.Close() })
	job, err := jobOf(m, target)
	check(t, err)
	return job
}

func jobOf(m *coreml.Model, target string) (*compiler.Job, error) {
	p, err := m.Program()
	if err != nil {
		return nil, err
	}
	if err := m.LoadWeights(context.Background()); err != nil {
		return nil, err
	}
	row, err := hal.Lookup(target)
	if err != nil {
		return nil, err
	}
	f := p.Functions[0]
	shapes := m.Description.Functions[0].DefaultShapes(f)
	return &compiler.Job{
		Target: row, Program: p, Variant: true,
		Functions: []compiler.Entry{{Function: f, Shapes: shapes, Features: bundle.Function{Name: f.Name}}},
	}, nil
}

// build asks a cache for a job.
func build(t testing.TB, c *Cache, job *compiler.Job) *Built {
	t.Helper()
	built, err := c.Build(context.Background(), Request{Job: job, Model: "model", Note: func(err error) { t.Errorf("note: %v", err) }})
	check(t, err)
	t.Cleanup(func() {
		for _, m := range built.Mapped {
			m.Close()
		}
	})
	return built
}

// files are what a bundle is made of, by path.
func files(t testing.TB, b *bundle.Bundle) map[string][]byte {
	t.Helper()
	c := b.Content()
	all := map[string][]byte{bundle.ProgramPath: c.Program, bundle.HostPath: []byte(c.Host)}
	for _, list := range [][]bundle.Blob{c.Containers, c.Weights} {
		for _, blob := range list {
			var data bytes.Buffer
			check(t, blob.Write(&data))
			all[blob.Path] = data.Bytes()
		}
	}
	return all
}

// same compares two bundles, byte for byte.
func same(t testing.TB, what string, got, want *bundle.Bundle) {
	t.Helper()
	a, b := files(t, got), files(t, want)
	if len(a) != len(b) {
		t.Errorf("%s: %d files instead of %d", what, len(a), len(b))
	}
	for path, data := range b {
		if !bytes.Equal(a[path], data) {
			t.Errorf("%s: %s differs", what, path)
		}
	}
}

// ours are the files of a cache, without locks.
func ours(t testing.TB, c *Cache) []string {
	t.Helper()
	var list []string
	check(t, filepath.WalkDir(c.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(filepath.Dir(path)) != locksDir && d.Name() != trimName {
			list = append(list, path)
		}
		return err
	}))
	slices.Sort(list)
	return list
}

// later sets the clock of a cache: by then files have settled, and are what their times say.
func later(c *Cache, by time.Duration) { c.now = func() time.Time { return time.Now().Add(by) } }
