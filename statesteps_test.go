package espalier_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/tensor"
)

var statefulModels = []string{"stateful_counter", "stateful_torch", "stateful_kv_cache"}

// positions is how many steps a model takes before its cache is full, if it has one.
func positions(f *espalier.Function) int {
	for _, d := range f.Inputs() {
		if d.Name == "pos" {
			return 8
		}
	}
	return 64
}

// Two states take turns over 64 steps on one function. Each gives what it gives alone, bit for bit, and what the host gives in
// fp32, about.
func TestInterleavedStates(t *testing.T) {
	for _, name := range statefulModels {
		host := openModel(t, espalier.Config{Units: espalier.CPUOnly, Numerics: espalier.FP32}, name).Functions()[0]
		n := positions(host)
		var want [2][]map[string][]float32
		for k := range want {
			s := host.NewState()
			for i := range 64 {
				want[k] = append(want[k], step(t, host, s, (i+k)%n))
			}
		}
		for _, target := range []string{"virtual", "h13"} {
			t.Run(name+"/"+target, func(t *testing.T) {
				f := openModel(t, espalier.Config{Target: target}, name).Functions()[0]
				alone, states := f.NewState(), [2]*espalier.State{f.NewState(), f.NewState()}
				for i := range 64 {
					for k, s := range states {
						got := step(t, f, s, (i+k)%n)
						if where := farthest(got, want[k][i]); where != "" {
							t.Fatalf("step %d of state %d: %s", i, k, where)
						}
						if k == 0 {
							if solo := step(t, f, alone, i%n); !sameValues(got, solo) {
								t.Fatalf("step %d: got %v, alone %v", i, got, solo)
							}
						}
					}
				}
			})
		}
	}
}

// farthest says which value is more than 2 % of the largest away, "" if none is.
func farthest(got, want map[string][]float32) string {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		most := 1.0
		for _, v := range want[name] {
			most = max(most, math.Abs(float64(v)))
		}
		for i, v := range want[name] {
			if d := math.Abs(float64(got[name][i] - v)); !(d <= 0.02*most) {
				return fmt.Sprintf("%s[%d] is %v, want %v", name, i, got[name][i], v)
			}
		}
	}
	return ""
}

// stateFile is the variable that tells this binary, started again, which state to go on from.
const stateFile = "ESPALIER_TEST_STATE"

// A state that one process saves goes on in another, for another target too.
func TestStateInAnotherProcess(t *testing.T) {
	if path := os.Getenv(stateFile); path != "" {
		continueState(t, path)
		return
	}
	dir := t.TempDir()
	for _, name := range statefulModels {
		for _, target := range []string{"virtual", "h13"} {
			f := openModel(t, espalier.Config{Target: target}, name).Functions()[0]
			s := f.NewState()
			for i := range 3 {
				step(t, f, s, i)
			}
			to, err := os.Create(filepath.Join(dir, name+"."+target))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Save(to); err != nil {
				t.Fatal(err)
			}
			if err := to.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	again := exec.Command(self, "-test.run=^TestStateInAnotherProcess$", "-test.count=1")
	again.Env = append(os.Environ(), stateFile+"="+dir)
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range statefulModels {
		for _, target := range []string{"virtual", "h13"} {
			f := openModel(t, espalier.Config{Target: target}, name).Functions()[0]
			s := f.NewState()
			var want map[string][]float32
			for i := range 5 {
				want = step(t, f, s, i)
			}
			got, err := tensor.OpenNPZ(filepath.Join(dir, name+"."+target+".npz"))
			if err != nil {
				t.Fatal(err)
			}
			values := map[string][]float32{}
			for _, a := range got {
				values[a.Name] = a.Tensor.Float32s()
			}
			if !sameValues(values, want) {
				t.Errorf("%s on %s: the other process has %v, want %v", name, target, values, want)
			}
		}
	}
}

// continueState does two more steps on every state of a folder, and writes what they give beside it.
func continueState(t *testing.T, dir string) {
	for _, name := range statefulModels {
		for _, target := range []string{"virtual", "h13"} {
			f := openModel(t, espalier.Config{Target: target}, name).Functions()[0]
			s := f.NewState()
			path := filepath.Join(dir, name+"."+target)
			from, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			if err := s.Load(from); err != nil {
				t.Fatal(err)
			}
			step(t, f, s, 3)
			var all []tensor.Named
			for name, values := range step(t, f, s, 4) {
				all = append(all, tensor.Named{Name: name, Tensor: tensor.Of(values, len(values))})
			}
			to, err := os.Create(path + ".npz")
			if err != nil {
				t.Fatal(err)
			}
			if err := tensor.WriteNPZ(to, all); err != nil {
				t.Fatal(err)
			}
			if err := to.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
