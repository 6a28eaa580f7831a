package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// unpack writes the cases of the archives whose name matches to a folder and returns their names, sorted.
func unpack(ctx context.Context, archives, dir string, pattern *regexp.Regexp) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(archives, "*.tar.gz"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no archives (*.tar.gz) in %s; ESPALIER_SHARED can name the place of the shared data", archives)
	}
	names := map[string]bool{}
	for _, file := range files {
		if err := unpackOne(ctx, file, dir, pattern, names); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

func unpackOne(ctx context.Context, file, dir string, pattern *regexp.Regexp, names map[string]bool) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for entries := tar.NewReader(unzipped); ctx.Err() == nil; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(h.Name)
		if !filepath.IsLocal(name) {
			return fmt.Errorf("entry %q leaves the archive", h.Name)
		}
		test, _, _ := strings.Cut(filepath.ToSlash(filepath.Clean(name)), "/")
		if !pattern.MatchString(test) {
			continue
		}
		target := filepath.Join(dir, name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(target, 0o777)
		case tar.TypeReg:
			names[test] = true
			err = writeEntry(target, entries)
		default:
			err = fmt.Errorf("entry %q is neither a file nor a folder", h.Name)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func writeEntry(target string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
		return err
	}
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return errors.Join(err, out.Close())
}
