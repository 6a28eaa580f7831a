package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/osfile"
)

type dumpCmd struct {
	File string `arg:"" help:"A hardware container (.hwx), dispatch descriptor (E5), bundle, firmware container, model, MIL text, weight file or array (npz, npy). What it is, its content says."`
	JSON bool   `name:"json" xor:"form" help:"Print JSON; docs/json.md has the schema."`
	Raw  bool   `xor:"form" help:"Print the file's words in hexadecimal, with their places."`
}

// An explanation is what dump has found out about a file. Its fields are what --json prints.
type explanation interface {
	print(w *bufio.Writer)
}

// dumpHead begins the report of every format.
type dumpHead struct {
	File   string `json:"file"`
	Format string `json:"format"`
	Size   int64  `json:"size"`
}

// dumpFormat is a format that dump knows.
type dumpFormat struct {
	name string
	is   func(data []byte) bool
	// explain takes a file apart. Beside an error it may return what comes before the damage.
	explain func(d *dumpFile) (explanation, error)
}

// dumpFormats are the formats of single files, those with a sure sign first.
var dumpFormats = []dumpFormat{
	{"hardware container", hwx.IsContainer, explainContainer},
	{"firmware container", firmware.IsPackage, explainFirmware},
	{"dispatch descriptor", e5.IsDescriptor, explainDescriptor},
	{"npy array", func(b []byte) bool { return sniff(b) == npyFile }, explainArrays},
	{"npz archive", isArrayArchive, explainArrays},
	{"model archive", func(b []byte) bool { return sniff(b) == npzFile }, explainModel},
	{"Git LFS pointer", func(b []byte) bool { return sniff(b) == lfsPointer }, func(d *dumpFile) (explanation, error) { return nil, d.named(errPointer) }},
	{"weight file", coreml.IsBlob, explainBlob},
	{"MIL text", isProgramText, explainModel},
	{"specification", isSpecification, explainModel},
}

// isArrayArchive tells arrays from a model in a zip archive: by the names of the entries.
func isArrayArchive(data []byte) bool {
	if sniff(data) != npzFile {
		return false
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return false
	}
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, ".npy") {
			return false
		}
	}
	return true
}

func isProgramText(data []byte) bool {
	head := bytes.TrimPrefix(data[:min(len(data), 4096)], byteOrderMark)
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("program"))
}

// isSpecification: the first field of a model is its version, a number.
func isSpecification(data []byte) bool { return len(data) > 0 && data[0] == 0x08 }

// strangers are files that people may take for one of ours.
var strangers = []struct{ prefix, what string }{
	{"bplist00", "a binary property list"},
	{"<?xml", "an XML file, perhaps a property list"},
	{"\xcf\xfa\xed\xfe", "a Mach-O file; a hardware container has the magic 0xbeefface in its place"},
}

// dumpFile is the file to explain.
type dumpFile struct {
	dumpHead
	data   []byte      // nil for a folder
	opened []io.Closer // beside the file itself
}

// named puts the file before an error that does not name it.
func (d *dumpFile) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", d.File, err)
}

func (c *dumpCmd) Run(call *invocation) (err error) {
	d := &dumpFile{dumpHead: dumpHead{File: c.File}}
	defer func() {
		for _, o := range d.opened {
			err = errors.Join(err, o.Close())
		}
	}()
	explain, err := d.open()
	if err != nil {
		return err
	}
	w := bufio.NewWriter(call.stdout)
	if c.Raw {
		if d.data == nil {
			return usagef("--raw %s: a folder has no words; its files can be dumped one by one", c.File)
		}
		printRaw(w, d)
		return w.Flush()
	}
	e, broken := explain(d)
	if e == nil {
		return broken
	}
	if c.JSON {
		err = printJSON(call.stdout, e)
	} else {
		e.print(w)
		err = w.Flush()
	}
	return errors.Join(err, broken)
}

// open maps the file and finds out what it is.
func (d *dumpFile) open() (func(*dumpFile) (explanation, error), error) {
	info, err := os.Stat(d.File)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if bundle.IsBundle(d.File) {
			d.Format = "bundle"
			return explainBundle, nil
		}
		return explainModel, nil
	}
	mapping, err := osfile.Map(d.File)
	if err != nil {
		return nil, err
	}
	d.opened = append(d.opened, mapping)
	d.data, d.Size = mapping.Bytes(), int64(len(mapping.Bytes()))
	if len(d.data) == 0 {
		return nil, fmt.Errorf("%s: the file is empty", d.File)
	}
	for _, f := range dumpFormats {
		if f.is(d.data) {
			d.Format = f.name
			return f.explain, nil
		}
	}
	for _, s := range strangers {
		if bytes.HasPrefix(d.data, []byte(s.prefix)) {
			return nil, fmt.Errorf("%s: byte 0x0: this is %s, which dump does not read", d.File, s.what)
		}
	}
	return nil, fmt.Errorf("%s: byte 0x0: it begins with % x, as no format does that dump knows: expected %s",
		d.File, d.data[:min(len(d.data), 8)], formatNames())
}

func formatNames() string {
	names := []string{"bundle", "package"}
	for _, f := range dumpFormats {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
