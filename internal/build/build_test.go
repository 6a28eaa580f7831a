package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/segment"
)

// What is taken from the cache is what was compiled, byte for byte. Weights are those of the model itself.
func TestBuild(t *testing.T) {
	c := openCache(t)
	for _, target := range []string{"virtual", "h13"} {
		for _, name := range []string{"conv2d_basic", "b_nms", "flex_range", "tiny_mobilenet"} {
			path := copyModel(t, name)
			first := build(t, c, openJob(t, path, target))
			if first.Cached {
				t.Fatalf("%s: a new cache has it", name)
			}
			job := openJob(t, path, target)
			second := build(t, c, job)
			if !second.Cached {
				t.Fatalf("%s on %s: it is not kept", name, target)
			}
			same(t, name+" on "+target, second.Bundle, first.Bundle)
			if len(first.Origins) != 1 || len(first.Origins[0]) == 0 || len(second.Origins[0]) != len(first.Origins[0]) {
				t.Errorf("%s: origins %v and %v", name, first.Origins, second.Origins)
			}
			for i, o := range first.Origins[0] {
				if got := second.Origins[0][i]; len(got.Tasks) != len(o.Tasks) || strings.Join(got.Host, " ") != strings.Join(o.Host, " ") {
					t.Errorf("%s: segment %d: %v instead of %v", name, i, got, o)
				}
			}
			// On virtual the weights are the model's memory, and the cache has none of their bytes.
			for _, f := range second.Bundle.Manifest.Files {
				if f.Role != bundle.RoleWeights {
					continue
				}
				_, weights, err := c.keyOf(context.Background(), job)
				check(t, err)
				if !sameMemory(second.Bundle.Bytes(f.Path), weights[0].data) {
					t.Errorf("%s: %s is a copy", name, f.Path)
				}
				for _, file := range ours(t, c) {
					data, err := os.ReadFile(file)
					check(t, err)
					if piece := weights[0].data[len(weights[0].data)/2:][:64]; bytes.Contains(data, piece) {
						t.Errorf("%s: %s has the weights", name, filepath.Base(file))
					}
				}
			}
		}
	}
}

// A key changes with all that changes the bundle, and with nothing else.
func TestKey(t *testing.T) {
	c, path := openCache(t), copyModel(t, "conv2d_basic")
	key := func(change func(*compiler.Job)) Key {
		t.Helper()
		job := openJob(t, path, "h13")
		change(job)
		k, _, err := c.keyOf(context.Background(), job)
		check(t, err)
		return k
	}
	plain := key(func(*compiler.Job) {})
	if plain != key(func(*compiler.Job) {}) {
		t.Error("the same job has two keys")
	}
	seen := map[Key]string{plain: "plain"}
	other := func(name string, change func(*compiler.Job)) {
		t.Helper()
		k := key(change)
		if was := seen[k]; was != "" {
			t.Errorf("%s has the key of %s", name, was)
		}
		seen[k] = name
	}
	virtual := openJob(t, path, "virtual").Target
	other("target", func(j *compiler.Job) { j.Target = virtual })
	other("numerics", func(j *compiler.Job) { j.Numerics = "h13,saturate-at-port=0" })
	other("engine only", func(j *compiler.Job) { j.EngineOnly = true })
	other("strict", func(j *compiler.Job) { j.Strict = true })
	other("one container", func(j *compiler.Job) { j.OneContainer = true })
	other("source", func(j *compiler.Job) { j.Variant = false })
	other("pipeline", func(j *compiler.Job) { j.Pipeline = &bundle.Pipeline{Name: "p"} })
	other("features", func(j *compiler.Job) { j.Functions[0].Features.Inputs = []bundle.Feature{{Name: "x", Kind: "int64"}} })
	other("shapes", func(j *compiler.Job) { j.Functions[0].Shapes = map[string][]int{"x": {1, 2}} })
	other("name", func(j *compiler.Job) { f := *j.Functions[0].Function; f.Name = "f"; j.Functions[0].Function = &f })
	other("attribute", func(j *compiler.Job) { j.Functions[0].Function.Body.Operations[0].Attributes = nil })
	other("opset", func(j *compiler.Job) { j.Functions[0].Function.Opset = "ios99" })
	other("order", func(j *compiler.Job) {
		ops := j.Functions[0].Function.Body.Operations
		ops[0], ops[1] = ops[1], ops[0]
	})
	c.version = func() (string, error) { return "2", nil }
	other("compiler", func(*compiler.Job) {})

	// Another place of the same bytes is nothing.
	c.version = func() (string, error) { return "1", nil }
	path = copyModel(t, "conv2d_basic")
	if key(func(*compiler.Job) {}) != plain {
		t.Error("a copy of the model has another key")
	}
	weights := filepath.Join(path, "Data", "com.apple.CoreML", "weights", "weight.bin")
	data, err := os.ReadFile(weights)
	check(t, err)
	data[len(data)-1] ^= 1
	check(t, os.WriteFile(weights, data, 0o666))
	other("weights", func(*compiler.Job) {})
}

