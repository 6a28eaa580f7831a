package hwx

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// realFiles are the containers of Apple's compiler, by name.
func realFiles(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(testkit.Shared(t, "hwx"), "*.hwx"))
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(path), ".hwx")] = data
	}
	return files
}

func TestRealFilesSurvive(t *testing.T) {
	files := realFiles(t)
	encoded, built := 0, 0
	for name, data := range files {
		f := mustRead(t, data)
		if got, err := f.Encode(); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: Encode of what was read differs (%v)", name, err)
		} else {
			encoded++
		}
		spec, err := f.Describe()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		spec.Windows = nil // the rule for their order is enough
		for i := range spec.Ports {
			spec.Ports[i].Strides = [4]uint64{} // and so is that for strides
		}
		b, err := Build(*spec)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := b.Encode(); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: Build of its description differs (%v) at 0x%x", name, err, firstDifference(got, data))
		} else {
			built++
		}
	}
	t.Logf("of %d real files, %d survive Encode and %d Build of their description", len(files), encoded, built)
	if len(files) != len(samples) {
		t.Errorf("%d real files, want %d", len(files), len(samples))
	}
}

// firstDifference is the offset of the first byte in which a and b differ.
func firstDifference(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// samplePort is a port of a sample: name, direction, shape, row stride, bytes,
// used bytes, base. Planes are rows, since all have a height of 1.
type samplePort struct {
	name        string
	dir         Direction
	c, w        int
	row         int64
	bytes, used int64
	base        int
}

// samples is what the annotated dumps say of each file.
var samples = map[string]struct {
	commands, segments int
	text, constants    uint64
	relocs, tasks      int
	kernels            int // streams in the symbol table
	word850, word858   uint32
	ports              []samplePort
}{
	"compiled_ee9d5b1b":        {11, 4, 0x274, 0x80, 2, 1, 2, 0x11, 3, conv3(2)},
	"compiled_signed_4e6bd6e6": {11, 4, 0x274, 0x80, 2, 1, 2, 0x11, 3, conv3(2)},
	"concat_0f988933": {14, 5, 0x574, 0x4000, 0, 2, 0, 7, 4, []samplePort{
		{"input_0", In, 16384, 1, 64, 0x100000, 0x100000, 6},
		{"input_1", In, 16, 1, 64, 0x400, 0x400, 5},
		{"output@output", Out, 16400, 1, 64, 0x100400, 0x1003c2, 4},
	}},
	"concat_fb59e09a": {14, 5, 0x574, 0x4000, 0, 2, 0, 7, 4, []samplePort{
		{"input_0", In, 16, 1, 64, 0x400, 0x400, 6},
		{"input_1", In, 16, 1, 64, 0x400, 0x400, 5},
		{"output@output", Out, 32, 1, 64, 0x800, 0x7c2, 4},
	}},
	"conv_8a6bd427":   {11, 4, 0x274, 0xc0, 3, 1, 3, 0x11, 3, conv3(3)},
	"conv_ea5905f3":   {11, 4, 0x274, 0xc0, 3, 1, 3, 0x11, 3, conv3(3)},
	"gemm_bc27a277":   {11, 4, 0x274, 0x80000, 16, 1, 16, 0x11, 3, vector(512)},
	"gemm_ef7e5c24":   {11, 4, 0x274, 0x2000, 16, 1, 16, 0x11, 3, vector(64)},
	"golden_32a7ae2d": {11, 4, 0x274, 0xc0, 3, 1, 3, 0x11, 3, conv3(3)},
	"golden_50e38bf9": {11, 4, 0x274, 0x80, 2, 1, 2, 0x11, 3, conv3(2)},
	"golden_a199507d": {11, 4, 0x274, 0xc0, 3, 1, 3, 0x11, 3, conv3(3)},
	"golden_c20271e3": {11, 4, 0x274, 0x4000, 0, 1, 0, 4, 3, conv3(3)},
	"golden_cb1ce958": {11, 4, 0x274, 0x80, 2, 1, 2, 0x11, 3, conv3(2)},
	"relu_d66a665b":   {11, 4, 0x274, 0x4000, 0, 1, 0, 0x11, 3, rowOf(16, 64, 0x20)},
	"relu_dc54cc54":   {11, 4, 0x274, 0x4000, 0, 1, 0, 0x11, 3, rowOf(77, 192, 0x9a)},
	"sigmoid_7cc79341": {11, 4, 0x274, 0x80, 1, 1, 1, 0x11, 3,
		rowOf(77, 192, 0x9a)},
	"sum_1b1855b8": {14, 5, 0x274, 0x4000, 0, 1, 0, 0x11, 3, []samplePort{
		{"image", In, 64, 1, 64, 0x1000, 0x1000, 6},
		{"image2", In, 64, 1, 64, 0x1000, 0x1000, 5},
		{"probs@output", Out, 64, 1, 64, 0x1000, 0xfc2, 4},
	}},
}

// channels are the ports of a program from cin to cout channels of one element.
func channels(cin, cout int) []samplePort {
	in, out := int64(64*cin), int64(64*cout)
	return []samplePort{
		{"image", In, cin, 1, 64, in, in, 5},
		{"probs@output", Out, cout, 1, 64, out, out - 62, 4},
	}
}

func conv3(cout int) []samplePort { return channels(3, cout) }
func vector(c int) []samplePort   { return channels(c, c) }

// rowOf are the ports of a program on one row.
func rowOf(w int, row, used int64) []samplePort {
	return []samplePort{
		{"image", In, 1, w, row, row, row, 5},
		{"probs@output", Out, 1, w, row, row, used, 4},
	}
}

func TestRealFilesSayWhatTheDumpsSay(t *testing.T) {
	files := realFiles(t)
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		t.Run(name, func(t *testing.T) {
			want := samples[name]
			f := mustRead(t, files[name])
			if len(f.Commands) != want.commands || len(f.Segments()) != want.segments {
				t.Errorf("%d commands, %d segments, want %d, %d", len(f.Commands), len(f.Segments()), want.commands, want.segments)
			}
			if f.Text().Size != want.text || f.Constants().Size != want.constants || len(f.Text().Relocs) != want.relocs {
				t.Errorf("text 0x%x, constants 0x%x, %d relocations", f.Text().Size, f.Constants().Size, len(f.Text().Relocs))
			}
			p, err := f.Program()
			if err != nil {
				t.Fatal(err)
			}
			if p.Name != "net" || p.Tasks != want.tasks || p.FirstTaskWords != 157 || p.FirstTask != baseAddr ||
				p.Thread.Unknown850 != want.word850 || p.Thread.Unknown858 != want.word858 {
				t.Errorf("program %q: %d tasks, first of %d words at 0x%x", p.Name, p.Tasks, p.FirstTaskWords, p.FirstTask)
			}
			streams, err := f.Streams()
			if err != nil {
				t.Fatal(err)
			}
			if len(streams) != want.kernels {
				t.Errorf("%d kernel streams, want %d", len(streams), want.kernels)
			}
			for i, s := range streams {
				if s.Empty || s.Size != int64(want.constants)/int64(want.kernels) {
					t.Errorf("stream %d: %+v", i, s)
				}
			}
			checkPorts(t, f, want.ports)
			if !strings.HasPrefix(f.Banner(), "ANEC v1\nzin_ane_compiler v4.2.1\n\t-t h13\n") {
				t.Errorf("banner %q", f.Banner())
			}
			if len(f.Gaps) != 0 {
				t.Errorf("%d gaps", len(f.Gaps))
			}
		})
	}
}

