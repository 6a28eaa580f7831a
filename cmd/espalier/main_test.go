package main

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"espalier": main})
}

func TestScripts(t *testing.T) {
	root := testkit.Root(t)
	models := filepath.Join(root, "testdata", "models")
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		UpdateScripts:      testkit.Update(),
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ESPALIER_TESTING", "1")
			env.Setenv("ESPALIER_CACHE", "off") // scripts about the cache name a folder
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    scriptExits,
			"fixture":  func(ts *testscript.TestScript, neg bool, args []string) { scriptFixture(ts, models, args) },
			"truncate": scriptTruncate,
			"patch":    scriptPatch,
			"npz":      scriptNPZ,
			"picture":  scriptPicture,
			"network":  scriptNetwork,
			"retry":    scriptRetry,
			"onnx":     scriptONNX,

			"container": func(ts *testscript.TestScript, neg bool, args []string) { scriptContainer(ts, root, args) },
			"hexdump":   func(ts *testscript.TestScript, neg bool, args []string) { scriptHexdump(ts, root, args) },
			"bundle":    func(ts *testscript.TestScript, neg bool, args []string) { scriptBundle(ts, root, args) },
			"virtual":   scriptVirtual,
		},
	})
}

// scriptExits runs a command that must exit with a code: exits 2 espalier run. An error goes to stderr
// alone, and one of the command line or of a file's content leaves nothing on stdout.
func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, expected %d\n%s", code, want, ts.ReadFile("stderr"))
	}
	stderr := ts.ReadFile("stderr")
	switch {
	case code == exitDone && stderr != "" && !onlyNotes.MatchString(stderr):
		ts.Fatalf("it succeeds, but stderr has %q", stderr)
	case code != exitDone && !strings.HasPrefix(stderr, "espalier: "):
		ts.Fatalf("it fails, but stderr has %q", stderr)
	case strings.Contains(stderr, "panic") || strings.Contains(stderr, "goroutine"):
		ts.Fatalf("it panics: %s", stderr)
	}
}

// onlyNotes is what a command that succeeds may say on stderr: which target it took for a name, and why the cache is not used.
var onlyNotes = regexp.MustCompile(`^(espalier: note: ("[^\n]*" is taken for|the cache:?) [^\n]*\n)+$`)

// scriptFixture copies folders of testdata/models: fixture NAME….
func scriptFixture(ts *testscript.TestScript, models string, args []string) {
	for _, name := range args {
		ts.Check(os.CopyFS(ts.MkAbs(name), os.DirFS(filepath.Join(models, name))))
	}
}

// scriptTruncate cuts a file, or lengthens it by a hole: truncate FILE SIZE.
func scriptTruncate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: truncate FILE SIZE")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

// scriptPatch replaces a text wherever it is in a file: patch FILE OLD NEW. Both may have escapes, as "\x00".
func scriptPatch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: patch FILE OLD NEW")
	}
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	var texts [2]string
	for i, a := range args[1:] {
		texts[i], err = strconv.Unquote(`"` + a + `"`)
		ts.Check(err)
	}
	if !bytes.Contains(data, []byte(texts[0])) {
		ts.Fatalf("%s does not have %q", args[0], texts[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.ReplaceAll(data, []byte(texts[0]), []byte(texts[1])), 0o666))
}

// scriptNPZ makes an npz archive of a JSON object, its numbers in an element type: npz FILE.npz FILE.json fp32.
func scriptNPZ(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: npz FILE.npz FILE.json TYPE")
	}
	dtype, err := tensor.ParseDType(args[2])
	ts.Check(err)
	arrays, _, err := parseJSON([]byte(ts.ReadFile(args[1])))
	ts.Check(err)
	for i := range arrays {
		if arrays[i].Tensor.DType() != tensor.String {
			arrays[i].Tensor, err = arrays[i].Tensor.Convert(dtype)
			ts.Check(err)
		}
	}
	var file bytes.Buffer
	ts.Check(tensor.WriteNPZ(&file, arrays))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), file.Bytes(), 0o666))
}

// scriptPicture paints a picture, PNG or JPEG by its name: picture FILE WIDTH HEIGHT.
func scriptPicture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: picture FILE WIDTH HEIGHT")
	}
	width, err := strconv.Atoi(args[1])
	ts.Check(err)
	height, err := strconv.Atoi(args[2])
	ts.Check(err)
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetNRGBA(x, y, color.NRGBA{uint8(8 * x), uint8(8 * y), uint8(4 * (x + y)), 255})
		}
	}
	encode := png.Encode
	if strings.HasSuffix(args[0], ".jpg") {
		encode = func(w io.Writer, img image.Image) error { return jpeg.Encode(w, img, nil) }
	}
	var file bytes.Buffer
	ts.Check(encode(&file, img))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), file.Bytes(), 0o666))
}

// scriptNetwork writes a model of a type that is not supported: network FILE.
func scriptNetwork(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: network FILE")
	}
	array := message(bytesField(1, varint(3)), varintField(2, 65568)) // [3] of fp32
	feature := func(name string) []byte {
		return message(bytesField(1, []byte(name)), bytesField(3, bytesField(5, array)))
	}
	layer := func(name, in, out string, kind int, params []byte) []byte {
		return bytesField(1, message(bytesField(1, []byte(name)), bytesField(2, []byte(in)), bytesField(3, []byte(out)), bytesField(kind, params)))
	}
	metadata := bytesField(1, []byte("a small network"))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), message(
		varintField(1, 4),
		bytesField(2, message(bytesField(1, feature("x")), bytesField(10, feature("y")), bytesField(100, metadata))),
		bytesField(500, message(
			layer("conv1", "x", "a", 100, nil),
			layer("again", "", "", 615, bytesField(4, layer("act", "a", "y", 130, nil))), // a loop with a body
			layer("odd", "y", "z", 9999, nil),
		)),
	), 0o666))
}

// scriptONNX writes what a model of ONNX begins and ends with: onnx FILE.
func scriptONNX(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), message(
		varintField(1, 8), bytesField(2, []byte("pytorch")), bytesField(7, bytesField(2, []byte("main_graph"))), bytesField(8, varintField(2, 17)),
	), 0o666))
}

// scriptRetry runs the command line that the last error suggests. It is the last line of stderr.
func scriptRetry(ts *testscript.TestScript, neg bool, args []string) {
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stderr")), "\n")
	if len(lines) < 2 || neg || len(args) > 0 {
		ts.Fatalf("there is no suggestion in %q", lines)
	}
	ts.Check(ts.Exec("sh", "-c", strings.TrimSpace(lines[len(lines)-1])))
}

// BenchmarkHelp is meant to stay below 50 ms.
func BenchmarkHelp(b *testing.B) { benchmarkCommand(b, "-h") }
