package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// inputFlags are the flags that say what a model is given.
type inputFlags struct {
	Inputs []string `sep:"none" placeholder:"FILE" help:"Take the inputs by name from an npz archive, or from a JSON object of nested lists; - is standard input. Repeated, the cases run in order on one state."`
	Input  []string `sep:"none" placeholder:"NAME=FILE" help:"Take an input from an npy, npz, PNG, JPEG or JSON file, or generate it: NAME=random[:SEED][@SHAPE], NAME=zeros[@SHAPE], where SHAPE is like 1x3x224x224 (HEIGHTxWIDTH for a picture). A model of one input needs no name: --input pic.png. Without a name, random[:SEED] or zeros fills every input not given. Random floats are standard normal, integers 0 to 9, pictures 0 to 255; the same seed (0 by default) and name give the same values."`
	Resize string   `placeholder:"HOW" help:"Bring pictures of another size to the size that the model takes: stretch, fit (black around) or crop."`
}

// inputCase is what one prediction is given.
type inputCase struct {
	file    string // of --inputs; "" if there is none
	inputs  map[string]any
	origins map[string]string // by input, the file that it comes from; "" for generated values
}

// inputFiles are the files that --input flags name.
func inputFiles(specs []inputSpec) []string {
	var files []string
	for _, s := range specs {
		if s.file != "" {
			files = append(files, s.file)
		}
	}
	return files
}

// parse checks the flags as far as that needs no model.
func (c *inputFlags) parse() (specs []inputSpec, err error) {
	seen := map[string]string{}
	for _, flag := range c.Input {
		s, err := parseInputSpec(flag)
		if err != nil {
			return nil, err
		}
		if s.name == "" && s.file != "" { // which input it is, the model says
			specs = append(specs, s)
			continue
		}
		if before, ok := seen[s.name]; ok {
			if s.name == "" {
				return nil, usagef("--input %s and --input %s both fill every input not given", before, flag)
			}
			return nil, usagef("input %q is given twice, by --input %s and --input %s", s.name, before, flag)
		}
		seen[s.name] = flag
		specs = append(specs, s)
	}
	return specs, nil
}

// cases makes the inputs of every prediction.
func (c *inputFlags) cases(call *invocation, f *espalier.Function, specs []inputSpec) ([]inputCase, error) {
	if err := nameSpecs(f, specs); err != nil {
		return nil, err
	}
	everywhere := inputCase{inputs: map[string]any{}, origins: map[string]string{}}
	for _, s := range specs {
		if s.name == "" {
			continue
		}
		i := slices.IndexFunc(f.Inputs(), func(d coreml.Feature) bool { return d.Name == s.name })
		if i < 0 {
			return nil, usagef("--input %s: the model has no input %q: expected %s", s.flag, s.name, nameList(f.Inputs()))
		}
		v, err := s.value(call, f.Inputs()[i])
		if err != nil {
			return nil, err
		}
		everywhere.inputs[s.name], everywhere.origins[s.name] = v, shown(s.file)
	}
	files := c.Inputs
	if len(files) == 0 {
		files = []string{""}
	}
	cases := make([]inputCase, len(files))
	for i, file := range files {
		in := map[string]any{}
		if err := addArchive(call, in, file, f); err != nil {
			return nil, err
		}
		origins := map[string]string{}
		for name := range in {
			origins[name] = shown(file)
		}
		for name, v := range everywhere.inputs {
			if in[name] != nil {
				return nil, usagef("input %q is given twice, by --input and by %s", name, file)
			}
			in[name], origins[name] = v, everywhere.origins[name]
		}
		for _, s := range specs {
			if s.name != "" {
				continue
			}
			for _, d := range f.Inputs() {
				if in[d.Name] == nil {
					v, err := s.generate(d)
					if err != nil {
						return nil, err
					}
					in[d.Name] = v
				}
			}
		}
		cases[i] = inputCase{file, in, origins}
	}
	return cases, nil
}

// nameSpecs gives files without a name that of the only input that has to be there.
func nameSpecs(f *espalier.Function, specs []inputSpec) error {
	var required []coreml.Feature
	for _, d := range f.Inputs() {
		if !d.Optional {
			required = append(required, d)
		}
	}
	given := map[string]string{}
	for i := range specs {
		s := &specs[i]
		if s.name == "" && s.file != "" {
			if len(required) != 1 {
				return usagef("--input %s: expected NAME=FILE, NAME=random, NAME=zeros, or random or zeros for every input not given: the model has the inputs %s", s.flag, nameList(f.Inputs()))
			}
			s.name = required[0].Name
		}
		if before, twice := given[s.name]; twice && s.name != "" {
			return usagef("input %q is given twice, by --input %s and --input %s", s.name, before, s.flag)
		}
		given[s.name] = s.flag
	}
	return nil
}

