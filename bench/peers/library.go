package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// ortPackage is the npm package that has ONNX Runtime's shared library. It is
// only unpacked: nothing of it is installed, and no script of it runs.
const ortPackage = "onnxruntime-node@1.30.0"

// findORT returns the path of ONNX Runtime's shared library: the one that
// PEERS_ORT names, that of an earlier run, or that of the package, downloaded.
func findORT(cache string) (string, error) {
	if path := os.Getenv("PEERS_ORT"); path != "" {
		return path, nil
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if runtime.GOOS != "linux" || arch == "" {
		return "", fmt.Errorf("we know of no library for %s/%s: let PEERS_ORT name one", runtime.GOOS, runtime.GOARCH)
	}
	path := filepath.Join(cache, strings.ReplaceAll(ortPackage, "@", "-"), "libonnxruntime.so.1")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	pack := exec.Command("npm", "pack", "--ignore-scripts", "--silent", ortPackage)
	pack.Dir, pack.Stderr = filepath.Dir(path), os.Stderr
	name, err := pack.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack %s: %w", ortPackage, err)
	}
	archive := filepath.Join(pack.Dir, strings.TrimSpace(string(name)))
	defer os.Remove(archive)
	return path, unpack(archive, "package/bin/napi-v6/linux/"+arch+"/libonnxruntime.so.1", path)
}

// unpack writes one file of an archive.
func unpack(archive, name, to string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if err != nil {
			return fmt.Errorf("%s in %s: %w", name, archive, err)
		}
		if h.Name != name {
			continue
		}
		out, err := os.Create(to + ".part")
		if err != nil {
			return err
		}
		_, err = io.Copy(out, files)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
		return os.Rename(to+".part", to)
	}
}
