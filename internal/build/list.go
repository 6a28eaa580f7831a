package build

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// An Entry is something that was compiled, and is kept.
type Entry struct {
	Key Key
	About
	Bytes int64     // of all its files
	Used  time.Time // last
	Err   error     // what is wrong with it: no reader takes it
}

// Contents are what a cache has.
type Contents struct {
	Entries []Entry // the one that was used last first
	Digests int     // of weight files and executables that it remembers
	Bytes   int64   // of all files
}

// List looks at what there is, without checking digests.
func (c *Cache) List() (*Contents, error) {
	all, err := c.scan()
	if err != nil {
		return nil, err
	}
	list := &Contents{}
	for _, info := range all.files {
		list.Bytes += info.Size()
	}
	for _, r := range all.records {
		if r.entry == nil && r.err == nil {
			list.Digests++
			continue
		}
		list.Entries = append(list.Entries, r.shown())
	}
	slices.SortFunc(list.Entries, func(a, b Entry) int {
		if order := b.Used.Compare(a.Used); order != 0 {
			return order
		}
		return slices.Compare(a.Key[:], b.Key[:])
	})
	return list, nil
}

func (r *record) shown() Entry {
	e := Entry{Key: r.key, Bytes: r.bytes, Used: r.used, Err: r.err}
	if r.entry != nil {
		e.About = r.entry.About
	}
	return e
}

// errDigest is about a file that is not as it was written.
var errDigest = errors.New("its bytes are not those that were written")

// Verify reads everything, and removes what is damaged, which it returns. checked is how many keys there were.
func (c *Cache) Verify(ctx context.Context) (damaged []Entry, checked int, err error) {
	all, err := c.scan()
	if err != nil {
		return nil, 0, err
	}
	for _, r := range all.records {
		if err := ctx.Err(); err != nil {
			return damaged, checked, err
		}
		checked++
		if r.err == nil {
			r.err = c.verify(ctx, r)
		}
		if r.err == nil || ctx.Err() != nil {
			continue
		}
		if _, err := os.Stat(c.keyFile(r.key)); err != nil {
			continue // somebody has removed it meanwhile
		}
		damaged = append(damaged, r.shown())
		if err := os.Remove(c.keyFile(r.key)); err != nil {
			return damaged, checked, err
		}
	}
	return damaged, checked, ctx.Err()
}

// verify reads what a key leads to.
func (c *Cache) verify(ctx context.Context, r *record) (err error) {
	data, err := os.ReadFile(c.file(r.output, outputSuffix))
	if err != nil {
		return err
	}
	if sha256.Sum256(data) != r.output {
		return errDigest
	}
	if r.entry != nil && r.entry.Key != r.key.String() {
		return errors.New("it is the entry of another key")
	}
	defer osfile.Protect().Catch(&err)
	for _, want := range r.blobs {
		m, err := osfile.Map(c.blobFile(want))
		if err != nil {
			return err
		}
		got, err := digestOf(ctx, m.Bytes())
		if err = errors.Join(err, m.Close()); err != nil {
			return err
		}
		if got != want {
			os.Remove(c.blobFile(want))
			return errDigest
		}
	}
	return nil
}

// Clean removes everything that is ours from the folder, and the folder if nothing else is in it. What processes have mapped
// or read stays whole for them.
func (c *Cache) Clean() (removed int64, err error) {
	all, err := c.scan()
	if err != nil {
		return 0, err
	}
	for file, info := range all.files {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return removed, err
		}
		removed += info.Size()
	}
	for _, name := range []string{sizeName, trimName} {
		os.Remove(filepath.Join(c.dir, name))
	}
	found, err := os.ReadDir(c.dir)
	for _, d := range found {
		if d.IsDir() {
			os.Remove(filepath.Join(c.dir, d.Name())) // which fails for what is not empty
		}
	}
	os.Remove(c.dir)
	return removed, err
}
