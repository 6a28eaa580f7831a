package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// The environment variables of the cache.
const (
	EnvPlace = "ESPALIER_CACHE"      // a folder, or "off"
	EnvSize  = "ESPALIER_CACHE_SIZE" // the bound: 500M, 20G
)

// Off is the place that is none.
const Off = "off"

// ErrNoPlace is wrapped by the error about a system that has no place for caches.
var ErrNoPlace = errors.New("there is no place for a cache: " + EnvPlace + " can name one")

// Place is the folder of the cache: the one that is asked for, or else the one that the environment variable names, or else that
// of the system's conventions. It is "" if the cache is off.
func Place(asked string) (string, error) {
	if asked == "" {
		asked = os.Getenv(EnvPlace)
	}
	switch asked {
	case Off:
		return "", nil
	case "":
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w (%w)", ErrNoPlace, err)
		}
		return filepath.Join(dir, "espalier"), nil
	}
	return filepath.Abs(asked)
}

// caches are those that this process has opened, by place: opening one asks for 256 folders.
var caches struct {
	sync.Mutex
	open map[string]*Cache
}

// At opens the cache at a place, as Place finds it; nil if it is off, or if the system has no place for it.
func At(asked string) (*Cache, error) {
	dir, err := Place(asked)
	if errors.Is(err, ErrNoPlace) {
		return nil, nil
	}
	if err != nil || dir == "" {
		return nil, err
	}
	bound, err := Bound()
	if err != nil {
		return nil, err
	}
	caches.Lock()
	defer caches.Unlock()
	if c := caches.open[dir]; c != nil && c.bound == bound && c.there() {
		return c, nil
	}
	c, err := Open(dir, bound)
	if err != nil {
		return nil, fmt.Errorf("the cache: %w", err)
	}
	if caches.open == nil {
		caches.open = map[string]*Cache{}
	}
	caches.open[dir] = c
	return c, nil
}

// there reports whether nobody has removed the folder.
func (c *Cache) there() bool {
	_, err := os.Stat(filepath.Join(c.dir, "ff"))
	return err == nil
}

// Bound is how many bytes a cache may have, as the environment variable says.
func Bound() (int64, error) { return boundOf(os.Getenv(EnvSize)) }

// boundOf reads a number of bytes, as 4G; "" is DefaultBound.
func boundOf(text string) (int64, error) {
	if text == "" {
		return DefaultBound, nil
	}
	number, shift := text, 0
	if i := strings.IndexByte("KMGT", text[len(text)-1]&^0x20); i >= 0 {
		number, shift = text[:len(text)-1], 10*(i+1)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("%s=%s: expected a number of bytes, as 500M or 4G", EnvSize, text)
	}
	return n << shift, nil
}
