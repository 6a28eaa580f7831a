package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"io"
	"os"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// fileContent is what a file of inputs holds: its kind, and one of the three.
type fileContent struct {
	kind    fileKind
	arrays  []tensor.Named // of an npz archive or a JSON object
	array   *tensor.Tensor // of an npy file or JSON lists
	picture image.Image    // of a PNG or JPEG file
}

var errUnknownFile = errors.New("this is no npz, npy, PNG, JPEG or JSON file")

// readInputFile reads a file of inputs, or standard input.
func (c *invocation) readInputFile(path string) (fileContent, error) {
	f, err := c.open(path)
	if err != nil {
		return fileContent{}, err
	}
	defer f.Close()
	return readContent(f, shown(path))
}

// readContent reads a file of inputs. What it is, is decided by its content, not by its name.
func readContent(f io.Reader, path string) (fileContent, error) {
	r := bufio.NewReader(f)
	head, err := r.Peek(r.Size())
	if err != nil && err != io.EOF {
		return fileContent{}, err
	}
	if sniff(head) == otherFile { // a file that is none of ours may have any size
		return fileContent{}, fmt.Errorf("%s: %w", path, errUnknownFile)
	}
	if file, ok := f.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Size() > osfile.MemoryLimit() {
			return fileContent{}, fmt.Errorf("%s: the file, of %d bytes, is larger than the memory that this process may take, %d", path, info.Size(), osfile.MemoryLimit())
		}
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return fileContent{}, err
	}
	c, err := decodeInputFile(data)
	if err != nil {
		return fileContent{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func decodeInputFile(data []byte) (c fileContent, err error) {
	c.kind = sniff(data)
	switch c.kind {
	case npzFile:
		c.arrays, err = tensor.ReadNPZ(bytes.NewReader(data), int64(len(data)))
		if c.arrays == nil {
			c.arrays = []tensor.Named{} // an archive of nothing is still an archive
		}
	case npyFile:
		c.array, err = tensor.ReadNPY(bytes.NewReader(data))
	case pngFile, jpegFile:
		if c.picture, err = espalier.DecodePicture(bytes.NewReader(data)); err != nil {
			err = fmt.Errorf("the picture cannot be read: %w", err)
		}
	case jsonFile:
		c.arrays, c.array, err = parseJSON(bytes.TrimPrefix(data, byteOrderMark))
	case lfsPointer:
		err = coreml.ErrLFSPointer
	default:
		err = errUnknownFile
	}
	return c, err
}

// fileKind is what a file is by its first bytes.
type fileKind string

const (
	npzFile    fileKind = "npz archive"
	npyFile    fileKind = "npy file"
	pngFile    fileKind = "PNG picture"
	jpegFile   fileKind = "JPEG picture"
	jsonFile   fileKind = "JSON file"
	lfsPointer fileKind = "Git LFS pointer"
	otherFile  fileKind = "other file"
)

// kinds are those that their first bytes tell.
var kinds = []struct {
	kind fileKind
	is   func(data []byte) bool
}{
	{npzFile, tensor.IsNPZ},
	{npyFile, tensor.IsNPY},
	{pngFile, func(data []byte) bool { return bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) }},
	{jpegFile, func(data []byte) bool { return bytes.HasPrefix(data, []byte("\xff\xd8\xff")) }},
	{lfsPointer, coreml.IsLFSPointer},
}

// byteOrderMark is what some editors put before a text.
var byteOrderMark = []byte("\ufeff")

// sniff finds out the kind of a file.
func sniff(data []byte) fileKind {
	for _, k := range kinds {
		if k.is(data) {
			return k.kind
		}
	}
	if text := bytes.TrimLeft(bytes.TrimPrefix(data, byteOrderMark), " \t\r\n"); len(text) > 0 && bytes.IndexByte([]byte(`[{"-0123456789tf`), text[0]) >= 0 {
		return jsonFile
	}
	return otherFile
}
