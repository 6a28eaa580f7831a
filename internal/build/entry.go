package build

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// An entry is a bundle in one file, without its weights:
//
//	0    magic, 16 bytes
//	16   length of the head, uint64, little endian
//	24   head, JSON
//	     files in the order of the head, each at a multiple of 64 from the beginning
type entry struct {
	head
	files map[string][]byte // those that are in the entry, by path
}

const (
	entryMagic     = "espalier entry\n\x00"
	entryAlignment = 64
)

// blobSize is from how many bytes on a container is a file by itself. Only tests change it.
var blobSize int64 = 1 << 20

// head is what stands before the files.
type head struct {
	Key      string          `json:"key"`
	About    About           `json:"about"`
	Manifest bundle.Manifest `json:"manifest"`
	Files    []headFile      `json:"files"`
	Weights  []headWeight    `json:"weights,omitempty"`
	Origins  [][]Origins     `json:"origins,omitempty"` // by function and segment
}

// About says what an entry is of, to people.
type About struct {
	Model     string           `json:"model,omitempty"` // where it was when it was compiled
	Function  string           `json:"function"`
	Shapes    map[string][]int `json:"shapes,omitempty"` // of the inputs that are open
	Target    string           `json:"target"`
	Numerics  string           `json:"numerics"`
	Generator string           `json:"generator"` // the version of the compiler
}

// Origins are the operations of the model that a segment has: all of a segment on the host, and of one on the engine those of
// each task.
type Origins struct {
	Host  []string   `json:"host,omitempty"`
	Tasks [][]string `json:"tasks,omitempty"`
}

// headFile is a file of the bundle: the descriptor, the host program or a container.
type headFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Blob string `json:"blob,omitempty"` // its digest, if it is a file by itself
}

// headWeight is a file of weights in the bundle, which is one of the job's.
type headWeight struct {
	Path   string `json:"path"`
	Number int    `json:"number"`
}

// encode makes the bytes of an entry.
func (e *entry) encode() ([]byte, error) {
	text, err := json.Marshal(&e.head)
	if err != nil {
		return nil, err
	}
	data := append([]byte(entryMagic), binary.LittleEndian.AppendUint64(nil, uint64(len(text)))...)
	data = append(data, text...)
	for _, f := range e.Files {
		if f.Blob == "" {
			data = append(data, make([]byte, aligned(len(data))-len(data))...)
			data = append(data, e.files[f.Path]...)
		}
	}
	return data, nil
}

func aligned(n int) int { return (n + entryAlignment - 1) / entryAlignment * entryAlignment }

// parseEntry reads an entry. Its files are views of the data.
func parseEntry(data []byte) (*entry, error) {
	const begin = len(entryMagic) + 8
	if len(data) < begin || string(data[:len(entryMagic)]) != entryMagic {
		return nil, errors.New("this is no entry")
	}
	length := binary.LittleEndian.Uint64(data[len(entryMagic):])
	if length > uint64(len(data)-begin) {
		return nil, fmt.Errorf("byte 0x%x: a head of 0x%x bytes in an entry of 0x%x", len(entryMagic), length, len(data))
	}
	e := &entry{files: map[string][]byte{}}
	at := begin + int(length)
	d := json.NewDecoder(bytes.NewReader(data[begin:at]))
	d.DisallowUnknownFields()
	if err := d.Decode(&e.head); err != nil {
		return nil, fmt.Errorf("byte 0x%x: %w", int64(begin)+d.InputOffset(), err)
	}
	if d.More() {
		return nil, fmt.Errorf("byte 0x%x: something follows the head", int64(begin)+d.InputOffset())
	}
	for _, f := range e.Files {
		switch {
		case f.Blob != "":
			if _, err := f.digest(); err != nil || f.Size < 0 {
				return nil, fmt.Errorf("%s: %q is no digest", f.Path, f.Blob)
			}
		case e.files[f.Path] != nil:
			return nil, fmt.Errorf("%s stands twice", f.Path)
		default:
			at = aligned(at)
			if f.Size < 0 || at > len(data) || f.Size > int64(len(data)-at) {
				return nil, fmt.Errorf("byte 0x%x: %s of 0x%x bytes in an entry of 0x%x", at, f.Path, f.Size, len(data))
			}
			end := at + int(f.Size)
			e.files[f.Path] = data[at:end:end]
			at = end
		}
	}
	if at != len(data) {
		return nil, fmt.Errorf("byte 0x%x: something follows the files", at)
	}
	return e, nil
}

// digest is that of a file by itself.
func (f *headFile) digest() (d [32]byte, err error) {
	if hex.DecodedLen(len(f.Blob)) != len(d) {
		return d, errors.New("not a digest")
	}
	_, err = hex.Decode(d[:], []byte(f.Blob))
	return d, err
}

