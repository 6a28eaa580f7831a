package espalier

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/espalier-ane/espalier/internal/build"
)

// CacheContents are what a cache has: see Config.Cache.
type CacheContents struct {
	Dir     string       // "" if the cache is off
	Bytes   int64        // of all files
	Bound   int64        // how many there may be
	Entries []CacheEntry // the one that was used last first
	Digests int          // of weight files that it remembers
}

// A CacheEntry is a function that was compiled for some shapes, and is kept.
type CacheEntry struct {
	Key      string           // what it is found by
	Model    string           // where the model was when it was compiled
	Function string           // its name
	Shapes   map[string][]int // of the inputs that it leaves open
	Target   string
	Numerics string
	Compiler string    // its version
	Bytes    int64     // of all its files
	Used     time.Time // last
	Err      error     // what is wrong with it: then it is compiled anew when it is asked for
}

// ReadCache looks at a cache, named as Config.Cache names one. One that is not there is empty.
func ReadCache(cache string) (*CacheContents, error) {
	c, empty, err := openCache(cache)
	if c == nil {
		return empty, err
	}
	list, err := c.List()
	if err != nil {
		return nil, err
	}
	contents := &CacheContents{Dir: c.Dir(), Bytes: list.Bytes, Bound: c.Bound(), Digests: list.Digests}
	for _, e := range list.Entries {
		contents.Entries = append(contents.Entries, newCacheEntry(e))
	}
	return contents, nil
}

func newCacheEntry(e build.Entry) CacheEntry {
	return CacheEntry{
		Key: e.Key.String(), Model: e.Model, Function: e.Function, Shapes: e.Shapes, Target: e.Target, Numerics: e.Numerics,
		Compiler: e.Generator, Bytes: e.Bytes, Used: e.Used, Err: e.Err,
	}
}

// VerifyCache reads everything that a cache has, and removes what is damaged, which it returns. checked is how much there was,
// entries and digests.
func VerifyCache(ctx context.Context, cache string) (damaged []CacheEntry, checked int, err error) {
	c, _, err := openCache(cache)
	if c == nil {
		return nil, 0, err
	}
	list, checked, err := c.Verify(ctx)
	for _, e := range list {
		damaged = append(damaged, newCacheEntry(e))
	}
	return damaged, checked, err
}

// CleanCache removes all that a cache has, and returns how many bytes that were. Models that are open go on.
func CleanCache(cache string) (removed int64, err error) {
	c, _, err := openCache(cache)
	if c == nil {
		return 0, err
	}
	return c.Clean()
}

// openCache opens a cache that is there. Otherwise it is nil, and the contents are what is to be said of it.
func openCache(cache string) (*build.Cache, *CacheContents, error) {
	dir, err := build.Place(cache)
	if err != nil {
		return nil, nil, err
	}
	bound, err := build.Bound()
	if err != nil {
		return nil, nil, err
	}
	empty := &CacheContents{Dir: dir, Bound: bound}
	if dir == "" {
		return nil, empty, nil
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, empty, nil // looking at it makes none
	}
	c, err := build.Open(dir, bound)
	return c, empty, err
}
