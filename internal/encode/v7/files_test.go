package v7_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/netplist"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Programs that Apple's compiler made of network descriptions that are at hand: both compiled, both run.

// An appleFile is a container, the list that its banner names, and what history had otherwise in the list when it was compiled:
// nothing but extents, types of functions, and the file of weights.
type appleFile struct {
	name, list string
	banner     string // what it has instead of the list, if its list is not at hand under that name
	edits      []edit
}

// An edit is one value of a list: the keys that lead to it, what stands there, and what did.
type edit struct{ keys, now, then string }

var appleFiles = []appleFile{
	{"concat_0f988933", "simple/concat", "", nil},
	{"concat_fb59e09a", "simple/concat", "", []edit{{"input_0 InputChannels", "16384", "16"}}},
	{"conv_8a6bd427", "simple/conv", "", []edit{{"Weights", "../twos.weights", "../min.weights"}}},
	{"conv_ea5905f3", "simple/conv", "", nil},
	{"gemm_bc27a277", "simple/gemm", "", []edit{{"image BatchSize", "512", "1"}}},
	{"gemm_ef7e5c24", "simple/gemm", "", []edit{{"image BatchSize", "512", "1"}, {"image InputChannels", "512", "64"}, {"probs OutputChannels", "512", "64"}}},
	{"golden_a199507d", "simple/conv", "", []edit{{"Weights", "../twos.weights", "../threes.weights"}}},
	{"relu_d66a665b", "simple/neuron", "", []edit{{"image InputWidth", "77", "16"}, {"my_layer Params Type", "Sigmoid", "ReLU"}}},
	{"relu_dc54cc54", "simple/neuron", "", []edit{{"my_layer Params Type", "Sigmoid", "ReLU"}}},
	{"sigmoid_7cc79341", "simple/neuron", "", nil},
	{"sum_1b1855b8", "plists/sum", "", nil},

	{"compiled_ee9d5b1b", "net", "net.plist of a daemon", []edit{{"Weights", "model.espresso.weights", "../zero"}}},
	{"compiled_signed_4e6bd6e6", "net", "net.plist of a daemon", nil},
	{"golden_32a7ae2d", "simple/conv", "min.plist", []edit{{"Weights", "../twos.weights", "../threes.weights"}}},
	{"golden_50e38bf9", "net", "net.plist of a daemon", nil},
	{"golden_c20271e3", "simple/reshape", "reshape_noop.plist", nil},
	{"golden_cb1ce958", "simple/conv", "min.plist", []edit{{"Weights", "../twos.weights", "../threes.weights"}, {"my_layer OutputChannels", "3", "2"}}},
}

// apply changes the value in the text of a list.
func (e edit) apply(t testing.TB, list string) string {
	t.Helper()
	at := 0
	for key := range strings.FieldsSeq(e.keys) {
		mark := "<key>" + key + "</key>"
		i := strings.Index(list[at:], mark)
		if i < 0 {
			t.Fatalf("%s: no key %s", e.keys, key)
		}
		at += i + len(mark)
	}
	i := strings.Index(list[at:], ">"+e.now+"<")
	if i < 0 || strings.Contains(list[at:at+i], "<key>") {
		t.Fatalf("%s is not %s", e.keys, e.now)
	}
	at += i + 1
	return list[:at] + e.then + list[at+len(e.now):]
}