// bundle makes the bundle of an entry, with the weights of a job. Blobs are mapped, or copied.
func (e *entry) bundle(c *Cache, weights []weightFile, copied bool) (b *bundle.Bundle, mapped []*osfile.Mapping, err error) {
	defer func() {
		if err != nil {
			for _, m := range mapped {
				m.Close()
			}
		}
	}()
	defer osfile.Protect().Catch(&err)
	containers := map[string]*hwx.File{}
	for _, f := range e.Files {
		if f.Path == bundle.ProgramPath || f.Path == bundle.HostPath {
			continue
		}
		data := e.files[f.Path]
		if f.Blob != "" {
			m, err := c.openBlob(f, copied)
			if err != nil {
				return nil, mapped, err
			}
			mapped = append(mapped, m)
			data = m.Bytes()
		}
		if containers[f.Path], err = hwx.NewFile(data); err != nil {
			return nil, mapped, err
		}
	}
	held := map[string][]byte{}
	for _, w := range e.Weights {
		if w.Number < 0 || w.Number >= len(weights) {
			return nil, mapped, fmt.Errorf("weight file %d of %d", w.Number, len(weights))
		}
		held[w.Path] = weights[w.Number].data
	}
	program, err := e5.Decode(e.files[bundle.ProgramPath])
	if err != nil {
		return nil, mapped, err
	}
	if b, err = bundle.New(e.Manifest, program, containers, string(e.files[bundle.HostPath]), held); err != nil {
		return nil, mapped, err
	}
	if len(e.Origins) != len(e.Manifest.Functions) {
		return nil, mapped, errors.New("the origins are not those of the functions")
	}
	for _, m := range mapped {
		b.Hold(m)
	}
	return b, mapped, nil
}

// openBlob maps or copies a container that is a file by itself.
func (c *Cache) openBlob(f headFile, copied bool) (m *osfile.Mapping, err error) {
	want, err := f.digest()
	if err != nil {
		return nil, err
	}
	open := osfile.Map
	if copied {
		open = osfile.Copy
	}
	if m, err = open(c.blobFile(want)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	if size := int64(len(m.Bytes())); size != f.Size {
		return nil, fmt.Errorf("a blob of %d bytes instead of %d", size, f.Size)
	}
	got, err := c.mappedDigest(m)
	if err == nil && got != want {
		err = errors.New("a blob has another digest")
	}
	return m, err
}

// newEntry makes the entry of a bundle, and writes its large containers, which have so many bytes.
func (c *Cache) newEntry(k Key, about About, b *bundle.Bundle, origins [][]Origins, weights []weightFile) (e *entry, blobs int64, err error) {
	e = &entry{head: head{Key: k.String(), About: about, Manifest: *b.Manifest, Origins: origins}, files: map[string][]byte{}}
	e.Manifest.Files = nil
	content := b.Content()
	add := func(path string, data []byte) {
		e.Files = append(e.Files, headFile{Path: path, Size: int64(len(data))})
		e.files[path] = data
	}
	add(bundle.ProgramPath, content.Program)
	if content.Host != "" {
		add(bundle.HostPath, []byte(content.Host))
	}
	for _, blob := range content.Containers {
		if b.Container(blob.Path).Size < blobSize {
			var data bytes.Buffer
			if err := blob.Write(&data); err != nil {
				return nil, 0, err
			}
			add(blob.Path, data.Bytes())
			continue
		}
		f, err := c.writeBlob(blob)
		if err != nil {
			return nil, 0, err
		}
		e.Files = append(e.Files, f)
		blobs += f.Size
	}
	for _, f := range b.Manifest.Files {
		if f.Role != bundle.RoleWeights {
			continue
		}
		number := -1
		for i := range weights {
			if sameMemory(weights[i].data, b.Bytes(f.Path)) {
				number = i
			}
		}
		if number < 0 {
			return nil, 0, fmt.Errorf("the bundle has weights of its own, %s", f.Path)
		}
		e.Weights = append(e.Weights, headWeight{f.Path, number})
	}
	return e, blobs, nil
}

// writeBlob writes a large container, under a temporary name until its digest is known.
func (c *Cache) writeBlob(blob bundle.Blob) (f headFile, err error) {
	dir := filepath.Join(c.dir, blobsDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return f, err
	}
	temp, err := os.CreateTemp(dir, "tmp-")
	if err != nil {
		return f, err
	}
	defer func() {
		temp.Close() // a second Close does no harm
		if err != nil {
			os.Remove(temp.Name())
		}
	}()
	if err := errors.Join(blob.Write(temp), temp.Sync()); err != nil {
		return f, err
	}
	m, err := osfile.MapFile(temp)
	if err != nil {
		return f, err
	}
	digest, err := digestOf(context.Background(), m.Bytes())
	f = headFile{blob.Path, int64(len(m.Bytes())), hex.EncodeToString(digest[:])}
	if err := errors.Join(err, m.Close(), temp.Close()); err != nil {
		return f, err
	}
	err = os.Rename(temp.Name(), c.blobFile(digest))
	if err != nil { // Windows keeps what is mapped, which then is what we have
		if there, openErr := c.openBlob(f, false); openErr == nil {
			os.Remove(temp.Name())
			return f, there.Close()
		}
	}
	return f, err
}
