package espalier_test

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/mil"
)

// A mutationForm is a kind of input, and how to damage one.
type mutationForm struct {
	name   string
	damage func(t testing.TB, r *rand.Rand) input
}

// mutationForms are what is damaged, each as often as the others.
var mutationForms = []mutationForm{
	{"package bytes", damageBytes},
	{"package fields", damageSpecification},
	{"package weights", damageWeights},
	{"program text", damageText},
	{"bundle manifest", bundleDamage(damageManifest)},
	{"bundle descriptor", bundleDamage(damageDescriptor)},
	{"bundle container", bundleDamage(damageSegment)},
	{"bundle files", bundleDamage(damageFile)},
	{"container registers", damageRegisters},
	{"container structure", damageStructure},
	{"arrays", damageArrays},
	{"picture", damagePicture},
}

// mutatedModels are the models that are damaged: between them every kind of constant, feature, nested block and
// compressed weight.
var mutatedModels = []string{
	"conv2d_basic", "comp_joint_pal_quant", "comp_pal4_ios18_group", "b_control_flow", "b_lists", "classifier_labels",
	"flex_enum", "multifunction", "pipeline_two", "stateful_counter", "optional_input", "image_bgr_meanstd", "comp_sparse",
	"classifier_int_labels", "sdpa_ios18", "stateful_kv_cache", "pools2d", "sort_topk", "b_resize",
}

// kept keeps what a child makes more than once.
var kept = map[string]any{}

func keep[V any](key string, make func() V) V {
	v, ok := kept[key].(V) // also one that is nil
	if !ok {
		v = make()
		kept[key] = v
	}
	return v
}

func pick[V any](r *rand.Rand, list []V) V { return list[r.IntN(len(list))] }