// The digest of a weight file is computed once: what is remembered is believed as long as the file is the same.
func TestDigestsAreRemembered(t *testing.T) {
	c, path := openCache(t), copyModel(t, "conv2d_basic")
	weights := filepath.Join(path, "Data", "com.apple.CoreML", "weights", "weight.bin")
	digests := func() int {
		t.Helper()
		l, err := c.List()
		check(t, err)
		return l.Digests
	}
	build(t, c, openJob(t, path, "virtual"))
	if n := digests(); n != 0 {
		t.Errorf("%d digests are remembered of files that were written just now", n)
	}
	later(c, time.Minute)
	job := openJob(t, path, "virtual")
	if !build(t, c, job).Cached || digests() != 1 {
		t.Errorf("%d digests are remembered", digests())
	}
	// Somebody who plants another digest under the file's identity is believed: so it was looked up.
	m, err := osfile.Map(weights)
	check(t, err)
	defer m.Close()
	id, ok := m.Identity()
	if !ok {
		t.Skip("this system does not tell files apart")
	}
	check(t, c.put(digestKey(id, ""), formatDigest([32]byte{1})))
	if build(t, c, job).Cached {
		t.Error("the file was digested again")
	}
	// Not any more once the file changed, even if its time and size are what they were.
	info, err := os.Stat(weights)
	check(t, err)
	data, err := os.ReadFile(weights)
	check(t, err)
	check(t, os.WriteFile(weights+"2", data, 0o666))
	check(t, os.Chtimes(weights+"2", info.ModTime(), info.ModTime()))
	check(t, os.Rename(weights+"2", weights))
	if !build(t, c, openJob(t, path, "virtual")).Cached {
		t.Error("an equal file in the place of the old one has another digest")
	}
}

// A file that is written to while the compiler runs leaves nothing in the cache.
func TestFileChangesDuringCompile(t *testing.T) {
	c, path := openCache(t), copyModel(t, "conv2d_basic")
	weights := filepath.Join(path, "Data", "com.apple.CoreML", "weights", "weight.bin")
	job := openJob(t, path, "virtual")
	was, err := os.ReadFile(weights)
	check(t, err)
	changed := bytes.Clone(was)
	changed[len(changed)-1] ^= 1
	write := false
	job.Trace = func(*compiler.Pass, *segment.Segment, time.Duration) {
		if !write {
			f, err := os.OpenFile(weights, os.O_WRONLY, 0)
			check(t, err)
			_, err = f.WriteAt(changed, 0)
			check(t, errors.Join(err, f.Close()))
			write = true
		}
	}
	build(t, c, job)
	if !write {
		t.Fatal("no pass was heard of")
	}
	if l, err := c.List(); err != nil || len(l.Entries) != 0 {
		t.Errorf("%d entries, %v", len(l.Entries), err)
	}
	check(t, os.WriteFile(weights, was, 0o666))
	if build(t, c, openJob(t, path, "virtual")).Cached {
		t.Error("the first bytes have an entry")
	}
}

// Contexts end waiting for another who compiles the same.
func TestLockEndsWithContext(t *testing.T) {
	c := openCache(t)
	unlock, err := c.lock(context.Background(), Key{1})
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := c.lock(ctx, Key{1})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	other, err := c.lock(context.Background(), Key{2})
	check(t, err)
	other()
	unlock()
	again, err := c.lock(context.Background(), Key{1}) // the one that gave up does not have it
	check(t, err)
	again()

	// Nor does one wait for ever for a process that is stopped.
	defer func(d time.Duration) { maxWait = d }(maxWait)
	maxWait = time.Millisecond
	unlock, err = c.lock(context.Background(), Key{1})
	check(t, err)
	without, err := c.lock(context.Background(), Key{1})
	check(t, err)
	without()
	unlock()
}

// A cache that cannot be written to is no error: it is said, and the job is compiled.
func TestUnusable(t *testing.T) {
	path := copyModel(t, "conv2d_basic")
	ask := func(c *Cache) (*Built, []string) {
		t.Helper()
		var notes []string
		b, err := c.Build(context.Background(), Request{Job: openJob(t, path, "virtual"), Note: func(err error) { notes = append(notes, err.Error()) }})
		check(t, err)
		return b, notes
	}
	want, _ := ask(nil)

	gone := openCache(t)
	check(t, os.RemoveAll(gone.dir))
	check(t, os.WriteFile(gone.dir, nil, 0o666))
	b, notes := ask(gone)
	same(t, "a file in the place of the cache", b.Bundle, want.Bundle)
	if len(notes) != 1 || !strings.Contains(notes[0], gone.dir) {
		t.Errorf("notes %q", notes)
	}

	// A device that is full takes the place of the output, of which the name is known from another cache.
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no device that is always full")
	}
	sample, full := openCache(t), openCache(t)
	ask(sample)
	for _, file := range ours(t, sample) {
		if strings.HasSuffix(file, outputSuffix) {
			rel, err := filepath.Rel(sample.dir, file)
			check(t, err)
			check(t, os.Symlink("/dev/full", filepath.Join(full.dir, rel)))
		}
	}
	b, notes = ask(full)
	same(t, "a full disk", b.Bundle, want.Bundle)
	if len(notes) != 1 || !strings.Contains(notes[0], "no space left") || b.Cached {
		t.Errorf("notes %q, cached %t", notes, b.Cached)
	}
	if b, _ = ask(full); b.Cached {
		t.Error("what was not written is there")
	}
}
