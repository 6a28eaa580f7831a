package mil_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/mil"
)

// parse reads a text that must be right.
func parse(t testing.TB, name string, src []byte) *mil.Program {
	t.Helper()
	p, err := mil.ParseText(name, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// format writes a program and holds that reading it back gives the same program.
func format(t testing.TB, p *mil.Program) []byte {
	t.Helper()
	text, err := mil.FormatText(p)
	if err != nil {
		t.Fatal(err)
	}
	back, err := mil.ParseText("printed.mil", text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := mil.EqualPrograms(p, back); err != nil {
		t.Fatalf("printing and reading back changes the program: %v\n%s", err, text)
	}
	return text
}

// TestDialects reads a program and writes it in both dialects.
func TestDialects(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := parse(t, file, archive.Files[0].Data)
			if err := mil.Verify(p); err != nil {
				t.Error(err)
			}
			for i := range archive.Files[1:] {
				golden := &archive.Files[i+1]
				p.Version = strings.TrimSuffix(golden.Name, ".mil")
				golden.Data = format(t, p)
			}
			testkit.Golden(t, file, txtar.Format(archive))
		})
	}
}

// TestRealTexts reads the texts that were found in public, of every age, and writes them again.
func TestRealTexts(t *testing.T) {
	dir := testkit.Shared(t, "mil")
	files, err := filepath.Glob(filepath.Join(dir, "*.mil"))
	if err != nil || len(files) < 27 {
		t.Fatalf("%d texts in %s: %v", len(files), dir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".mil")
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := parse(t, file, src)
			text := format(t, p)
			// Where a compiler of Core ML wrote the file, ours is the same, byte for byte.
			if bytes.Contains(src, []byte("coremlc-version")) && !bytes.Equal(bytes.TrimSpace(text), bytes.TrimSpace(src)) {
				t.Error("the text differs from the one that Core ML's compiler wrote")
			}
			err = mil.Verify(p)
			if name != "fluidaudio_flexible_shape_header" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "function main: the function returns nothing") {
				t.Errorf("a function without a return must be refused, found %v", err)
			}
		})
	}
}

// TestAnnotations: notes are comments, each in one line, and the text with them is the same program.
func TestAnnotations(t *testing.T) {
	p := parse(t, "a.mil", []byte(`program(1.0)
{
    func main<ios16>(tensor<fp32, [2]> x) {
            tensor<fp32, [2]> a = relu(x = x)[name = tensor<string, []>("a")];
            tensor<fp32, [2]> b = abs(x = a)[name = tensor<string, []>("b")];
        } -> (b);
}`))
	var text bytes.Buffer
	err := mil.WriteAnnotated(&text, p, func(op *mil.Operation) string {
		if op.Kind == "abs" {
			return ""
		}
		return "host: two\nlines"
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "//"); n != 1 || !strings.Contains(text.String(), "// host: two lines\n") {
		t.Errorf("got\n%s", &text)
	}
	if got := format(t, parse(t, "b.mil", text.Bytes())); !bytes.Equal(got, format(t, p)) {
		t.Errorf("the text is read as\n%s", got)
	}
}

func BenchmarkParseText(b *testing.B) {
	src, err := os.ReadFile(testkit.Shared(b, "mil", "fluidaudio_eou_streaming_encoder_ios17.mil"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := mil.ParseText("bench.mil", src, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzText holds that no text makes the reader panic, and that what it reads survives writing and reading.
func FuzzText(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			f.Add(part.Data)
		}
	}
	for _, seed := range []string{
		"program(1){}",
		"program(1.3)[a=int32(1)]{func f<ios15>(){}->();}",
		`program(1.0){func f<ios16>(tensor<fp16,[1,?]> x){tensor<fp16,[1,?]> y=relu(x=x);}->(y);}`,
		`program(1.3){func f<ios18>(fp16 x){fp16 y=add(x=x,y=fp16(0x1.8p-3));}->(y);}`,
		`program(1.3){func f<ios18>(bool x){int4 c=const()[val=int4(-8)];fp16 n=const()[val=fp16(nan(0x1))];}->(c);}`,
		`program(1.3){func f<ios18>(bool p){int32 y=cond(pred=p){int32 a=const()[val=int32(1)];}->(a){int32 a=const()[val=int32(2)];}->(a);}->(y);}`,
		`program(1.3){func f<ios18>(state<tensor<fp16,[2]>> s){tensor<fp16,[2]> y=read_state(input=s);write_state(data=y,input=s);}->(y);}`,
		`program(1.3){func f<ios18>(){tensor<fp16,[4]> w=const()[val=tensor<fp16,[4]>(BLOBFILE(path=string("@model_path/w"),offset=uint64(64)))];}->(w);}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := mil.ParseText("fuzz.mil", src, nil)
		if err != nil {
			return
		}
		format(t, p)
		_ = mil.Verify(p) // must not panic
	})
}
