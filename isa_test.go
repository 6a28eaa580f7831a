package espalier_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
)

// A wrong ESPALIER_ISA is said by whoever opens a model, however it is opened, and by the runtime. It is read when a process
// starts: the test is its own child.
func TestWrongISAIsSaid(t *testing.T) {
	const wrong = "sse9"
	if os.Getenv("ESPALIER_ISA") != wrong {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(self, "-test.run=^TestWrongISAIsSaid$")
		c.Env = append(os.Environ(), "ESPALIER_ISA="+wrong)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	const text = "program(1.0)\n{\n    func main<ios15>(tensor<fp32, [2]> x) {\n            tensor<fp32, [2]> y = relu(x = x)[name = tensor<string, []>(\"y\")];\n        } -> (y);\n}\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.mil"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, byPath := espalier.Open(filepath.Join(dir, "x.mil"))
	_, byFS := espalier.OpenFS(os.DirFS(dir), "x.mil")
	_, byBytes := espalier.OpenBytes("x.mil", []byte(text))
	_, runtime := e5rt.OpenContext(t.Context(), &bundle.Bundle{Manifest: &bundle.Manifest{}}, e5rt.Options{})
	for name, err := range map[string]error{"Open": byPath, "OpenFS": byFS, "OpenBytes": byBytes, "e5rt.OpenContext": runtime} {
		if err == nil || !strings.Contains(err.Error(), `ESPALIER_ISA is "sse9"`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
