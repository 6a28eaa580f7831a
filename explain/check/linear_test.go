package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/check"
	"github.com/espalier-ane/espalier/hal"
)

// The work of a check grows as the number of operations does: twice as many take twice the allocations, whichever operation is
// chained, and whether it runs on the engine, on the host, or on each in turn.
func TestCheckIsLinear(t *testing.T) {
	for _, chain := range []struct {
		name string
		ops  []string
	}{
		{"function", []string{"relu(x = %s)"}},
		{"pair", []string{"add(x = %s, y = x)"}},
		{"view", []string{"reverse(x = %s, axes = axes)"}},
		{"permutation", []string{"transpose(x = %s, perm = perm)", "relu(x = %s)"}},
		{"host", []string{"acos(x = %s)"}},
		{"in turn", []string{"relu(x = %s)", "acos(x = %s)"}},
		{"refused", []string{"cumsum(x = %s, axis = axis, exclusive = no, reverse = no)"}},
	} {
		const n = 200
		once, twice := checkMallocs(t, chain.ops, n), checkMallocs(t, chain.ops, 2*n)
		if limit := once*9/4 + 1000; twice > limit {
			t.Errorf("%s: %d operations take %d allocations, %d take %d", chain.name, n, once, 2*n, twice)
		}
	}
}

// checkMallocs is how many allocations a check of so many operations in a chain takes, for H13 and H14.
func checkMallocs(t *testing.T, ops []string, n int) uint64 {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `program(1.3)
{
  func main<ios17>(tensor<fp16, [1, 8, 16, 16]> x) {
    tensor<int32, [4]> perm = const()[name = string("perm"), val = tensor<int32, [4]>([0, 1, 3, 2])];
    tensor<int32, [1]> axes = const()[name = string("axes"), val = tensor<int32, [1]>([1])];
    int32 axis = const()[name = string("axis"), val = int32(1)];
    bool no = const()[name = string("no"), val = bool(false)];
`)
	last := "x"
	for i := range n {
		fmt.Fprintf(&b, "    tensor<fp16, [1, 8, 16, 16]> v%d = %s[name = string(\"v%d\")];\n", i, fmt.Sprintf(ops[i%len(ops)], last), i)
		last = fmt.Sprintf("v%d", i)
	}
	fmt.Fprintf(&b, "  } -> (%s);\n}\n", last)
	file := filepath.Join(t.TempDir(), "chain.mil")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := coreml.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	targets, err := hal.ParseList("h13,h14")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := check.Model(t.Context(), file, m, check.Options{Targets: targets}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
