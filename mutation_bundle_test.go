package espalier_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
)

// Bundles, and what is in them. The digests are made anew: what is damaged is the content, not the copy.

const manifestPath = "model.bundle/manifest.json"

// bundleDamage damages a bundle that is compiled for virtual or for a chip.
func bundleDamage(damage func(r *rand.Rand, files map[string][]byte)) func(testing.TB, *rand.Rand) input {
	return func(t testing.TB, r *rand.Rand) input {
		for {
			model, target := pick(r, mutatedModels), pick(r, []string{"virtual", "virtual", "h13"})
			whole := compiledModel(t, model, target)
			if whole == nil {
				continue
			}
			files := maps.Clone(whole)
			damage(r, files)
			renewDigests(files)
			return input{model + " for " + target, files}
		}
	}
}

// renewDigests makes the sizes and digests of the manifest those of the files, where it is still one.
func renewDigests(files map[string][]byte) {
	m, ok := readJSON(files[manifestPath]).(map[string]any)
	if !ok {
		return
	}
	list, _ := m["files"].([]any)
	for _, entry := range list {
		e, _ := entry.(map[string]any)
		path, _ := e["path"].(string)
		if data, ok := files["model.bundle/"+path]; ok {
			sum := sha256.Sum256(data)
			e["size"], e["sha256"] = len(data), hex.EncodeToString(sum[:])
		}
	}
	if data, err := json.Marshal(m); err == nil {
		files[manifestPath] = data
	}
}

func readJSON(data []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func damageManifest(r *rand.Rand, files map[string][]byte) {
	m := readJSON(files[manifestPath])
	for range 1 + r.IntN(3) {
		var places []jsonPlace
		var texts []string
		listJSON(m, func(v any) { m = v }, "", &places, &texts)
		p := pickPlace(r, places)
		p.set(mutateJSON(r, p, texts))
	}
	files[manifestPath], _ = json.Marshal(m)
}

// A jsonPlace is a value in a document, which can be replaced.
type jsonPlace struct {
	value any
	set   func(any)
	key   string
}

// pickPlace chooses a key first: what is rare is damaged as often as what is common.
func pickPlace(r *rand.Rand, places []jsonPlace) jsonPlace {
	byKey := map[string][]jsonPlace{}
	for _, p := range places {
		byKey[p.key] = append(byKey[p.key], p)
	}
	return pick(r, byKey[pick(r, slices.Sorted(maps.Keys(byKey)))])
}

// listJSON lists the places of a document, and the texts that are in it. Digests are left out: they are made anew.
func listJSON(v any, set func(any), key string, places *[]jsonPlace, texts *[]string) {
	if key == "sha256" || key == "size" {
		return
	}
	*places = append(*places, jsonPlace{v, set, key})
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			listJSON(v[k], func(n any) { v[k] = n }, k, places, texts)
		}
	case []any:
		for i := range v {
			listJSON(v[i], func(n any) { v[i] = n }, key, places, texts)
		}
	case string:
		*texts = append(*texts, v)
	}
}

// jsonTexts are texts that a manifest may have somewhere.
var jsonTexts = []string{
	"", "array", "image", "state", "dictionary", "sequence", "double", "int64", "string", "fp16", "fp32", "int32", "bool", "int4", "uint1", "fp8e4m3fn",
	"RGB", "Grayscale", "BGR", "virtual", "h13", "h16", "fp32", "engine", "host", "NaN", "Infinity", "../x", "weights/x", "\u0000", "fp12",
}

func mutateJSON(r *rand.Rand, p jsonPlace, texts []string) any {
	switch v := p.value.(type) {
	case json.Number:
		old, _ := v.Int64()
		return edge(r, old)
	case string:
		if r.IntN(2) == 0 {
			return pick(r, jsonTexts)
		}
		return pick(r, texts)
	case bool:
		return !v
	case []any:
		if len(v) == 0 {
			return []any{nil}
		}
		i, j := r.IntN(len(v)), r.IntN(len(v))
		switch r.IntN(4) {
		case 0:
			return slices.Delete(slices.Clone(v), i, i+1)
		case 1:
			return slices.Insert(slices.Clone(v), i, v[j])
		case 2:
			return []any{}
		}
		v = slices.Clone(v)
		v[i], v[j] = v[j], v[i]
		return v
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		if len(keys) == 0 {
			return nil
		}
		v = maps.Clone(v)
		a, b := pick(r, keys), pick(r, keys)
		if r.IntN(2) == 0 {
			delete(v, a)
		} else {
			v[a], v[b] = v[b], v[a]
		}
		return v
	}
	return pick(r, []any{nil, true, "x", 1, []any{}, map[string]any{}})
}

func strconvEdge(r *rand.Rand, old []byte) []byte {
	n, _ := strconv.ParseInt(string(old), 10, 64)
	return strconv.AppendInt(nil, edge(r, n), 10)
}

