package bundle

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/tensor"
)

// check finds what is wrong with a manifest by itself. A bundle in memory has no
// digests.
func (m *Manifest) check(digests bool) error {
	switch {
	case m.Format != formatName:
		return wrong("format", "%q instead of %q", m.Format, formatName)
	case m.Version != formatVersion:
		return wrong("version", "%d instead of %d", m.Version, formatVersion)
	}
	files, err := m.checkFiles(digests)
	if err != nil {
		return err
	}
	used := map[string]bool{ProgramPath: true}
	if _, ok := files[ProgramPath]; !ok {
		return wrong("files", "there is no %s", ProgramPath)
	}
	names := map[string]bool{}
	for i, f := range m.Functions {
		field := at("functions", i)
		if err := unique(names, field+".name", f.Name); err != nil {
			return err
		}
		for list, features := range f.features() {
			if err := checkFeatures(field+"."+list, features); err != nil {
				return err
			}
		}
		if err := f.checkClassifier(field + ".classifier"); err != nil {
			return err
		}
		if f.Source != "" {
			if _, ok := files[HostPath]; !ok {
				return wrong(field+".source", "there is no %s for it", HostPath)
			}
			used[HostPath] = true
		}
		for j, s := range f.Segments {
			if err := s.check(at(field+".segments", j), files, used); err != nil {
				return err
			}
		}
	}
	for i := range m.Functions {
		if err := m.Functions[i].checkMutable(at("functions", i)+".mutable", files); err != nil {
			return err
		}
	}
	if err := m.checkPipeline(); err != nil {
		return err
	}
	weights := map[string]bool{}
	for i, w := range m.Weights {
		field := at("weights", i)
		if err := unique(weights, field+".name", w.Name); err != nil {
			return err
		}
		if err := w.check(field, files); err != nil {
			return err
		}
		used[w.File] = true
	}
	for i, f := range m.Files {
		if !used[f.Path] {
			return wrong(at("files", i), "nothing uses %s", f.Path)
		}
	}
	return nil
}

// features yields the lists of a function's features with their names, in order.
func (f *Function) features() func(yield func(string, []Feature) bool) {
	return func(yield func(string, []Feature) bool) {
		_ = yield("inputs", f.Inputs) && yield("outputs", f.Outputs) && yield("states", f.States)
	}
}

// checkFiles returns the files by their paths.
func (m *Manifest) checkFiles(digests bool) (map[string]File, error) {
	files := map[string]File{}
	folded := map[string]bool{strings.ToLower(manifestName): true}
	for i, f := range m.Files {
		field := at("files", i)
		if err := checkPath(f.Path); err != nil {
			return nil, &FormatError{File: manifestName, Offset: -1, Field: field + ".path", Msg: fmt.Sprintf("%q", f.Path), Err: err}
		}
		// Some file systems do not tell upper from lower case.
		if err := unique(folded, field+".path", strings.ToLower(f.Path)); err != nil {
			return nil, err
		}
		if role := roleOf(f.Path); f.Role != role {
			return nil, wrong(field+".role", "%s has the role %q instead of %q", f.Path, f.Role, role)
		}
		if f.Size < 0 {
			return nil, wrong(field+".size", "%d", f.Size)
		}
		if f.SHA256 == "" && !digests {
			files[f.Path] = f
			continue
		}
		if digest, err := hex.DecodeString(f.SHA256); err != nil || len(digest) != 32 || strings.ToLower(f.SHA256) != f.SHA256 {
			return nil, wrong(field+".sha256", "%q is not 64 lower-case hexadecimal digits", f.SHA256)
		}
		files[f.Path] = f
	}
	return files, nil
}

// The folders of the bundle.
const (
	segmentsDir = "segments/"
	weightsDir  = "weights/"
)

// roleOf returns the role of a file, which follows from its path; "" for a path
// that no file of a bundle has.
func roleOf(path string) string {
	switch {
	case path == ProgramPath:
		return RoleProgram
	case path == HostPath:
		return RoleHost
	case strings.HasPrefix(path, segmentsDir):
		return RoleContainer
	case strings.HasPrefix(path, weightsDir):
		return RoleWeights
	}
	return ""
}

// checkPath refuses what is not, on every system, a path of a file below the
// folder.
func checkPath(path string) error {
	if !fs.ValidPath(path) || path == "." || !filepath.IsLocal(path) {
		return ErrOutside
	}
	if !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool {
		return r < ' ' || strings.ContainsRune(`\:*?"<>|`, r)
	}) {
		return ErrOutside
	}
	if roleOf(path) == "" {
		return fmt.Errorf("a bundle has %s, %s and files in %s and %s only", ProgramPath, HostPath, segmentsDir, weightsDir)
	}
	return nil
}

