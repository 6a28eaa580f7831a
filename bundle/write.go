package bundle

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
// and it is replaced; anything else is refused. On Linux and macOS the two change
// places in one step, and there is always one or the other, where the file system
// can; elsewhere it takes two steps. If the machine stops between them, the old
// bundle stands beside, under a name that begins with a dot.
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
	if _, err := replaceable(target); err != nil { // before the work
		return "", err
	}
	temp, release, err := osfile.MakeTempDir(target)
	if err != nil {
		return "", err
	}
	defer release()
	defer func() {
		if err != nil {
			os.RemoveAll(temp)
		}
	}()
	defer osfile.Protect().Catch(&err) // weights are mapped files, as a rule
	if id, err = c.write(temp); err != nil {
		return "", err
	}
	exists, err := replaceable(target) // somebody else may have written it
	switch {
	case err != nil:
		return "", err
	case exists:
		return id, osfile.Replace(temp, target)
	}
	return id, os.Rename(temp, target)
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
	return true, inFolder(target, onlyBundle)
}

// onlyBundle refuses a folder that is no bundle, or has something else in it.
func onlyBundle(root *os.Root) error {
	m, _, err := readManifest(root)
	if err != nil {
		return fmt.Errorf("there is a folder that is not replaced: %w", err)
	}
	known := map[string]bool{".": true, manifestName: true}
	for _, f := range m.Files {
		for p := f.Path; p != "."; p = path.Dir(p) {
			known[p] = true
		}
	}
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !known[name] && d.Name() != ".DS_Store" { // which a Mac puts everywhere
			err = fmt.Errorf("there is a bundle that is not replaced, since %s in it is not of the bundle", name)
		}
		return err
	})
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
