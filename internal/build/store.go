package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/cache"
	"github.com/rogpeppe/go-internal/lockedfile"
)

// A Key is what an entry is found by.
type Key [32]byte

func (k Key) String() string { return fmt.Sprintf("%x", k[:]) }

// A Cache is a folder of what was compiled. Processes, and goroutines, may use one at the same time.
type Cache struct {
	dir   string
	bound int64 // of bytes
	store *cache.Cache

	version func() (string, error) // of the compiler
	now     func() time.Time       // only tests have another clock
}

// DefaultBound is how many bytes a cache may have if nobody says.
const DefaultBound = 4 << 30

// Open opens the cache in a folder, which it makes if it is not there. A bound of 0 is DefaultBound.
func Open(dir string, bound int64) (*Cache, error) {
	if bound <= 0 {
		bound = DefaultBound
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	store, err := cache.Open(dir)
	if err != nil {
		return nil, err
	}
	c := &Cache{dir: dir, bound: bound, store: store, now: time.Now}
	c.version = sync.OnceValues(c.compilerVersion)
	return c, nil
}

// Dir is the folder.
func (c *Cache) Dir() string { return c.dir }

// Bound is how many bytes it may have.
func (c *Cache) Bound() int64 { return c.bound }

// get returns the output of a key, nil if there is none that has its digest.
func (c *Cache) get(k Key) []byte {
	data, _, err := c.store.GetBytes(cache.ActionID(k))
	if err != nil {
		return nil
	}
	return data
}

// touch makes a key the one that was used last. One that cannot be touched is used all the same.
func (c *Cache) touch(k Key) {
	now := c.now()
	os.Chtimes(c.keyFile(k), now, now)
}

// put keeps the output of a key.
func (c *Cache) put(k Key, data []byte) error {
	_, _, err := c.store.PutNoVerify(cache.ActionID(k), bytes.NewReader(data))
	if err != nil {
		return err
	}
	return c.grew(int64(len(data)) + keyFileSize)
}

// The names of files, as package cache has them: they are those of the cache of the go command.
const (
	keySuffix    = "-a"
	outputSuffix = "-d"
)

func (c *Cache) keyFile(k Key) string { return c.file(k, keySuffix) }

func (c *Cache) file(id [32]byte, suffix string) string {
	return filepath.Join(c.dir, fmt.Sprintf("%02x", id[0]), fmt.Sprintf("%x", id[:])+suffix)
}

func (c *Cache) blobFile(digest [32]byte) string {
	return filepath.Join(c.dir, blobsDir, fmt.Sprintf("%x", digest[:]))
}

const (
	blobsDir = "blobs"
	locksDir = "locks"
	sizeName = "size"
	trimName = "trim.lock"
)

// maxWait is how long one waits for another who compiles the same: that one may be stopped, and never end.
var maxWait = time.Minute

// lock waits until nobody else compiles what has the key. The lock ends with the process, however that ends. Who has waited
// long enough goes on without: then unlock does nothing.
func (c *Cache) lock(ctx context.Context, k Key) (unlock func(), err error) {
	dir := filepath.Join(c.dir, locksDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	type taken struct {
		unlock func()
		err    error
	}
	done := make(chan taken)
	given := make(chan struct{}) // closed when nobody waits any more
	go func() {
		unlock, err := lockedfile.MutexAt(filepath.Join(dir, k.String())).Lock()
		select {
		case done <- taken{unlock, err}:
		case <-given:
			if err == nil {
				unlock()
			}
		}
	}()
	defer close(given)
	patience := time.NewTimer(maxWait)
	defer patience.Stop()
	select {
	case t := <-done:
		return t.unlock, t.err
	case <-patience.C:
		return func() {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// grew adds to the bytes that there are, and trims the cache if these are too many.
func (c *Cache) grew(by int64) error {
	over := false
	err := lockedfile.Transform(filepath.Join(c.dir, sizeName), func(old []byte) ([]byte, error) {
		size, err := parseSize(old)
		if err != nil {
			over = true // unknown: Trim counts
			return old, nil
		}
		size += by
		over = size > c.bound
		return formatSize(size), nil
	})
	if err == nil && over {
		err = c.Trim()
	}
	return err
}

func formatSize(n int64) []byte { return []byte(strconv.FormatInt(n, 10) + "\n") }

func parseSize(text []byte) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSuffix(string(text), "\n"), 10, 64)
	if err == nil && (n < 0 || n > 1<<60) {
		err = errors.New("no size")
	}
	return n, err
}
