package build

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/bundle"
)

// smallBlobs makes every container of a test a file by itself.
func smallBlobs(t *testing.T) {
	t.Helper()
	was := blobSize
	blobSize = 1
	t.Cleanup(func() { blobSize = was })
}

// A flipped bit anywhere in the cache is never believed: what comes is what would be compiled, and from then on the cache has
// it again.
func TestFlippedBits(t *testing.T) {
	for _, blobs := range []bool{false, true} {
		if blobs {
			smallBlobs(t)
		}
		c, path := openCache(t), copyModel(t, "conv2d_basic")
		job := openJob(t, path, "h13")
		want := build(t, c, job)
		later(c, time.Minute)
		build(t, c, job) // the digests of all files are remembered now
		r := rand.New(rand.NewPCG(1, 2))
		flipped := 0
		for _, file := range ours(t, c) {
			if filepath.Base(file) == sizeName {
				continue
			}
			whole, err := os.ReadFile(file)
			check(t, err)
			places := []int{0, len(whole) - 1}
			for range 3 {
				places = append(places, r.IntN(len(whole)))
			}
			for _, at := range places {
				data := append([]byte(nil), whole...)
				data[at] ^= 1 << r.IntN(8)
				check(t, os.WriteFile(file, data, 0o666))
				got := build(t, c, job)
				same(t, filepath.Base(file), got.Bundle, want.Bundle)
				if !build(t, c, job).Cached {
					t.Errorf("%s, byte %d: it is not written anew", filepath.Base(file), at)
				}
				flipped++
				for _, m := range got.Mapped {
					m.Close()
				}
			}
		}
		if flipped < 20 {
			t.Errorf("only %d bits were flipped", flipped)
		}
	}
}

