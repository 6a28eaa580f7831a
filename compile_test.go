package espalier_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/td"
)

func compileModel(t *testing.T, name string) *espalier.Program {
	t.Helper()
	m := openModel(t, espalier.Config{}, name)
	p, err := m.Compile(t.Context(), espalier.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Who gives up finds nothing new in the folder, and what was there as it was.
func TestNoHalfBundle(t *testing.T) {
	p := compileModel(t, "conv2d_basic")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	folder := t.TempDir()
	bundle, container := filepath.Join(folder, "a.bundle"), filepath.Join(folder, "a.hwx")
	writeBoth := func(ctx context.Context) (bundleErr, containerErr error) {
		_, bundleErr = p.WriteBundle(ctx, bundle)
		return bundleErr, p.WriteContainer(ctx, container)
	}
	for _, want := range []int{0, 2} {
		for _, err := range errorsOf(writeBoth(ended)) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want that it is cancelled", err)
			}
		}
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != want {
			t.Errorf("the folder has %v, %v; want %d entries", entries, err, want)
		}
		for _, err := range errorsOf(writeBoth(t.Context())) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	b, err := espalier.Open(bundle)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
}

func errorsOf(a, b error) []error { return []error{a, b} }

func TestCompileRefuses(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		options espalier.CompileOptions
		want    string
	}{
		{"a target that is not there", t.Context(), espalier.CompileOptions{Target: "h99"}, `no target "h99"`},
		{"tasks that a chip could not run", t.Context(), espalier.CompileOptions{Target: "h14", Strict: true}, "strict: 3 layers are refused: the registers of h14 are not known"},
		{"a function that is not there", t.Context(), espalier.CompileOptions{Function: "f"}, `there is no function "f"`},
		{"a context that has ended", ended, espalier.CompileOptions{}, context.Canceled.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := openModel(t, espalier.Config{}, "conv2d_basic")
			if _, err := m.Compile(c.ctx, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The report of a pass has the layers, and the memory once that is settled.
func TestPassReports(t *testing.T) {
	m := openModel(t, espalier.Config{}, "conv2d_basic")
	var seen []string
	settled := false
	_, err := m.Compile(t.Context(), espalier.CompileOptions{Pass: func(r espalier.PassReport) {
		seen = append(seen, r.Pass)
		settled = settled || r.Pass == "addresses"
		if !strings.HasPrefix(r.Layers(), "graph ") || (r.Memory() != "") != settled {
			t.Errorf("after %s: layers %q, memory %q", r.Pass, r.Layers(), r.Memory())
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range espalier.Passes() {
		want = append(want, p.Name)
	}
	if got := strings.Join(seen, " "); got != strings.Join(want, " ") {
		t.Errorf("the passes were %s, want %s", got, want)
	}
}

// A strict program has native tasks only, and is the one that there is without asking for it.
func TestStrictIsTheSameProgram(t *testing.T) {
	m := openModel(t, espalier.Config{Target: "h13"}, "linear_mlp")
	var ids []string
	for _, strict := range []bool{false, true} {
		p, err := m.Compile(t.Context(), espalier.CompileOptions{Strict: strict})
		if err != nil {
			t.Fatal(err)
		}
		id, err := p.WriteBundle(t.Context(), filepath.Join(t.TempDir(), "m.bundle"))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		tasks, err := p.Functions()[0].Segments[0].Container.Tasks()
		if err != nil || len(tasks) == 0 {
			t.Fatalf("%d tasks, %v", len(tasks), err)
		}
		for i, task := range tasks {
			if task.Version != td.V7 || task.Extension() {
				t.Errorf("strict %t: task %d is of %v, extension %t", strict, i, task.Version, task.Extension())
			}
		}
	}
	if ids[0] != ids[1] {
		t.Errorf("strict it is another program: %v", ids)
	}
}
