package espalier_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// The containers of all models, for H13 and for virtual, stay as they are: task words, places of values, constants. A change that
// means to change them says so by its diff of the golden file, which has a line for each segment on the engine.
func TestContainersStay(t *testing.T) {
	for _, target := range []string{"h13", "virtual"} {
		t.Run(target, func(t *testing.T) {
			var page strings.Builder
			for _, name := range modelNames(t) {
				page.WriteString(containerDigests(t, name, target))
			}
			testkit.Golden(t, filepath.Join("testdata", "containers", target+".txt"), []byte(page.String()))
		})
	}
}

// The M1 and the generation that stands for it have the same containers, byte for byte, native-encoded.
func TestM1HasTheWordsOfH13(t *testing.T) {
	for _, name := range []string{"conv2d_basic", "transformer_block", "comp_pal4"} {
		of := containerDigests(t, name, "h13")
		if of == "" {
			t.Errorf("%s has no container", name)
		}
		for _, target := range []string{"m1", "h13g", "Mac mini M1", "MacBookAir10,1"} {
			if got := containerDigests(t, name, target); got != of {
				t.Errorf("%s for %s:\n%swant those of h13:\n%s", name, target, got, of)
			}
		}
	}
}

func containerDigests(t *testing.T, name, target string) string {
	m, err := espalier.Open(filepath.Join(modelsDir, name, "model.mlpackage"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := m.Compile(context.Background(), espalier.CompileOptions{Target: target})
	if err != nil {
		return fmt.Sprintf("%s: not compiled\n", name) // a pipeline, whose stages are models of their own
	}
	var b strings.Builder
	for _, f := range p.Functions() {
		for _, s := range f.Segments {
			if s.Container == nil {
				continue
			}
			hash := sha256.New()
			if _, err := s.Container.WriteTo(hash); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %s: %d tasks, %x\n", name, s.Name, s.Tasks, hash.Sum(nil))
		}
	}
	return b.String()
}