// weightsFile is a file of weights by its name in a list. Two are not at hand: one that is made by the command that the list has in a
// comment, and one of threes.
func weightsFile(t testing.TB, name string) []byte {
	t.Helper()
	switch name {
	case "../zero":
		return make([]byte, 16<<20)
	case "../threes.weights":
		return bytes.Repeat([]byte{0x00, 0x42}, 128)
	}
	data, err := os.ReadFile(filepath.Join(testkit.Shared(t, "netplists"), filepath.Base(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A fileParity is how our program of a list compares with Apple's.
type fileParity struct {
	appleFile
	theirs, ours []td.Placed
	constants    [2][]byte // Apple's, ours
	text         bool      // the same, byte for byte
	file         bool      // the whole container, but for the names that are free
	diffs        []string  // words outside hints
	results      int       // that are the same bits
}

func (f *appleFile) compare(t testing.TB) *fileParity {
	t.Helper()
	p := &fileParity{appleFile: *f}
	file := f.open(t)
	data, err := file.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if named := strings.Contains(file.Banner(), "-i ./"+f.list+".plist\n"); named != (f.banner == "") {
		t.Errorf("%s: the banner names %s.plist: %v", f.name, f.list, named)
	}
	s := compileGraph(t, f.graph(t))
	ours, err := compiler.Container(s)
	if err != nil {
		t.Fatal(err)
	}
	p.theirs, p.ours = tasksOf(t, file), tasksOf(t, ours)
	p.constants = [2][]byte{file.Constants().Data, ours.Constants().Data}
	p.file = bytes.Equal(renamed(t, ours, file), data)
	p.text = bytes.Equal(file.Text().Data, ours.Text().Data)
	for i := range min(len(p.theirs), len(p.ours)) {
		for _, d := range taskDiffs(p.theirs[i].Task, p.ours[i].Task, true) {
			p.diffs = append(p.diffs, fmt.Sprintf("task %d %s", i, d))
		}
	}
	p.results = sameResults(t, file, ours)
	return p
}

// open reads the container.
func (f *appleFile) open(t testing.TB) *hwx.File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.Shared(t, "hwx"), f.name+".hwx"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := hwx.NewFile(data)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// renamed is our container with the names that are free as Apple's has them: the banner, the program, the ports, the digests of
// kernels; and two words whose meaning is not known.
func renamed(t testing.TB, ours, theirs *hwx.File) []byte {
	t.Helper()
	spec, err := ours.Describe()
	if err != nil {
		t.Fatal(err)
	}
	want, err := theirs.Describe()
	if err != nil {
		t.Fatal(err)
	}
	spec.Banner, spec.Program, spec.Unknown850, spec.Unknown858 = want.Banner, want.Program, want.Unknown850, want.Unknown858
	for i := range min(len(spec.Ports), len(want.Ports)) {
		spec.Ports[i].Name, spec.Ports[i].Tensor = want.Ports[i].Name, want.Ports[i].Tensor
	}
	for i := range min(len(spec.Kernels), len(want.Kernels)) {
		spec.Kernels[i].Digest = want.Kernels[i].Digest
	}
	file, err := hwx.Build(*spec)
	if err != nil {
		t.Fatal(err)
	}
	data, err := file.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func tasksOf(t testing.TB, file *hwx.File) []td.Placed {
	t.Helper()
	tasks, err := file.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

// A fieldDiff is a field in which two tasks differ.
type fieldDiff struct {
	field *td.Field
	at    [2]uint32 // the words
	has   [2]bool   // whether they are written
}

func (d fieldDiff) String() string {
	return fmt.Sprintf("%s: Apple's %s, ours %s", d.field.Name, d.value(0), d.value(1))
}

func (d fieldDiff) value(i int) string {
	if !d.has[i] {
		return "not written"
	}
	return fmt.Sprintf("%#x", d.field.Of(d.at[i]))
}

// taskDiffs lists the fields in which two tasks differ, hints left out or not.
func taskDiffs(theirs, ours *td.Task, butHints bool) (list []fieldDiff) {
	layout := td.LayoutOf(td.V7)
	add := func(fields []*td.Field, d fieldDiff, mask uint32) {
		if !butHints {
			mask = 0
		}
		for _, f := range fields {
			if changed := (d.at[0] ^ d.at[1]) & f.Mask(); d.has[0] != d.has[1] || changed&^mask != 0 {
				d.field = f
				list = append(list, d)
			}
		}
	}
	for i := range max(len(theirs.Header), len(ours.Header)) {
		var d fieldDiff
		for j, t := range []*td.Task{theirs, ours} {
			if d.has[j] = i < len(t.Header); d.has[j] {
				d.at[j] = t.Header[i]
			}
		}
		add(layout.Blocks[0].FieldsAt(uint32(4*i)), d, hintHeader[i])
	}
	for _, b := range layout.Blocks[1:] {
		for i := range b.Words {
			addr := b.Addr + uint32(4*i)
			var d fieldDiff
			d.at[0], d.has[0] = theirs.Word(addr)
			d.at[1], d.has[1] = ours.Word(addr)
			add(b.FieldsAt(addr), d, hintsAt(addr))
		}
	}
	return list
}

// sameResults runs both programs on the same numbers, among them those that have no magnitude, and counts the results.
func sameResults(t testing.TB, files ...*hwx.File) int {
	t.Helper()
	r := rand.New(rand.NewPCG(13, 7))
	given := map[string][]byte{}
	var first []byte
	count := 0
	for i, file := range files {
		p, err := engine.Load(file, h13(t).Numerics)
		if err != nil {
			t.Fatal(err)
		}
		c := p.NewContext()
		var result []byte
		for _, q := range p.Ports() {
			surface, err := c.Surface(q.Name)
			if err != nil {
				t.Fatal(err)
			}
			if q.Direction == engine.Output {
				result = surface
				count = q.Len()
				continue
			}
			if i == 0 {
				given[q.Name] = randomHalves(r, len(surface))
			}
			copy(surface, given[q.Name])
		}
		if err := p.RunAll(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = slices.Clone(result)
		} else if !bytes.Equal(result, first) {
			t.Error("the results are not the same bits")
			return 0
		}
	}
	return count
}

// randomHalves are numbers of fp16: most near 1, some of any bits.
func randomHalves(r *rand.Rand, size int) []byte {
	data := make([]byte, size)
	for i := 0; i < size; i += 2 {
		v := tensor.ToF16(float32(r.NormFloat64() * 4))
		if r.IntN(8) == 0 {
			v = uint16(r.Uint32())
		}
		binary.LittleEndian.PutUint16(data[i:], v)
	}
	return data
}

// TestAppleFiles holds what we make of a list to what Apple's compiler made of it: the tasks, the constants, every word, the results.
func TestAppleFiles(t *testing.T) {
	for _, f := range appleFiles {
		t.Run(f.name, func(t *testing.T) {
			p := f.compare(t)
			if len(p.ours) != len(p.theirs) {
				t.Errorf("%d tasks, want %d", len(p.ours), len(p.theirs))
			}
			if !bytes.Equal(p.constants[0], p.constants[1]) {
				t.Error("the constants are not Apple's")
			}
			for _, d := range p.diffs {
				t.Error(d)
			}
			if !p.text {
				t.Error("the text is not Apple's, hints and all")
			}
			if !p.file {
				t.Error("the container is not Apple's, but for its names")
			}
			if p.results == 0 {
				t.Error("nothing is computed")
			}
		})
	}
}

// formReasons are the fields outside hints in which the words of 2020 and 2026 differ, and why.
var formReasons = []struct{ fields, why string }{
	{"Header.NextWords Header.NextOffset", "A task of 2026 that loads no kernel is shorter, so that the next one begins earlier."},
	{"Header.Read0Base Header.WriteBase", "2020 counts outputs first, then inputs as they are listed; 2026 counts all ports by name."},
	{"KernelDMASrc.Channel*Offset KernelDMASrc.Channel*Size", "Where no kernel is loaded, 2020 writes them all the same; sizes are 0 in planar tasks."},
	{"KernelDMASrc.BiasSize KernelDMASrc.PostScaleSize KernelDMASrc.PaletteSize KernelDMASrc.TableSize", "Streams that are off."},
	{"TileDMASrc.Source1Group TileDMASrc.Source2Group TileDMADst.Group", "The stride of the only group."},
	{"TileDMASrc.Word40 TileDMADst.ZeroPadFirst TileDMADst.ZeroPadLast NE.PaletteBits NE.Bit20", "2020 leaves them 0 in planar tasks."},
	{"L2.ResultBufferMode L2.ResultChannel L2.ResultRow L2.ResultDepth L2.ResultGroup TileDMADst.BufferMode", "The result of a convolution passes through rows of its own in 2020, through a buffer in 2026."},
	{"NE.KernelFormat NE.BinaryPoint", "2020 leaves them 0 where no weights are loaded."},
	{"NE.Bias NE.AccumulatorBias", "A bias that all outputs have is in the kernel stream in 2020, a number of the task in 2026."},
	{"TileDMADst.Depth", "A part of a concatenation has the depth stride of the whole in 2020. No record of 2026 has a concatenation."},
}

// A numbered field stands for all of its name.
var channelNumber = regexp.MustCompile(`Channel[0-9]+`)

// filesPage is the part of the page that is about Apple's files.
func filesPage(t testing.TB) string {
	t.Helper()
	var rows, edits strings.Builder
	var named, texts, whole int
	type forms struct {
		values map[string]bool
		files  map[string]bool
	}
	differ := map[string]*forms{}
	for _, f := range appleFiles {
		p := f.compare(t)
		same := func(yes bool) string {
			if yes {
				return "same"
			}
			return "other"
		}
		words := same(len(p.ours) == len(p.theirs) && len(p.diffs) == 0)
		if len(p.diffs) > 0 {
			words = strings.Join(p.diffs, "; ")
		}
		if p.text {
			texts++
		}
		if p.file {
			whole++
		}
		banner := f.list + ".plist"
		if f.banner != "" {
			banner = f.banner
		} else {
			named++
		}
		fmt.Fprintf(&rows, "| %s | %s | %s.plist | %d | %d | %s, %d bytes | %s | %s | %s | %d |\n", f.name, banner, f.list, len(p.theirs), len(p.ours),
			same(bytes.Equal(p.constants[0], p.constants[1])), len(p.constants[1]), words, same(p.text), same(p.file), p.results)
		for _, e := range f.edits {
			fmt.Fprintf(&edits, "| %s | %s.plist | %s | %s | %s |\n", f.name, f.list, strings.ReplaceAll(e.keys, " ", " / "), e.now, e.then)
		}
		if f.edits == nil {
			fmt.Fprintf(&edits, "| %s | %s.plist | nothing | | |\n", f.name, f.list)
		}
		// The same list in the words of 2026.
		g := f.graph(t)
		g.Form2020 = false
		later, err := compiler.Container(compileGraph(t, g))
		if err != nil {
			t.Fatal(err)
		}
		for i, task := range tasksOf(t, later) {
			for _, d := range taskDiffs(p.ours[i].Task, task.Task, true) {
				name := channelNumber.ReplaceAllString(d.field.Name, "Channel*")
				if differ[name] == nil {
					differ[name] = &forms{map[string]bool{}, map[string]bool{}}
				}
				differ[name].values[d.value(0)+" → "+d.value(1)] = true
				differ[name].files[f.name] = true
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `
## Apple's own programs

Seventeen containers that Apple's compiler of 2020 made (v4.2.1) are at hand, and %d of them name in their banner a network
description that is at hand, too; those of the others are there under another name. Here is what we make of the same descriptions. A
description of schema 1.0.9, which that compiler read, gets the words of that compiler; models and schema 1.0.10 get those of 2026, as in
the rest of this page. The text of %d of %d is Apple's byte for byte, hints and all. Of %d the whole file is, once the names that are free
are as Apple has them: banner, program, ports, digests of kernels, and two words of the program whose meaning is not known (+0x850,
+0x858). Results are bit for bit those of Apple's container, run on the same engine on random numbers, infinities and NaN among them.

| Container | in its banner | Description | Apple's tasks | ours | constants | words outside hints | text | file | results that are the same |
|---|---|---|--:|--:|---|---|---|---|--:|
%s
### What of the descriptions is other

The descriptions are as history left them. To match what was compiled, nothing is changed but extents, the type of a function and the file
of weights. The weights that are not at hand: ../zero is 16 MiB of zeros, as a comment of the description says; ../threes.weights
is 128 times 3.

| Container | Description | key | there | here |
|---|---|---|---|---|
%s
### The words of 2020 beside those of 2026

The fields in which these programs differ if they are compiled in the one form or the other. The chip computes the same.

| Fields | why | 2020 → 2026 |
|---|---|---|
`, named, texts, len(appleFiles), whole, rows.String(), edits.String())
	for _, r := range formReasons {
		var names, values []string
		for name := range strings.FieldsSeq(r.fields) {
			d := differ[name]
			if d == nil {
				t.Errorf("%s does not differ", name)
				continue
			}
			delete(differ, name)
			names = append(names, name)
			for v := range d.values {
				if !slices.Contains(values, v) {
					values = append(values, v)
				}
			}
		}
		slices.Sort(values)
		if len(values) > 6 {
			values = append(values[:6], "…")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(names, ", "), r.why, strings.Join(values, "; "))
	}
	for name := range differ {
		t.Errorf("%s differs, and no reason is given", name)
	}
	return b.String()
}

// graph is the list as a graph.
func (f *appleFile) graph(t testing.TB) *anec.Graph {
	t.Helper()
	return listGraph(t, f.list, f.edits, func(name string) []byte { return weightsFile(t, name) })
}

// listGraph is the one procedure of a list, edited.
func listGraph(t testing.TB, list string, edits []edit, weights func(name string) []byte) *anec.Graph {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.Shared(t, "netplists"), list+".plist"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, e := range edits {
		text = e.apply(t, text)
	}
	file, err := netplist.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	procedures, _, err := file.Procedures(func(name string) ([]byte, error) { return weights(name), nil })
	if err != nil {
		t.Fatal(err)
	}
	if len(procedures) != 1 {
		t.Fatalf("%s has %d procedures", list, len(procedures))
	}
	return procedures[0].Graph
}
