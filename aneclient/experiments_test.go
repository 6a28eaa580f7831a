package aneclient_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// An experiment of the chaining research: what the original did, what came of it there, and what comes of it here. Its test, which
// has its name, holds the last.
type experiment struct {
	name, did, there, here string
	test                   string // in the package; of another package with its folder: e5rt.TestExperimentT
}

// experiments are all of the research, in its order.
var experiments = []experiment{
	{"v1 phase 1", "Compile and load two identical convolutions", "compiled and loaded", "compiled and loaded; same identifier, two handles", "TestV1Phase1"},
	{"v1 phase 2", "Run one after the other, with a copy between", "0.25 from 1", "0.25 from 1, on `virtual` and on h13", "TestV1Phase2"},
	{"v1 phase 3", "Make a chaining request of surfaces without symbols", "made; `validate`: NO", "`Validate` says that the input has no symbol index, and nothing once it has one", "TestV1Phase3"},
	{"v1 phase 4", "The same with loop-back, then prepare it", "`validate`: NO, exception", "valid, prepared; x/2, x/4, x/8 by three executions", "TestV1Phase4"},
	{"v2 phase 1", "Look for the classes", "9 found, with all their methods", "each class and selector has its name here: the table of `aneclient`", "TestV2Phase1"},
	{"v2 phase 2", "Look for symbol names", "none on an in-memory model", "x and y, with symbol indices; the surface object has none, as there", "TestV2Phase2"},
	{"v2 phase 3a", "Map surfaces of an in-memory model", "exception: no `inputSymbolIndicesForProcedureIndex:`", "mapped, and the request validates", "TestV2Phase3a"},
	{"v2 phase 3b", "Make buffers with symbol index and source 0 to 2", "made", "made, with the same description; source 3 is refused", "TestV2Phase3b"},
	{"v2 phase 3c", "Give a surface object a symbol index", "not available", "not available: a buffer has it", "TestV2Phase3c"},
	{"v2 phase 3d", "Set it as a property of the surface", "does not propagate", "a surface has no properties; one surface serves two symbols by two buffers", "TestV2Phase3d"},
	{"v2 phase 3e", "Reach the program of a model", "`model.program`", "`Model.Program`", "TestV2Phase3e"},
	{"v2 phase 4", "Chain in five ways, then evaluate by the client and direct", "all chains crash or are nil; both evaluations work", "chain of two models runs: 0.25; both evaluations give the same", "TestV2Phase4"},
	{"v2 phase 5a", "Evaluate in real time", "`beginRealTimeTask`: NO, evaluation works, 1.74x (no gain at 768x256)", "task begins and ends, same result, priority 2 before 5; without the grant both are refused", "TestV2Phase5a"},
	{"v2 phase 5b", "Set the statistics mask, read counters", "mask taken, counters nil, time nil", "each of the 8 bits gives its counter; a surface of 64 bytes is filled", "TestV2Phase5b"},
	{"v2 phase 7", "Output sets with a surface for statistics", "nil without one; with 64 bytes `validate` is YES, prepare: exception `getUUID`", "refused without one; with 64 bytes valid, prepared, and the surface is filled by the execution", "TestV2Phase7"},
	{"v2 phase 8", "Open the model of files", "not opened: the key was missing", "opens with a key, refused without", "TestV2Phase8"},
	{"v2 phase 9", "`processRequest` on the program", "works, returned value NO, queue depth 127", "works on any of its queues, returned value 0, queue depth 127", "TestV2Phase9"},
	{"v2 phase 10", "Make shared events", "not without an event object", "not without an event object, and with one of the client", "TestV2Phase10"},
	{"E", "`modelAtURL:key:` on the saved folder, then give it the program of the in-memory model", "a shell in state 1; after that a handle, symbols still empty", "state 1 and handle 0; after that the handle, symbols there, and it evaluates", "TestExperimentE"},
	{"E2", "Look for the compiler", "a C library without classes; `debug_mask` without effect", "our compiler: `debug_mask` lists its passes; files saved are model.mil, weights, net.plist, data", "TestExperimentE2"},
	{"F", "Prepare a chain with the populated model", "crash in `[NSConstantIntegerNumber count]`", "prepared, executed, same bits as without the chain", "TestExperimentF"},
	{"G", "Signal and wait events of types 0, 1, 2", "made; never used in a request", "made, and a request waits for one and signals the other", "TestExperimentG"},
	{"H", "`doPrepareChainingWithModel:` instead", "the same crash", "one call for both; preparing again replaces the chain", "TestExperimentH"},
	{"I", "12 kernels at 64x32, 256x64, 768x256: with copies, run only, copies only, from a serial queue", "0.16 to 0.27 ms per kernel; a copy below 0.01 ms", "the same bits by every way, and by one chain; BenchmarkExperimentI has the times", "TestExperimentI"},
	{"K", "Read the type encodings", "9 objects for the request; 3 objects, quality of service, error for prepare", "nine fields with types of their own; a wrong one does not compile", "TestExperimentK"},
	{"L", "Five forms of the loop-back and procedure parameters", "only nil passes `validate`; then Code=15", "-1, 0, empty and nil all validate and are prepared; 0 loops back", "TestExperimentL"},
	{"M", "Compile and load through the client", "needs model.espresso.net: Code=-1, state 5", "MIL text, net.plist or the compiled folder will do; a folder without any gives the same error and state 5", "TestExperimentM"},
	{"N", "Map surfaces with the populated model", "NO, without an error; 128 slots in the structure", "mapped, with cached inference too; the 129th surface is refused with Code=13", "TestExperimentN"},
	{"O", "Procedure information", "nil, count unknown, attributes empty", "name, ports, tasks and sizes of every procedure", "TestExperimentO"},
	{"P", "Chain with three kinds of model", "Code=15, crash `getUUID`, Code=15", "fresh, in memory, and failed and loaded again: all three run the chain", "TestExperimentP"},
	{"Q", "Load a Core ML package", "the E5 runtime, without an `_ANEModel`", "one road: the package opens here too, with the bits that Predict gives", "TestExperimentQ"},
	{"R", "Chain with the Core ML model", "blocked: there is no `_ANEModel`", "prepared and executed, same bits", "TestExperimentR"},
	{"S", "Chain two kernels", "blocked by R", "two different models in one request of the engine, same bits as one by one", "TestExperimentS"},
	{"T", "Look for symbols of the E5 runtime", "4 functions, 6 classes", "each has its name in `e5rt`", "e5rt.TestExperimentT"},
	{"U", "Several operations in one stream", "4.87x, taken back by W1: nothing was computed", "every kernel computes, same bits as Predict", "e5rt.TestExperimentU"},
	{"W1", "Hold the results of U to Core ML's", "all zero", "same bits", "e5rt.TestExperimentW1"},
	{"W2", "Dump the classes of the E5 runtime", "9 classes", "the methods have theirs in `e5rt`", "e5rt.TestExperimentW2"},
	{"W4", "Submit a stream that has run", "fails: the stream is locked", "the same message until Reset; then it fires once", "e5rt.TestExperimentW4"},
	{"W5", "Data through ports", "output backing nil", "the caller's memory has the result; ports connect", "e5rt.TestExperimentW5"},
	{"X1", "Own MIL texts: relu, gelu, 2x+1, softmax, layer norm", "exact, or right by the reference", "relu and 2x+1 exact, the others right to fp16", "TestExperimentX1"},
	{"Y1", "Fused attention, 256x64", "largest difference 0.000021", "right to fp16", "TestExperimentY1"},
	{"Y2", "Linear 64 to 64 with weights in the text", "largest difference 0.0011", "right to fp16", "TestExperimentY2"},
	{"Y3", "A transformer block as one program", "mean magnitude 1.017, not compared", "one dispatch on `virtual`, right to fp16 by the reference; h13 cuts it around attention into three, which one request cannot be: refused by name", "TestExperimentY3"},
	{"Z1", "Gradients: dX = dY·W, dW = dYᵀ·dY", "largest differences 0.0019 and 0.0128", "right to fp16", "TestExperimentZ1"},
}