// addArchive adds the arrays of an --inputs file.
func addArchive(call *invocation, in map[string]any, file string, f *espalier.Function) error {
	if file == "" {
		return nil
	}
	content, err := call.readInputFile(file)
	if err != nil {
		return err
	}
	if content.arrays == nil {
		return fmt.Errorf("%s: expected an npz archive or a JSON object, which have arrays by name; --input NAME=%s takes the file for one input", shown(file), file)
	}
	for _, a := range content.arrays {
		if !slices.ContainsFunc(f.Inputs(), func(d coreml.Feature) bool { return d.Name == a.Name }) {
			return fmt.Errorf("%s: the model has no input %q: expected %s", shown(file), a.Name, nameList(f.Inputs()))
		}
		in[a.Name] = a.Tensor
	}
	return nil
}

// value is what an --input flag with a name gives.
func (s inputSpec) value(call *invocation, d coreml.Feature) (any, error) {
	if s.file == "" {
		return s.generate(d)
	}
	content, err := call.readInputFile(s.file)
	switch {
	case err != nil:
		return nil, err
	case content.picture != nil:
		return content.picture, nil
	case content.array != nil:
		return content.array, nil
	case len(content.arrays) == 1:
		return content.arrays[0].Tensor, nil
	}
	names := make([]string, len(content.arrays))
	for i, a := range content.arrays {
		if names[i] = a.Name; a.Name == s.name {
			return a.Tensor, nil
		}
	}
	return nil, fmt.Errorf("%s: there is no array %q, but %d others: %s", shown(s.file), s.name, len(names), strings.Join(names, ", "))
}

// missing are the inputs that a case lacks.
func (c inputCase) missing(f *espalier.Function) []coreml.Feature {
	var lacking []coreml.Feature
	for _, d := range f.Inputs() {
		if c.inputs[d.Name] == nil && !d.Optional {
			lacking = append(lacking, d)
		}
	}
	return lacking
}

// checkMissing refuses cases that lack inputs, with a command line that would work.
func checkMissing(call *invocation, f *espalier.Function, cases []inputCase) error {
	var text strings.Builder
	var lacking []coreml.Feature
	for _, c := range cases {
		for _, d := range c.missing(f) {
			where := ""
			if c.file != "" {
				where = " from " + shown(c.file)
			}
			fmt.Fprintf(&text, "input %q is missing%s: expected %v\n", d.Name, where, d.Type)
			lacking = append(lacking, d)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	fmt.Fprintf(&text, "this would work:\n  %s\n", completed(call.args, lacking, len(cases) > 1))
	return usageError{errors.New(text.String())}
}

// completed is a command line with flags for the inputs that it lacks. With several cases, one of which may
// have what another lacks, a flag without a name fills them all.
func completed(args []string, lacking []coreml.Feature, several bool) string {
	var flags []string
	if several {
		flags = []string{"--input", "zeros"}
	} else {
		for _, d := range lacking {
			flags = append(flags, "--input", d.Name+"="+suggestion(d))
		}
	}
	end := len(args)
	if i := slices.Index(args, "--"); i >= 0 {
		end = i
	}
	line := []string{"espalier"}
	for _, a := range slices.Concat(args[:end], flags, args[end:]) {
		line = append(line, shellQuote(a, runtime.GOOS == "windows"))
	}
	return strings.Join(line, " ")
}

// suggestion is what to generate for an input: integers are often indices, of which only 0 is always good.
func suggestion(d coreml.Feature) string {
	word := "random"
	if a, ok := d.Type.(*coreml.ArrayType); ok {
		if a.DType != tensor.Invalid && !a.DType.IsFloat() {
			word = "zeros"
		}
		if shape, ok := a.DefaultShape(); ok && len(shape) > 0 {
			return word + "@" + formatShape(shape)
		}
		return word
	}
	switch typ := d.Type.(type) {
	case *coreml.ImageType:
		return word + "@" + formatShape([]int{typ.Height, typ.Width})
	case *coreml.Int64Type:
		return "zeros"
	}
	return word
}

// shellQuote writes an argument such that a shell reads it back: a POSIX shell, or those of Windows.
func shellQuote(arg string, windows bool) string {
	safe := "-_./=:@,+%"
	if windows { // a path there has no double quotes
		safe = `-_./=:@+\`
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(safe, r)
	}
	switch {
	case arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0:
		return arg
	case windows:
		return `"` + arg + `"`
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

func nameList(features []coreml.Feature) string {
	if len(features) == 0 {
		return "none"
	}
	names := make([]string, len(features))
	for i, f := range features {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}