func (s *Segment) check(field string, files map[string]File, used map[string]bool) error {
	if s.Operation == "" {
		return wrong(field+".operation", "it has no name")
	}
	switch s.Backend {
	case Engine:
		if s.Function != "" {
			return wrong(field+".function", "an engine segment has none")
		}
		if f, ok := files[s.Container]; !ok || f.Role != RoleContainer {
			return wrong(field+".container", "there is no container %q", s.Container)
		}
		used[s.Container] = true
		if s.Weights == "" {
			break
		}
		if f, ok := files[s.Weights]; !ok || f.Role != RoleWeights {
			return wrong(field+".weights", "there is no file of weights %q", s.Weights)
		}
		used[s.Weights] = true
	case Host:
		if s.Container != "" || s.Procedure != "" || s.Weights != "" {
			return wrong(field, "a host segment has no container")
		}
		if _, ok := files[HostPath]; !ok {
			return wrong(field, "there is no %s for it", HostPath)
		}
		if s.Function == "" {
			return wrong(field+".function", "it has no name")
		}
		used[HostPath] = true
	default:
		return wrong(field+".backend", "%q is neither %q nor %q", s.Backend, Engine, Host)
	}
	return nil
}

// checkClassifier refuses outputs that are not there, and classes of two kinds.
func (f *Function) checkClassifier(field string) error {
	c := f.Classifier
	if c == nil {
		return nil
	}
	for _, part := range []struct{ field, output string }{{".label", c.Label}, {".probabilities", c.Probabilities}} {
		name := part.output
		if name != "" && !slices.ContainsFunc(f.Outputs, func(o Feature) bool { return o.Name == name }) {
			return wrong(field+part.field, "there is no output %q", name)
		}
	}
	if len(c.Texts) > 0 && len(c.Numbers) > 0 {
		return wrong(field, "the classes have both texts and numbers")
	}
	return nil
}

func checkFeatures(field string, features []Feature) error {
	names := map[string]bool{}
	for i, f := range features {
		field := at(field, i)
		if err := unique(names, field+".name", f.Name); err != nil {
			return err
		}
		kind, ok := featureKinds[f.Kind]
		if !ok {
			return wrong(field+".kind", "%q is not known", f.Kind)
		}
		if kind.array != (f.Array != nil) || kind.image != (f.Image != nil) || kind.elem != (f.Elem != "") {
			return wrong(field, "a feature of kind %q is described as another", f.Kind)
		}
		if err := f.checkType(field); err != nil {
			return err
		}
	}
	return nil
}

func (w *Weight) check(field string, files map[string]File) error {
	f, ok := files[w.File]
	if !ok || f.Role != RoleWeights {
		return wrong(field+".file", "there is no file of weights %q", w.File)
	}
	if w.Offset < 0 || w.Size < 0 || w.Offset > f.Size || w.Size > f.Size-w.Offset {
		return wrong(field, "%d bytes at %d are not in %s, which has %d", w.Size, w.Offset, w.File, f.Size)
	}
	if w.Type == "" {
		if w.Shape != nil {
			return wrong(field+".shape", "there is a shape without a type")
		}
		return nil
	}
	dtype, err := tensor.ParseDType(w.Type)
	if err != nil {
		return wrong(field+".type", "%v", err)
	}
	count, ok := tensor.ShapeOf(w.Shape...).Count()
	if !ok {
		return wrong(field+".shape", "%v has no size", w.Shape)
	}
	if size, ok := dtype.ByteLen(count); !ok || int64(size) != w.Size {
		return wrong(field+".size", "%d bytes for %v %v", w.Size, w.Type, w.Shape)
	}
	return nil
}

// agree finds where the manifest and the descriptor differ: the functions must
// be the same, in the same order, and the segments must be the operations that
// compute something, with the same attributes.
func (m *Manifest) agree(p *e5.Program) error {
	if len(m.Functions) != len(p.Functions) {
		return wrong("functions", "%d functions, and %d in %s", len(m.Functions), len(p.Functions), ProgramPath)
	}
	for i, f := range m.Functions {
		field := at("functions", i)
		described := p.Functions[i]
		if f.Name != described.Name {
			return wrong(field+".name", "%q, and %q in %s", f.Name, described.Name, ProgramPath)
		}
		var found []Segment
		for _, op := range described.Operations() {
			switch a := op.Attrs.(type) {
			case e5.AneInferenceAttrs:
				found = append(found, Segment{Operation: op.Name, Backend: Engine, Container: a.ProgramSymbol, Procedure: a.ProcedureName})
			case e5.CpuInferenceAttrs:
				found = append(found, Segment{Operation: op.Name, Backend: Host, Function: a.Function})
			case e5.CastAttrs:
				// Between segments; it is none.
			default:
				return &FormatError{File: ProgramPath, Offset: -1, Field: f.Name + "." + op.Name,
					Msg: fmt.Sprintf("no backend runs an operation of kind %v", op.Kind())}
			}
		}
		for j := range max(len(f.Segments), len(found)) {
			field := at(field+".segments", j)
			switch {
			case j >= len(f.Segments):
				return wrong(field, "%s of %s is missing", found[j].Operation, ProgramPath)
			case j >= len(found):
				return wrong(field, "%s is not in %s", f.Segments[j].Operation, ProgramPath)
			}
			described := f.Segments[j]
			if found[j].Weights = described.Weights; described != found[j] { // which the descriptor does not know
				return wrong(field, "%+v, and in %s %+v", described, ProgramPath, found[j])
			}
		}
	}
	return nil
}

// unique notes a name that must be there and be the only one.
func unique(names map[string]bool, field, name string) error {
	switch {
	case name == "":
		return wrong(field, "there is no name")
	case names[name]:
		return wrong(field, "%q stands twice", name)
	}
	names[name] = true
	return nil
}

// at returns the way to an element of a list.
func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