// damageDescriptor changes what the descriptor says, in its own words where they can be written.
func damageDescriptor(r *rand.Rand, files map[string][]byte) {
	path := "model.bundle/program.e5"
	p, err := e5.Decode(bytes.Clone(files[path]))
	if err == nil && r.IntN(4) != 0 {
		for range 1 + r.IntN(2) {
			mutateValue(r, p)
		}
		if data, err := p.Encode(); err == nil {
			files[path] = data
			return
		}
	}
	data := bytes.Clone(files[path])
	putEdge(r, data, 4*r.IntN(len(data)/4), 1<<r.IntN(4))
	files[path] = data
}

// damageSegment changes the live registers of a container of the bundle.
func damageSegment(r *rand.Rand, files map[string][]byte) {
	list := names(files, "*.hwx")
	if len(list) == 0 {
		damageDescriptor(r, files)
		return
	}
	path := pick(r, list)
	files[path] = mutateRegisters(r, files[path])
}

// damageFile damages the host program by its words, and the others by their bytes.
func damageFile(r *rand.Rand, files map[string][]byte) {
	list := slices.DeleteFunc(names(files, "*"), func(path string) bool { return path == manifestPath })
	path := pick(r, list)
	if host := "model.bundle/host.mil"; files[host] != nil && r.IntN(2) == 0 {
		path = host
	}
	if strings.HasSuffix(path, ".mil") {
		files[path] = mutateTokens(r, files[path])
		return
	}
	files[path] = mutateBytes(r, files[path], nil)
}

// containerOf is a container of a model that is one segment on the engine.
func containerOf(t testing.TB, r *rand.Rand) (string, []byte) {
	for {
		model, target := pick(r, mutatedModels), pick(r, []string{"virtual", "virtual", "h13", "h16"})
		data := keep("container "+model+" "+target, func() []byte {
			path := filepath.Join(t.TempDir(), "model.hwx")
			if compileAndWrite(t, model, target, func(p *espalier.Program) error { return p.WriteContainer(context.Background(), path) }) != nil {
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return data
		})
		if data != nil {
			return model + " for " + target, data
		}
	}
}

// damageRegisters changes the live registers of a container.
func damageRegisters(t testing.TB, r *rand.Rand) input {
	name, data := containerOf(t, r)
	return input{name, map[string][]byte{"model.hwx": mutateRegisters(r, data)}}
}

// mutateRegisters changes words that tasks write: fields by their widths, and words as numbers.
func mutateRegisters(r *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	f, err := hwx.NewFile(data)
	if err != nil {
		return data
	}
	tasks, err := f.Tasks()
	if err != nil || len(tasks) == 0 {
		return data
	}
	text := f.Text().Data // of data
	for range 1 + r.IntN(3) {
		t := pick(r, tasks)
		words, err := t.Encode()
		if err != nil {
			continue
		}
		at := len(t.Header) + r.IntN(len(words)-len(t.Header))
		if field := liveField(r, t.Task); field != nil && r.IntN(4) != 0 {
			at = t.WordOf(field)
			if field.Block.Header {
				at = int(field.Addr / 4)
			}
			words[at] = words[at]&^field.Mask() | uint32(edge(r, int64(field.Of(words[at]))))<<field.Lo&field.Mask()
		} else if r.IntN(2) == 0 {
			words[at] = uint32(edge(r, int64(words[at])))
		} else {
			words[at] = words[r.IntN(len(words))]
		}
		place := text[t.Offset+4*at:]
		for i := range 4 {
			place[i] = byte(words[at] >> (8 * i))
		}
	}
	return data
}

// liveField is a field that a task writes; nil if none was found.
func liveField(r *rand.Rand, t *td.Task) *td.Field {
	blocks := td.LayoutOf(t.Version).Blocks
	for range 64 {
		b := pick(r, blocks)
		if len(b.Fields) == 0 {
			continue
		}
		if f := pick(r, b.Fields); f != nil {
			if _, ok := t.Get(f); ok {
				return f
			}
		}
	}
	return nil
}

// damageStructure changes ports, bases and sections of a container, and its load commands.
func damageStructure(t testing.TB, r *rand.Rand) input {
	name, data := containerOf(t, r)
	in := input{name, map[string][]byte{"model.hwx": mutateBytes(r, data[:min(len(data), 0x1800)], nil)}}
	f, err := hwx.NewFile(bytes.Clone(data))
	if err != nil {
		return in
	}
	if spec, err := f.Describe(); err == nil && r.IntN(2) == 0 {
		mutateValue(r, spec)
		if built, err := hwx.Build(*spec); err == nil {
			if damaged, err := built.Encode(); err == nil {
				in.files["model.hwx"] = damaged
				return in
			}
		}
	}
	damaged := bytes.Clone(data)
	end := min(len(damaged), 0x2000)
	for range 1 + r.IntN(3) {
		putEdge(r, damaged, 4*r.IntN(end/4), 1<<r.IntN(4))
	}
	in.files["model.hwx"] = damaged
	return in
}