// filesIn reads a folder: files by their paths, under a name.
func filesIn(t testing.TB, root, name string) map[string][]byte {
	all := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		all[name+"/"+filepath.ToSlash(rel)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// packageOf returns the files of a model.
func packageOf(t testing.TB, model string) map[string][]byte {
	return keep("package "+model, func() map[string][]byte {
		return filesIn(t, filepath.Join(modelsDir, model, "model.mlpackage"), "model.mlpackage")
	})
}

// with returns the files with one of them replaced.
func with(files map[string][]byte, name string, data []byte) map[string][]byte {
	changed := map[string][]byte{}
	for path, content := range files {
		changed[path] = content
	}
	changed[name] = data
	return changed
}

// names are the paths of files that match, in order.
func names(files map[string][]byte, pattern string) []string {
	var list []string
	for path := range files {
		if ok, _ := filepath.Match(pattern, filepath.Base(path)); ok {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// mutateBytes returns a damaged copy: a bit flipped, the end cut off, or a piece of the file, or of another one, written
// over it.
func mutateBytes(r *rand.Rand, data, other []byte) []byte {
	out := bytes.Clone(data)
	if len(out) == 0 {
		return append(out, byte(r.Uint32()))
	}
	switch r.IntN(4) {
	case 0:
		out[r.IntN(len(out))] ^= 1 << r.IntN(8)
	case 1: // several bytes: lengths and varints change most when their high bits do
		for range 1 + r.IntN(4) {
			out[r.IntN(len(out))] = byte(r.Uint32()) | 0x80
		}
	case 2:
		out = out[:r.IntN(len(out))]
	case 3:
		if len(other) == 0 {
			other = data
		}
		from := r.IntN(len(other))
		copy(out[r.IntN(len(out)):], other[from:min(len(other), from+1+r.IntN(64))])
	}
	return out
}

// damageBytes damages a file of a package without knowing what it is.
func damageBytes(t testing.TB, r *rand.Rand) input {
	model := pick(r, mutatedModels)
	files, others := packageOf(t, model), packageOf(t, pick(r, mutatedModels))
	path := pick(r, names(files, "*"))
	return input{model + " " + path, with(files, path, mutateBytes(r, files[path], others[pick(r, names(others, "*"))]))}
}

// edges are numbers at which something changes: signs, widths, and products that overflow.
var edges = []int64{
	0, 1, -1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 1000, 4096, 16384, 65535, 65536, 1 << 20, 1 << 24,
	1<<31 - 1, 1 << 31, -1 << 31, 1<<32 - 1, 1 << 32, 1 << 40, 1 << 48, 1 << 62, 1<<63 - 1, -1 << 63,
}

// edge is a number to write over another.
func edge(r *rand.Rand, old int64) int64 {
	switch r.IntN(4) {
	case 0:
		return old + int64(r.IntN(5)) - 2
	case 1:
		return old ^ 1<<r.IntN(20)
	default:
		return pick(r, edges)
	}
}

// damageWeights damages the table of a weight file: its header, and the records of 64 bytes.
func damageWeights(t testing.TB, r *rand.Rand) input {
	for {
		model := pick(r, mutatedModels)
		files := packageOf(t, model)
		list := names(files, "*.bin")
		if len(list) == 0 {
			continue
		}
		path := pick(r, list)
		data := bytes.Clone(files[path])
		var records []int
		for at := 0; at+64 <= len(data); at += 64 {
			if at == 0 || bytes.Equal(data[at:at+4], []byte{0xef, 0xbe, 0xad, 0xde}) {
				records = append(records, at)
			}
		}
		if len(records) == 0 {
			continue
		}
		for range 1 + r.IntN(2) {
			putEdge(r, data, pick(r, records)+4*r.IntN(8), 1<<r.IntN(4))
		}
		return input{model + " " + path, with(files, path, data)}
	}
}

// putEdge writes an edge over a little-endian number of so many bytes.
func putEdge(r *rand.Rand, data []byte, at, size int) {
	size = min(size, len(data)-at)
	var old int64
	for i := range size {
		old |= int64(data[at+i]) << (8 * i)
	}
	for i, v := 0, edge(r, old); i < size; i, v = i+1, v>>8 {
		data[at+i] = byte(v)
	}
}

// damageText damages the text of a program, which is then that of a compiled model.
func damageText(t testing.TB, r *rand.Rand) input {
	for {
		model := pick(r, mutatedModels)
		files := keep("text "+model, func() map[string][]byte { return textOf(t, model) })
		if files == nil {
			continue
		}
		text := files["model.mlmodelc/model.mil"]
		if r.IntN(4) == 0 {
			text = mutateBytes(r, text, nil)
		} else {
			text = mutateTokens(r, text)
		}
		return input{model, with(files, "model.mlmodelc/model.mil", text)}
	}
}

// textOf makes a compiled model of one; nil if it is not one program.
func textOf(t testing.TB, model string) map[string][]byte {
	root := filepath.Join(modelsDir, model, "model.mlpackage")
	m, err := coreml.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := m.Program()
	if err != nil {
		return nil
	}
	text, err := mil.FormatText(p)
	if err != nil {
		t.Fatal(err)
	}
	return with(filesIn(t, filepath.Join(root, "Data", "com.apple.CoreML"), "model.mlmodelc"), "model.mlmodelc/model.mil", text)
}

var (
	textTokens  = regexp.MustCompile(`"[^"]*"|[A-Za-z_][A-Za-z_0-9]*|-?[0-9][0-9a-fx.p+-]*|[^\sA-Za-z0-9_"]`)
	textNumbers = regexp.MustCompile(`\b-?[0-9]+\b`)
)

// mutateTokens damages a text by its words: numbers become others, words those of another place.
func mutateTokens(r *rand.Rand, text []byte) []byte {
	for range 1 + r.IntN(3) {
		if places := textNumbers.FindAllIndex(text, -1); r.IntN(2) == 0 && len(places) > 0 {
			at := pick(r, places)
			text = slices.Concat(text[:at[0]], strconvEdge(r, text[at[0]:at[1]]), text[at[1]:])
			continue
		}
		places := textTokens.FindAllIndex(text, -1)
		if len(places) == 0 {
			return text
		}
		at, from := pick(r, places), pick(r, places)
		piece := text[from[0]:from[1]]
		switch r.IntN(4) {
		case 0: // gone
			piece = nil
		case 1: // twice
			piece = slices.Concat(text[at[0]:at[1]], []byte(" "), text[at[0]:at[1]])
		}
		text = slices.Concat(text[:at[0]], piece, text[at[1]:])
	}
	return text
}

// compiledModel is a bundle of a model for a target; nil if it cannot be compiled.
func compiledModel(t testing.TB, model, target string) map[string][]byte {
	return keep("bundle "+model+" "+target, func() map[string][]byte {
		dir := filepath.Join(t.TempDir(), "model.bundle")
		err := compileAndWrite(t, model, target, func(p *espalier.Program) error {
			_, err := p.WriteBundle(context.Background(), dir)
			return err
		})
		if err != nil {
			return nil
		}
		return filesIn(t, dir, "model.bundle")
	})
}

// compileAndWrite compiles a model and writes it.
func compileAndWrite(t testing.TB, model, target string, write func(*espalier.Program) error) error {
	m, err := espalier.Open(filepath.Join(modelsDir, model, "model.mlpackage"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := m.Compile(context.Background(), espalier.CompileOptions{Target: target})
	if err != nil {
		return err
	}
	return write(p)
}
