package main

import (
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// outputFlags are the flags that say where outputs go.
type outputFlags struct {
	Outputs []string `sep:"none" placeholder:"FILE" help:"Write all outputs to an npz archive or a JSON file, one for each --inputs, or to standard output as an npz archive (-). A file of the same kind is replaced, nothing else is."`
	Output  []string `sep:"none" placeholder:"NAME=FILE" help:"Write an output to a file: .npy, .npz, .json, or .png for a picture; - is standard output, as .npy or .png."`
}

func (c *outputFlags) given() bool { return len(c.Outputs)+len(c.Output) > 0 }

// toStandard reports whether outputs go to standard output, where nothing else can go then.
func (c *outputFlags) toStandard() bool {
	return slices.Contains(c.Outputs, standard) || slices.ContainsFunc(c.Output, func(flag string) bool {
		_, path, _ := strings.Cut(flag, "=")
		return path == standard
	})
}

// outputFile is a file to be written.
type outputFile struct {
	flag   string // as the user wrote it
	path   string
	format outputFormat
	index  int    // of the case
	output string // the name of one output; "" for all
}

// outputFormat is a format in which outputs are written.
type outputFormat struct {
	extension string
	kind      fileKind
	write     func(io.Writer, []*espalier.Value, bool) error // the flag says that all outputs are written
	all       bool                                           // can hold all outputs
}

var outputFormats = []outputFormat{
	{".npz", npzFile, writeNPZ, true},
	{".json", jsonFile, writeJSON, true},
	{".npy", npyFile, writeNPY, false},
	{".png", pngFile, writePNG, false},
}

// files are the files that the flags ask for. Nothing is overwritten but files of the kind that is written,
// and none that the same command reads.
func (c *outputFlags) files(f *espalier.Function, cases int, read []string) ([]outputFile, error) {
	if len(c.Outputs) > 0 && len(c.Outputs) != cases {
		return nil, usagef("%d --outputs for %s: each --inputs takes one", len(c.Outputs), report.Count(cases, "case"))
	}
	if len(c.Output) > 0 && cases > 1 {
		return nil, usagef("--output writes the outputs of one case, there are %d: use --outputs", cases)
	}
	var files []outputFile
	for i, path := range c.Outputs {
		files = append(files, outputFile{flag: "--outputs " + path, path: path, index: i})
	}
	for _, flag := range c.Output {
		name, path, ok := strings.Cut(flag, "=")
		if !ok || path == "" {
			return nil, usagef("--output %s: expected NAME=FILE", flag)
		}
		i := slices.IndexFunc(f.Outputs(), func(d coreml.Feature) bool { return d.Name == name })
		if i < 0 {
			return nil, usagef("--output %s: the model has no output %q: expected %s", flag, name, nameList(f.Outputs()))
		}
		_, picture := f.Outputs()[i].Type.(*coreml.ImageType)
		if strings.EqualFold(filepath.Ext(path), ".png") && !picture {
			return nil, usagef("--output %s: output %q is no picture but %v", flag, name, f.Outputs()[i].Type)
		}
		files = append(files, outputFile{flag: "--output " + flag, path: path, output: name})
	}
	// Standard output comes last: if it fails, the files are not written either.
	if i := slices.IndexFunc(files, func(f outputFile) bool { return f.standard() }); i >= 0 {
		files = append(slices.Delete(slices.Clone(files), i, i+1), files[i])
	}
	seen := map[string]bool{}
	for i := range files {
		file := &files[i]
		var err error
		if file.standard() {
			file.format = standardFormat(f, file.output)
		} else if file.format, err = formatOf(file.path, file.output == ""); err != nil {
			return nil, usagef("%s: %w", file.flag, err)
		}
		if seen[filepath.Clean(file.path)] {
			return nil, usagef("%s is to be written twice", file.path)
		}
		seen[filepath.Clean(file.path)] = true
		if file.standard() {
			continue
		}
		if err := file.checkTarget(read); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (f *outputFile) standard() bool { return f.path == standard }

// standardFormat is the format in which an output, or all of them ("") go to standard output.
func standardFormat(f *espalier.Function, output string) outputFormat {
	name := "all.npz"
	for _, d := range f.Outputs() {
		if d.Name == output {
			name = "one.npy"
			if _, picture := d.Type.(*coreml.ImageType); picture {
				name = "one.png"
			}
		}
	}
	format, err := formatOf(name, false)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return format
}

// formatOf finds the format of a file to be written by its name.
func formatOf(path string, all bool) (outputFormat, error) {
	var known []string
	for _, f := range outputFormats {
		if all && !f.all {
			continue
		}
		if strings.EqualFold(filepath.Ext(path), f.extension) {
			return f, nil
		}
		known = append(known, f.extension)
	}
	return outputFormat{}, fmt.Errorf("the name of the file must end in %s", strings.Join(known, ", "))
}

// checkTarget refuses to replace what this command did not write.
func (f *outputFile) checkTarget(read []string) error {
	info, err := os.Stat(f.path)
	if err != nil {
		folder := filepath.Dir(f.path)
		if parent, err := os.Stat(folder); err != nil || !parent.IsDir() {
			return fmt.Errorf("cannot write %s: there is no folder %s", f.path, folder)
		}
		if _, err := os.Lstat(f.path); err == nil {
			return fmt.Errorf("cannot write %s: it is a link to nothing", f.path)
		}
		return nil
	}
	for _, name := range read {
		if other, err := os.Stat(name); err == nil && os.SameFile(info, other) {
			return usagef("%s: the same command reads this file: choose another one", f.flag)
		}
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("cannot write %s: it exists and is not a file", f.path)
	}
	old, err := os.Open(f.path)
	if err != nil {
		return err
	}
	content, err := readContent(old, f.path)
	old.Close()
	if err != nil || content.kind != f.format.kind || f.format.kind == jsonFile && !isOurJSON(content) {
		return fmt.Errorf("%s exists and is no %s as this command writes it: it is not replaced", f.path, f.format.kind)
	}
	return nil
}

// isOurJSON tells arrays from a configuration file, which also parses as an object of texts.
func isOurJSON(c fileContent) bool {
	return !slices.ContainsFunc(c.arrays, func(a tensor.Named) bool { return a.Tensor.DType() == tensor.String && a.Tensor.Rank() == 0 })
}

// writeAll writes the files, all of them or none: each is complete beside its place before the first one
// takes its name.
func (c *invocation) writeAll(files []outputFile, results []result) error {
	if len(files) == 0 {
		return nil
	}
	f := files[0]
	outputs := results[f.index].outputs
	if f.output != "" {
		outputs = slices.DeleteFunc(slices.Clone(outputs), func(v *espalier.Value) bool { return v.Feature.Name != f.output })
	}
	if f.standard() {
		return f.format.write(c.stdout, outputs, f.output == "")
	}
	return osfile.WriteAtomic(f.path, func(w io.Writer) error {
		if err := f.format.write(w, outputs, f.output == ""); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		if b, ok := w.(interface{ Flush() error }); ok {
			if err := b.Flush(); err != nil {
				return fmt.Errorf("write %s: %w", f.path, err)
			}
		}
		return c.writeAll(files[1:], results)
	})
}

// labelsSuffix is what the labels of a dictionary are called in an archive, after its name.
const labelsSuffix = ".labels"

// arrays are the outputs as an archive holds them.
func arrays(outputs []*espalier.Value) []tensor.Named {
	var all []tensor.Named
	for _, v := range outputs {
		all = append(all, tensor.Named{Name: v.Feature.Name, Tensor: v.Tensor})
		if v.Labels != nil {
			all = append(all, tensor.Named{Name: v.Feature.Name + labelsSuffix, Tensor: v.Labels})
		}
	}
	return all
}

func writeNPZ(w io.Writer, outputs []*espalier.Value, _ bool) error {
	return tensor.WriteNPZ(w, arrays(outputs))
}

func writeNPY(w io.Writer, outputs []*espalier.Value, _ bool) error {
	return tensor.WriteNPY(w, outputs[0].Tensor)
}

func writePNG(w io.Writer, outputs []*espalier.Value, _ bool) error {
	img, err := outputs[0].Image()
	if err != nil {
		return err
	}
	return png.Encode(w, img)
}

// writeJSON writes nested lists: those of one output, or an object of those of all, in the names of an archive.
func writeJSON(w io.Writer, outputs []*espalier.Value, all bool) error {
	if !all && outputs[0].Labels == nil {
		return report.WriteJSON(w, report.Nested{Tensor: outputs[0].Tensor})
	}
	var o report.Object
	for _, a := range arrays(outputs) {
		o.Add(a.Name, report.Nested{Tensor: a.Tensor})
	}
	return report.WriteJSON(w, o)
}
