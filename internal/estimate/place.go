package estimate

// The second cost model of guide 18: which backend an operation goes to. It is a roofline too, with coarse anchors that
// put the backends in order and predict no time: where the first model has 511 µs it has 671. Beside it there are
// penalties for each segment and each crossing, in units of the model's own, and learned costs of single operations.

// A PlacementAnchor is a backend as the placement model sees it.
type PlacementAnchor struct {
	Backend   string
	PeakFLOPS float64 // per second
	Bandwidth float64 // bytes per second

	// Launch is charged for each segment, Transfer for each crossing to the backend from another; none for a crossing
	// within one. The unit is the model's own and not known: they compare with each other alone.
	Launch, Transfer float64

	Source string
}

const (
	anchorSource  = "guide 18, table of backend anchors, read from the segmenter's cost functions; table of penalties"
	treeSource    = "guide 18, table of learned engine cost-tree leaves"
	noTreeSource  = "guide 18: no engine tree"
	gflops, gbyte = 1e9, 1e9
)

// The backends of the placement model.
var (
	PlaceEngine = PlacementAnchor{"engine", 800 * gflops, 50 * gbyte, 0.05, 0.09, anchorSource}
	PlaceGPU    = PlacementAnchor{"graphics processor", 120 * gflops, 40 * gbyte, 0.10, 0.23, anchorSource}
	PlaceCPU    = PlacementAnchor{"central processor", 20 * gflops, 10 * gbyte, 0.10, 0.23, anchorSource}
)

// PlacementAnchors returns the backends, the fastest first.
func PlacementAnchors() []PlacementAnchor { return []PlacementAnchor{PlaceEngine, PlaceGPU, PlaceCPU} }

// Roofline is the larger of work over peak and bytes over bandwidth, in seconds of the model. It is for the order of
// backends: no time that anybody measures.
func (a PlacementAnchor) Roofline(flops, bytes float64) float64 {
	return max(flops/a.PeakFLOPS, bytes/a.Bandwidth)
}

// Penalty is what the model charges for runs of segments, in the order in which they run: a launch for each and a
// transfer for each crossing.
//
//	engine ─ engine ─ host ─ engine    0.05 + 0.05 + (0.23 + 0.10) + (0.09 + 0.05)
func Penalty(segments []PlacementAnchor) float64 {
	sum := 0.0
	for i, s := range segments {
		sum += s.Launch
		if i > 0 && segments[i-1].Backend != s.Backend {
			sum += s.Transfer
		}
	}
	return sum
}

// A Leaf is what the placement model has learned of an operation on the engine: the least and the greatest cost of its
// tree, in nanoseconds of the model. What a tree splits at is not published, so no leaf can be chosen.
type Leaf struct {
	Operation string // of MIL
	Tree      string // its form
	Low, High float64
	Source    string
}

// Leaves returns the table.
func Leaves() []Leaf { return leaves }

var leaves = []Leaf{
	{"relu", "constant", 50, 50, treeSource},
	{"add", "constant", 26.5, 36, treeSource},
	{"mul", "constant", 40, 80, treeSource},
	{"reduce_sum", "constant", 22, 22, treeSource},
	{"max_pool", "one threshold", 26, 29, treeSource},
	{"conv", "seven splits", 417.7, 8609.6, treeSource},
	{"matmul", "three thresholds", 116.9, 66408.3, treeSource},
	{"linear", "three thresholds", 67, 14700, treeSource},
	{"conv_transpose", "three thresholds", 3500, 37800, treeSource},
}

// noEngineTree are operations that the placement model never puts on the engine, by their names in MIL.
var noEngineTree = map[string]string{
	"gather": noTreeSource, "gather_along_axis": noTreeSource, "gather_nd": noTreeSource,
	"rnn": noTreeSource, "lstm": noTreeSource, "gru": noTreeSource,
	"reduce_argmax": noTreeSource,
}

// HasEngineTree reports whether the placement model may put an operation of MIL on the engine at all, and the source if
// it does not.
func HasEngineTree(operation string) (ok bool, source string) {
	source, none := noEngineTree[operation]
	return !none, source
}
