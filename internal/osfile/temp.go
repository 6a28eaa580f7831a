package osfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// What is on its way to a target stands beside it, under a name of ours:
//
//	net.bundle
//	.net.bundle.espalier-tmp-5f3a90c1     being written, or what was replaced
//	.net.bundle.espalier-old-77b0e2d4     replaced, where two folders cannot be exchanged
//
// Who writes one holds a lock on it. The system ends the lock with the process,
// however that ends, so that a name without a lock is what a killed run has left,
// and the next write to the same target removes it. Where there are no locks, age
// decides.

// staleAge is the age from which something of ours is nobody's any more, where a
// lock cannot say: no run writes that long.
const staleAge = 24 * time.Hour

// errLocked is what lock returns for what another holds.
var errLocked = errors.New("locked")

// tempName makes a name beside a target.
func tempName(target, what string) string {
	return filepath.Join(filepath.Dir(target), fmt.Sprintf("%s%s-%08x", tempPrefix(target), what, rand.Uint32()))
}

// tempPrefix is how the names beside a target begin.
func tempPrefix(target string) string {
	base := filepath.Base(target)
	if len(base) > 64 {
		base = base[:64] // room for the suffix: most systems end a name at 255 bytes
	}
	return "." + base + ".espalier-"
}

// makeTemp makes something with a fresh name beside a target, and locks it until
// release is called. Between the two somebody else may have taken it for stale:
// then there is another try.
func makeTemp(target string, create func(name string) error) (name string, release func(), err error) {
	for try := 0; ; try++ {
		name = tempName(target, "tmp")
		err = create(name)
		if err == nil {
			if release, ok := hold(name); ok {
				return name, release, nil
			}
			err = fs.ErrExist
		}
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		// The user knows the folder, not the temporary name.
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		return "", nil, err
	}
}

// hold locks what was just made, false if it is not there any more.
func hold(name string) (release func(), ok bool) {
	l, err := lock(name)
	switch {
	case errors.Is(err, errLocked), errors.Is(err, fs.ErrNotExist):
		return nil, false
	case err != nil:
		return func() {}, true // no locks here
	}
	if !l.still(name) {
		l.release()
		return nil, false
	}
	return l.release, true
}

// MakeTempDir makes a folder beside a target, to be filled and then to take the
// target's name. Until release is called, no other process takes it for stale. The
// stale ones of the target are removed first.
func MakeTempDir(target string) (dir string, release func(), err error) {
	cleanTemp(target)
	dir, release, err = makeTemp(target, func(name string) error { return os.Mkdir(name, 0o777) })
	if err != nil {
		return "", nil, fmt.Errorf("cannot make a folder in %s: %w", filepath.Dir(target), err)
	}
	return dir, release, nil
}

// Replace puts the folder temp in the place of target, and removes what was
// there. Where the system can exchange two names in one step, there is no moment
// without the one or the other.
func Replace(temp, target string) error {
	switch err := exchange(temp, target); {
	case err == nil:
		return os.RemoveAll(temp) // which is now what was there
	case !errors.Is(err, errors.ErrUnsupported):
		return err
	}
	old := tempName(target, "old")
	if err := os.Rename(target, old); err != nil {
		return err
	}
	if err := os.Rename(temp, target); err != nil {
		return errors.Join(err, os.Rename(old, target))
	}
	return os.RemoveAll(old)
}

var tempSuffix = regexp.MustCompile(`^(tmp|old)-[0-9a-f]{8}$`)

// cleanTemp removes what killed runs have left beside a target. What cannot be
// removed stays: it is no reason to fail.
func cleanTemp(target string) {
	dir, err := os.Open(filepath.Dir(target))
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1)
	dir.Close()
	prefix := tempPrefix(target)
	for _, name := range names {
		if len(name) <= len(prefix) || name[:len(prefix)] != prefix {
			continue
		}
		kind := tempSuffix.FindStringSubmatch(name[len(prefix):])
		if kind == nil {
			continue
		}
		if kind[1] == "old" {
			// The machine may have stopped between the two steps of a replacement:
			// without the target, this is the only bundle.
			if _, err := os.Lstat(target); err != nil {
				continue
			}
		}
		removeStale(filepath.Join(filepath.Dir(target), name))
	}
}

// removeStale removes something of ours unless somebody is at it.
func removeStale(name string) {
	info, err := os.Lstat(name)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return
	}
	l, err := lock(name)
	switch {
	case err == nil:
		defer l.release()
		if !l.still(name) {
			return
		}
	case errors.Is(err, errLocked) || time.Since(lastChange(name)) < staleAge:
		return
	}
	os.RemoveAll(name)
}

// lastChange is when a file, or any in a folder, was last written.
func lastChange(name string) time.Time {
	var last time.Time
	filepath.WalkDir(name, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			last = time.Now() // cannot be told
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		return nil
	})
	return last
}