// TestResearchDocs holds docs/research.md to the table, and the table to the tests.
func TestResearchDocs(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# The experiments of the chaining research\n\n" +
		"The research tried to reach the Apple Neural Engine through private classes, on an M4 Max with macOS 15. These are its experiments, what came of them there, and\n" +
		"what comes of them here. Each row is held by the test that it names, on any machine; this page is made from them:\n" +
		"`go test ./aneclient -run TestResearchDocs -update`. Times are not compared: an M4 Max and a processor have little to say to each other. `make bench` has ours.\n\n" +
		"| Experiment | What it did | There | Here | Test |\n|---|---|---|---|---|\n")
	seen := map[string]bool{}
	for _, e := range experiments {
		folder, test := "aneclient", e.test
		if of, name, ok := strings.Cut(e.test, "."); ok {
			folder, test = of, name
		}
		if !hasTest(t, filepath.Join("..", folder), test) {
			t.Errorf("%s: there is no test %s in %s", e.name, test, folder)
		}
		if seen[e.name] || e.did == "" || e.there == "" || e.here == "" {
			t.Errorf("experiment %q", e.name)
		}
		seen[e.name] = true
		fmt.Fprintf(&b, "| %s | %s | %s | %s | `%s.%s` |\n", e.name, e.did, e.there, e.here, folder, test)
	}
	testkit.Golden(t, "../docs/research.md", b.Bytes())
}

// hasTest reports whether a test is in a folder.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	check(t, err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		check(t, err)
		if bytes.Contains(text, []byte("\nfunc "+name+"(")) {
			return true
		}
	}
	return false
}

// beside notes an experiment's result there and here, as the table has them.
func beside(t *testing.T) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	for _, e := range experiments {
		if e.test == name {
			t.Logf("%s: %s\n\tthere: %s\n\there:  %s", e.name, e.did, e.there, e.here)
			return
		}
	}
	t.Errorf("%s is not in the table", name)
}
