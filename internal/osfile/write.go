package osfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteAtomic makes the file at path hold what write writes, all of it or
// nothing: a reader sees the previous content or the new one, and when
// anything fails, panics included, the previous file stays and no other is
// left behind.
//
// The content goes to a temporary file in the same folder, reaches the disk,
// and then takes the name. What killed runs have left there is removed. A file that is replaced hands on its permissions; a
// new one gets those that the process gives by default. A symbolic link is
// followed, so the link stays. Anything that is not a regular file is refused,
// with an error that wraps ErrNotRegular.
//
// The writer is buffered. An error that write returns is passed on as it is;
// the others name the path.
func WriteAtomic(path string, write func(io.Writer) error) (err error) {
	target, old, err := resolve(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, release, err := createTemp(target)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer release()
	renamed := false
	defer func() {
		if !renamed {
			f.Close()           // a second Close does no harm
			os.Remove(f.Name()) // Windows removes closed files only
		}
	}()

	w := bufio.NewWriterSize(f, 64<<10)
	if err := write(w); err != nil {
		return err
	}
	if err := commit(f, w, target, old); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	renamed = true
	syncDir(filepath.Dir(target))
	return nil
}

// resolve follows links to the file that is to be written and describes the
// file that is there now, nil when there is none.
func resolve(path string) (target string, old fs.FileInfo, err error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", nil, err
		}
		info, err = os.Lstat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil, nil
	case err != nil:
		return "", nil, err
	case !info.Mode().IsRegular():
		return "", nil, ErrNotRegular
	}
	return path, info, nil
}

// createTemp creates a file with a fresh name beside path, and removes what killed
// runs have left there. Unlike os.CreateTemp, it leaves the permissions to the
// process's mask, for they are the ones that the finished file has.
func createTemp(path string) (f *os.File, release func(), err error) {
	cleanTemp(path)
	_, release, err = makeTemp(path, func(name string) error {
		made, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			if f != nil {
				f.Close() // of a try that came to nothing
			}
			f = made
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot create a file in the folder %s: %w", filepath.Dir(path), err)
	}
	return f, release, nil
}

// commit completes f, of which w holds the last part, and gives it its name.
func commit(f *os.File, w *bufio.Writer, target string, old fs.FileInfo) error {
	if err := w.Flush(); err != nil {
		return err
	}
	if old != nil {
		// Only where it differs: some file systems have no permissions to set.
		if info, err := f.Stat(); err != nil || info.Mode().Perm() != old.Mode().Perm() {
			if err := f.Chmod(old.Mode().Perm()); err != nil {
				return err
			}
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), target)
}

// syncDir makes the new name last through a power failure. Some systems cannot
// do it for a folder, and by now the file is whole either way: no error.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
