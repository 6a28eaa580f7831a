package bundle

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// Content is what a bundle is made of.
type Content struct {
	// Manifest says what is in it. Write fills in Format, Version and Files.
	Manifest Manifest

	Program    []byte // the descriptor
	Containers []Blob // at the paths that the segments name, in segments/
	Host       string // the host program; "" is none
	Weights    []Blob // at the paths that the weights name, in weights/
}

// A Blob is a file that is written in one go.
type Blob struct {
	Path  string
	Write func(io.Writer) error
}

// Data makes a Blob of bytes.
func Data(path string, data []byte) Blob {
	return Blob{path, func(w io.Writer) error { _, err := w.Write(data); return err }}
}

// ContainerPath returns the path of the i-th engine segment's container.
func ContainerPath(i int) string { return fmt.Sprintf("%s%d.hwx", segmentsDir, i) }

// Write makes a bundle in the folder dir and returns its ID. The folder has the
// whole bundle or is what it was before: the files are written to a folder
// beside it, which then takes its name. There may be a bundle of ours already,
// and it is replaced; anything else is refused. Replacing takes two steps, for no
// system exchanges folders in one that works everywhere. If the machine stops
// between them, the old bundle stands beside, under a name that begins with a
// dot.
func Write(dir string, c *Content) (id string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write bundle %s: %w", dir, err)
		}
	}()
	target, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	exists, err := replaceable(target)
	if err != nil {
		return "", err
	}
	temp, err := makeBeside(target, "tmp")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(temp)
		}
	}()
	defer osfile.Protect().Catch(&err) // weights are mapped files, as a rule
	if id, err = c.write(temp); err != nil {
		return "", err
	}
	if exists {
		return id, exchange(temp, target)
	}
	return id, os.Rename(temp, target)
}

// makeBeside makes a folder with a fresh name beside the target.
func makeBeside(target, what string) (string, error) {
	for try := 0; ; try++ {
		name := beside(target, what)
		err := os.Mkdir(name, 0o777)
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return "", fmt.Errorf("cannot make a folder in %s: %w", filepath.Dir(target), plain(err))
		}
	}
}

func beside(target, what string) string {
	dir, base := filepath.Split(target)
	if len(base) > 64 {
		base = base[:64] // most systems end a name at 255 bytes
	}
	return filepath.Join(dir, fmt.Sprintf(".%s.%s-%08x", base, what, rand.Uint32()))
}

// exchange puts the folder temp in the place of target, which is removed.
func exchange(temp, target string) error {
	old := beside(target, "old")
	if err := os.Rename(target, old); err != nil {
		return err
	}
	if err := os.Rename(temp, target); err != nil {
		return errors.Join(err, os.Rename(old, target))
	}
	return os.RemoveAll(old)
}

// replaceable reports whether there is something at target, which must be a
// bundle of ours and nothing else.
func replaceable(target string) (exists bool, err error) {
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, plain(err)
	case !info.IsDir():
		return false, fmt.Errorf("there is something else, which is not replaced: %w", ErrNotBundle)
	}
	root, err := os.OpenRoot(target)
	if err != nil {
		return false, plain(err)
	}
	defer root.Close()
	m, _, err := readManifest(root)
	if err != nil {
		return false, fmt.Errorf("there is a folder that is not replaced: %w", err)
	}
	known := map[string]bool{".": true, manifestName: true}
	for _, f := range m.Files {
		for p := f.Path; p != "."; p = path.Dir(p) {
			known[p] = true
		}
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !known[name] && d.Name() != ".DS_Store" { // which a Mac puts everywhere
			err = fmt.Errorf("there is a bundle that is not replaced, since %s in it is not of the bundle", name)
		}
		return err
	})
	return true, err
}

// write writes all files into a folder, the manifest last.
func (c *Content) write(dir string) (id string, err error) {
	program, err := e5.Decode(c.Program)
	if err != nil {
		return "", badFile(ProgramPath, err)
	}
	blobs := []Blob{Data(ProgramPath, c.Program)}
	if c.Host != "" {
		blobs = append(blobs, Data(HostPath, []byte(c.Host)))
	}
	for _, list := range []struct {
		role  string
		blobs []Blob
	}{{RoleContainer, c.Containers}, {RoleWeights, c.Weights}} {
		for _, b := range list.blobs {
			if err := checkPath(b.Path); err != nil {
				return "", badFile(b.Path, err)
			}
			if role := roleOf(b.Path); role != list.role {
				return "", badFile(b.Path, fmt.Errorf("its role is %q instead of %q", role, list.role))
			}
			blobs = append(blobs, b)
		}
	}
	m := c.Manifest
	m.Format, m.Version, m.Files = formatName, formatVersion, nil
	for _, b := range blobs {
		f, err := b.write(dir)
		if err != nil {
			return "", badFile(b.Path, err)
		}
		m.Files = append(m.Files, f)
	}
	slices.SortFunc(m.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	data, err := m.Encode()
	if err != nil {
		return "", err
	}
	if err := m.agree(program); err != nil {
		return "", err
	}
	if _, err := Data(manifestName, data).write(dir); err != nil {
		return "", badFile(manifestName, err)
	}
	return digest(data), nil
}

// write writes the file into a folder, where there is none of the name yet.
func (b Blob) write(dir string) (File, error) {
	name := filepath.Join(dir, filepath.FromSlash(b.Path))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return File{}, plain(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return File{}, plain(err)
	}
	defer f.Close() // a second Close does no harm
	sum := sha256.New()
	size := new(counter)
	w := bufio.NewWriterSize(io.MultiWriter(f, sum, size), 1<<20)
	if err := b.Write(w); err != nil {
		return File{}, err
	}
	if err := errors.Join(w.Flush(), f.Sync()); err != nil {
		return File{}, plain(err)
	}
	if roleOf(b.Path) == RoleContainer {
		if err := checkContainer(f); err != nil {
			return File{}, err
		}
	}
	return File{b.Path, roleOf(b.Path), int64(*size), hex.EncodeToString(sum.Sum(nil))}, f.Close()
}

// checkContainer refuses what Open would not read.
func checkContainer(f *os.File) error {
	mapping, err := osfile.MapFile(f)
	if err != nil {
		return err
	}
	defer mapping.Close()
	_, err = hwx.NewFile(mapping.Bytes())
	return err
}

// A counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
