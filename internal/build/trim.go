package build

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// orphanAge is from which age on something that no key leads to is nobody's: a process that is about to write the key may just
// have written it.
const orphanAge = time.Hour

// A record is a key with what it leads to.
type record struct {
	key    Key
	used   time.Time
	output [32]byte
	blobs  [][32]byte
	entry  *entry // nil of a digest, and of what is damaged
	bytes  int64  // of all its files, also those that it shares
	err    error  // why a reader would not take it
}

// Trim removes what was used the longest time ago, as long as there are more bytes than the bound, and what nobody can use.
func (c *Cache) Trim() error {
	unlock, err := lockedfile.MutexAt(filepath.Join(c.dir, trimName)).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	all, err := c.scan()
	if err != nil {
		return err
	}
	slices.SortFunc(all.records, func(a, b *record) int { return a.used.Compare(b.used) })
	uses := map[string]int{} // by file
	for _, r := range all.records {
		for _, f := range c.filesOf(r) {
			uses[f]++
		}
	}
	left := int64(0)
	for _, info := range all.files {
		left += info.Size()
	}
	remove := func(file string) {
		if info := all.files[file]; info != nil && os.Remove(file) == nil {
			left -= info.Size()
		}
	}
	now := c.now()
	for file, info := range all.files {
		if uses[file] == 0 && now.Sub(info.ModTime()) > orphanAge {
			remove(file)
		}
	}
	enough := c.bound
	if left > c.bound {
		enough -= c.bound / 8 // so that the next one need not trim again
	}
	for _, r := range all.records {
		if left <= enough && r.err == nil {
			continue
		}
		for _, f := range c.filesOf(r) { // the key first: nobody finds half of it
			if uses[f]--; uses[f] == 0 {
				remove(f)
			}
		}
	}
	return lockedfile.Write(filepath.Join(c.dir, sizeName), bytes.NewReader(formatSize(left)), 0o666)
}

// filesOf are the files of a record, its key first.
func (c *Cache) filesOf(r *record) []string {
	list := []string{c.keyFile(r.key)}
	if r.output == [32]byte{} {
		return list
	}
	list = append(list, c.file(r.output, outputSuffix))
	for _, d := range r.blobs {
		list = append(list, c.blobFile(d))
	}
	return list
}

// contents are what there is in a cache.
type contents struct {
	records []*record
	files   map[string]fs.FileInfo // keys, outputs, blobs, locks: all that is ours, by path
}

// scan reads the cache. What comes and goes meanwhile may or may not be in it.
func (c *Cache) scan() (*contents, error) {
	all := &contents{files: map[string]fs.FileInfo{}}
	if _, err := os.ReadDir(c.dir); err != nil {
		return nil, err
	}
	for i := range 256 {
		folder := filepath.Join(c.dir, fmt.Sprintf("%02x", i))
		all.list(folder, func(name string) bool {
			id, _, ok := parseName(name)
			return ok && int(id[0]) == i
		})
	}
	all.list(filepath.Join(c.dir, blobsDir), func(name string) bool {
		d, err := hex.DecodeString(name)
		return strings.HasPrefix(name, "tmp-") || err == nil && len(d) == 32
	})
	all.list(filepath.Join(c.dir, locksDir), func(name string) bool {
		k, err := hex.DecodeString(name)
		return err == nil && len(k) == len(Key{})
	})
	for _, file := range slices.Sorted(maps.Keys(all.files)) {
		if id, suffix, ok := parseName(filepath.Base(file)); ok && suffix == keySuffix {
			all.records = append(all.records, c.record(Key(id), all.files[file], all.files))
		}
	}
	return all, nil
}

// list adds the files of a folder that are ours. A folder that is not there has none.
func (all *contents) list(folder string, ours func(name string) bool) {
	found, _ := os.ReadDir(folder)
	for _, d := range found {
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && ours(d.Name()) {
			all.files[filepath.Join(folder, d.Name())] = info
		}
	}
}

// parseName takes the name of a key or an output apart.
func parseName(name string) (id [32]byte, suffix string, ok bool) {
	if len(name) != 2*len(id)+len(keySuffix) {
		return id, "", false
	}
	suffix = name[2*len(id):]
	_, err := hex.Decode(id[:], []byte(name[:2*len(id)]))
	return id, suffix, err == nil && (suffix == keySuffix || suffix == outputSuffix)
}

// findFile finds a file among those that were listed, or else one that came later: its folder may have been listed before its key's.
func findFile(files map[string]fs.FileInfo, file string) fs.FileInfo {
	info := files[file]
	if info == nil {
		var err error
		if info, err = os.Stat(file); err != nil {
			return nil
		}
		files[file] = info
	}
	return info
}

var errMissing = errors.New("a file of it is missing")

// record reads what a key leads to, without the digests of anything.
func (c *Cache) record(k Key, info fs.FileInfo, files map[string]fs.FileInfo) *record {
	r := &record{key: k, used: info.ModTime(), bytes: info.Size()}
	text, err := os.ReadFile(c.keyFile(k))
	if err == nil {
		r.output, err = parseKeyFile(k, text)
	}
	if err != nil {
		r.err = err
		return r
	}
	output := findFile(files, c.file(r.output, outputSuffix))
	if output == nil {
		r.err = errMissing
		return r
	}
	r.bytes += output.Size()
	data, err := os.ReadFile(c.file(r.output, outputSuffix))
	if err != nil {
		r.err = err
		return r
	}
	if _, isDigest := parseDigest(data); isDigest {
		return r
	}
	e, err := parseEntry(data)
	if err != nil {
		r.err = err
		return r
	}
	r.entry = e
	for _, f := range e.Files {
		if f.Blob == "" {
			continue
		}
		d, _ := f.digest()
		r.blobs = append(r.blobs, d)
		blob := findFile(files, c.blobFile(d))
		if blob == nil {
			r.err = errMissing
			continue
		}
		r.bytes += blob.Size()
	}
	return r
}

// keyFileSize is the size of the file of a key, as package cache writes it:
//
//	v1 <key> <output> <size, 20 wide> <time, 20 wide>\n
const keyFileSize = 2 + 1 + 64 + 1 + 64 + 1 + 20 + 1 + 20 + 1

// parseKeyFile reads the file of a key.
func parseKeyFile(k Key, text []byte) (output [32]byte, err error) {
	fields := bytes.Fields(text)
	if len(text) != keyFileSize || len(fields) != 5 || string(fields[0]) != "v1" {
		return output, errors.New("the file of a key is damaged")
	}
	if string(fields[1]) != k.String() {
		return output, errors.New("it is the file of another key")
	}
	if _, err := strconv.ParseInt(string(fields[3]), 10, 64); err != nil {
		return output, err
	}
	if hex.DecodedLen(len(fields[2])) != len(output) {
		return output, errors.New("the file of a key names no output")
	}
	_, err = hex.Decode(output[:], fields[2])
	return output, err
}