// Damage that the times of a file do not tell of is found by Verify.
func TestVerify(t *testing.T) {
	smallBlobs(t)
	c := openCache(t)
	job := openJob(t, copyModel(t, "conv2d_basic"), "h13")
	other := openJob(t, copyModel(t, "linear_mlp"), "virtual")
	build(t, c, job)
	build(t, c, other)
	damaged, checked, err := c.Verify(context.Background())
	if err != nil || len(damaged) != 0 || checked != 2 {
		t.Fatalf("%d of %d damaged, %v", len(damaged), checked, err)
	}
	var blob string
	for _, file := range ours(t, c) {
		if filepath.Base(filepath.Dir(file)) == blobsDir {
			blob = file
		}
	}
	k, _, err := c.keyOf(context.Background(), job)
	check(t, err)
	key := c.keyFile(k)
	for _, file := range []string{blob, key} {
		data, err := os.ReadFile(file)
		check(t, err)
		data[len(data)/2] ^= 4
		check(t, os.WriteFile(file, data, 0o666))
		damaged, _, err = c.Verify(context.Background())
		if err != nil || len(damaged) != 1 || damaged[0].Err == nil {
			t.Fatalf("%s: %v, %v", filepath.Base(file), damaged, err)
		}
		if damaged, _, _ = c.Verify(context.Background()); len(damaged) != 0 {
			t.Errorf("%s: it is still there", filepath.Base(file))
		}
		build(t, c, job)
		build(t, c, other)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := c.Verify(ctx); err == nil {
		t.Error("a context that has ended ends nothing")
	}
}

// Clean takes away what is ours, and nothing else.
func TestClean(t *testing.T) {
	smallBlobs(t)
	c := openCache(t)
	job := openJob(t, copyModel(t, "conv2d_basic"), "h13")
	held := build(t, c, job)
	mine := filepath.Join(c.dir, "ab", "notes.txt")
	check(t, os.WriteFile(mine, nil, 0o666))
	l, err := c.List()
	check(t, err)
	removed, err := c.Clean()
	if err != nil || removed != l.Bytes {
		t.Errorf("%d bytes of %d, %v", removed, l.Bytes, err)
	}
	if left := ours(t, c); len(left) != 1 || left[0] != mine {
		t.Errorf("left: %q", left)
	}
	if files(t, held.Bundle)[bundle.ContainerPath(0)] == nil {
		t.Error("what is in use is gone")
	}
	check(t, os.Remove(mine))
	_, err = c.Clean()
	check(t, err)
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
	if build(t, openAt(t, c.dir, 0), job).Cached {
		t.Error("it is still there")
	}
}

// The bound holds, and what was used last stays.
func TestBound(t *testing.T) {
	smallBlobs(t)
	c := openCache(t)
	job := openJob(t, copyModel(t, "conv2d_basic"), "h13")
	named := func(name string) *Built {
		j := *job
		j.Functions = append(j.Functions[:0:0], j.Functions...)
		f := *j.Functions[0].Function
		f.Name = name
		j.Functions[0].Function = &f
		return build(t, c, &j)
	}
	first := named("first")
	l, err := c.List()
	check(t, err)
	if len(l.Entries) != 1 || l.Bytes < l.Entries[0].Bytes || l.Entries[0].Function != "first" {
		t.Fatalf("%+v", l)
	}
	c.bound = 5 * l.Bytes // trimming leaves 7/8
	for i := range 12 {
		later(c, time.Duration(i+1)*time.Minute)
		named(strings.Repeat("x", i+1))
		later(c, time.Duration(i+1)*time.Minute+time.Second)
		if !named("first").Cached {
			t.Fatalf("after %d others, the one that is used all the time is gone", i)
		}
		now, err := c.List()
		check(t, err)
		if now.Bytes > c.bound {
			t.Errorf("%d bytes, and %d are allowed", now.Bytes, c.bound)
		}
		if now.Entries[0].Function != "first" {
			t.Errorf("used last is %s", now.Entries[0].Function)
		}
	}
	l, err = c.List()
	check(t, err)
	if n := len(l.Entries); n < 3 || n > 5 {
		t.Errorf("%d entries", n)
	}
	if !named(strings.Repeat("x", 12)).Cached || named("x").Cached {
		t.Error("not the oldest is gone")
	}
	// What no key leads to goes after a while, not at once.
	orphans := []string{c.blobFile([32]byte{7}), filepath.Join(c.dir, blobsDir, "tmp-1"), c.file([32]byte{9}, outputSuffix)}
	for _, f := range orphans {
		check(t, os.WriteFile(f, []byte("half"), 0o666))
	}
	c.now = time.Now
	check(t, c.Trim())
	for _, f := range orphans {
		if _, err := os.Stat(f); err != nil {
			t.Errorf("it may be being written: %v", err)
		}
	}
	later(c, 2*orphanAge)
	check(t, c.Trim())
	for _, f := range orphans {
		if _, err := os.Stat(f); err == nil {
			t.Errorf("%s is nobody's, and stays", filepath.Base(f))
		}
	}
	if !named("first").Cached || files(t, first.Bundle)[bundle.ContainerPath(0)] == nil {
		t.Error("what is in use is gone")
	}
	// One that is larger than the bound is not kept, and that is said.
	c.bound, c.now = 10, time.Now
	var note error
	j := *job
	j.Numerics = "h13"
	_, err = c.Build(context.Background(), Request{Job: &j, Note: func(err error) { note = err }})
	if note == nil || !strings.Contains(note.Error(), "more than it may have, 10") {
		t.Errorf("note %v, %v", note, err)
	}
}

// Whatever stands in a file of the cache, reading it neither panics nor takes more memory than the file.
func FuzzEntry(f *testing.F) {
	c, err := Open(f.TempDir(), 0)
	check(f, err)
	c.version = func() (string, error) { return "1", nil }
	job := openJob(f, copyModel(f, "conv2d_basic"), "virtual")
	build(f, c, job)
	k, weights, err := c.keyOf(context.Background(), job)
	check(f, err)
	whole := c.get(k)
	if whole == nil {
		f.Fatal("nothing is kept")
	}
	f.Add(whole)
	f.Add([]byte(entryMagic + "\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Add([]byte(entryMagic + "\xff\xff\xff\xff\xff\xff\xff\xff{}"))
	f.Add([]byte(entryMagic + "\x31\x00\x00\x00\x00\x00\x00\x00" + `{"files":[{"path":"program.e5","size":9000000000}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseEntry(data)
		if err != nil {
			return
		}
		if b, mapped, err := e.bundle(c, weights, false); err == nil {
			for _, m := range mapped {
				m.Close()
			}
			b.Content()
		}
		again, err := e.encode()
		if err != nil {
			t.Fatalf("what was read is not written: %v", err)
		}
		if _, err := parseEntry(again); err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
	})
}

// FuzzSmallFiles is about the other files: keys, digests, the size.
func FuzzSmallFiles(f *testing.F) {
	f.Add([]byte("v1 " + strings.Repeat("00", 32) + " " + strings.Repeat("ab", 32) + strings.Repeat(" ", 20) + "1" + strings.Repeat(" ", 20) + "2\n"))
	f.Add(formatDigest([32]byte{1, 2}))
	f.Add(formatSize(17))
	f.Fuzz(func(t *testing.T, data []byte) {
		parseKeyFile(Key{}, data)
		parseName(string(data))
		if d, ok := parseDigest(data); ok && string(formatDigest(d)) != string(data) {
			t.Error("a digest is read as another")
		}
		if n, err := parseSize(data); err == nil && n < 0 {
			t.Error("a size below 0")
		}
		if n, err := boundOf(string(data)); err == nil && n <= 0 {
			t.Errorf("%q is a bound of %d", data, n)
		}
	})
}