func checkPorts(t *testing.T, f *File, want []samplePort) {
	t.Helper()
	ports, err := f.Ports()
	if err != nil {
		t.Fatal(err)
	}
	if len(ports) != len(want) {
		t.Fatalf("%d ports, want %d", len(ports), len(want))
	}
	shapes, err := f.Shapes()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range ports {
		w := want[i]
		got := samplePort{p.Name, p.Direction, p.Shape[1], p.Shape[3], p.Strides[2], p.Bytes, int64(p.Thread.UsedBytes), p.Base}
		if got != w || p.Element != ElementFloat16 || p.Shape[0] != 1 || p.Shape[2] != 1 || p.Strides[3] != 2 ||
			p.Strides[1] != p.Strides[2] || p.Strides[0] != int64(p.Shape[1])*p.Strides[1] {
			t.Errorf("port %d is %+v, want %+v", i, p, w)
		}
		// The symbol table says the same a second time.
		at := slices.IndexFunc(shapes, func(s Shape) bool { return s.Name == p.Name })
		if at < 0 {
			t.Errorf("no shape for %s", p.Name)
			continue
		}
		if s := shapeOf(p.Name, shapes[at].Number, p.Element, p.Thread.Shape, p.Thread.Strides); s.String() != shapes[at].String() {
			t.Errorf("port %s: shape %s, tensor %s", p.Name, shapes[at], s)
		}
	}
}

func TestFixturesAreAppleWords(t *testing.T) {
	files := realFiles(t)
	zero := func(o, i int) float32 { return 0 }
	three := func(o, i int) float32 { return 3 }
	for name, spec := range map[string]Spec{
		"relu_d66a665b":   reluSpec(16),
		"relu_dc54cc54":   reluSpec(77),
		"sum_1b1855b8":    addSpec(),
		"concat_fb59e09a": concatSpec(),
		"gemm_ef7e5c24":   linearSpec(t, 64, 64, zero, nil),
		"gemm_bc27a277":   linearSpec(t, 512, 512, zero, nil),
		"golden_a199507d": linearSpec(t, 3, 3, three, nil),
		"golden_50e38bf9": linearSpec(t, 3, 2, three, []float32{1, 1}),
	} {
		f := mustRead(t, files[name])
		// Banner and digest are Apple's; all else is to follow from the fixture.
		spec.Banner = f.Banner()
		if streams, err := f.Streams(); err != nil {
			t.Error(err)
		} else if len(streams) > 0 {
			spec.Kernels[0].Digest = streams[0].Name.Digest
		}
		if _, got := mustBuild(t, spec); !bytes.Equal(got, files[name]) {
			t.Errorf("%s: the fixture differs at 0x%x", name, firstDifference(got, files[name]))
		}
	}
}
