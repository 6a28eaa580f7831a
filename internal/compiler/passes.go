package compiler

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// A Phase is one of the stages that Apple's compiler has too (seed compiler).
type Phase uint8

// The phases.
const (
	Fuse Phase = iota
	Legalize
	Schedule
	Memory
	Emit
)

var phaseNames = [...]string{"fuse", "legalize", "schedule", "memory", "emit"}

func (p Phase) String() string { return phaseNames[p] }

// A Pass is a step on the way from native layers to a container.
type Pass struct {
	Name  string
	Phase Phase
	Doc   string   // what it does, in a line
	After []string // passes that must have run, each with its reason in Why
	Why   string
	Run   func(*segment.Segment) error

	// Show is the segment as the pass leaves it; nil: its graph.
	Show func(*segment.Segment) string
}

// Text is the segment as the pass left it.
func (p *Pass) Text(s *segment.Segment) string {
	if p.Show == nil || p.Phase == Memory && s.Plan == nil {
		return anec.Print(s.Graph)
	}
	return p.Show(s)
}

// passes is the table. The order is that of the rows; a test holds it to After.
var passes = []Pass{
	{
		Name: "clean", Phase: Fuse, Run: clean,
		Doc: "remove what does nothing: dead layers, identities, chains of views and casts, equal constants",
	},
	{
		Name: "products", Phase: Fuse, Run: fuseProducts,
		Doc:   "write products with constant matrices as convolutions, on targets that do",
		After: []string{"clean"}, Why: "a view of a constant is a constant only then",
	},
	{
		Name: "gains", Phase: Fuse, Run: fuseGains,
		Doc:   "write batch normalizations and scaled weights as gains of the result",
		After: []string{"products"}, Why: "a gain of a convolution has a slot, one of a product has none",
	},
	{
		Name: "attention", Phase: Fuse, Run: fuseAttention,
		Doc:   "find attention that is written out layer by layer",
		After: []string{"clean"}, Why: "a cast or a view in between would hide it",
	},
	{
		Name: "runs", Phase: Fuse, Run: fuseRuns,
		Doc:   "join a layer and the elementwise layers after it into one",
		After: []string{"clean", "gains", "attention"},
		Why:   "layers that do nothing stand between others; gains are elementwise; attention is found by its layers",
	},
	{
		Name: "epilogue", Phase: Fuse, Run: fuseEpilogue,
		Doc:   "move the steps of an epilogue into bias, activations, gain and offset",
		After: []string{"runs"}, Why: "only what no later step reads goes into a slot",
	},
	{
		Name: "transposes", Phase: Fuse, Run: fuseTransposes,
		Doc:   "write results transposed where their readers want them so",
		After: []string{"runs"}, Why: "nothing follows a transpose in an epilogue",
	},
	{
		Name: "shape", Phase: Legalize, Run: legalizeShape,
		Doc: "replace the extents that a layer asks for by constants",
	},
	{
		Name: "slots", Phase: Legalize, Run: legalizeSlots,
		Doc: "turn epilogue slots that have no task field into layers",
	},
	{
		Name: "legacy", Phase: Legalize, Run: legalizeLegacy,
		Doc:   "write quotients and broadcasts as products and sums, on families that have only those",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "strides", Phase: Legalize, Run: legalizeStrides,
		Doc:   "move positions to channels where the engine lacks a stride",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "deconv", Phase: Legalize, Run: legalizeDeconv,
		Doc:   "write transposed convolutions with strides above 2 as convolutions and a pixel shuffle",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "dilation", Phase: Legalize, Run: legalizeDilation,
		Doc:   "move what a dilated kernel meets into the batch where the kernel is too wide for the engine",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "largekernels", Phase: Legalize, Run: legalizeLargeKernels,
		Doc:   "split kernels that are too large for the engine into sums of smaller ones",
		After: []string{"strides", "dilation"}, Why: "a stride makes a kernel smaller, and a dilation may make it larger",
	},
	{
		Name: "resize", Phase: Legalize, Run: legalizeResize,
		Doc:   "write resizes as convolutions along an axis, on targets that cannot sample",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "convgroups", Phase: Legalize, Run: legalizeConvGroups,
		Doc:   "split a convolution whose groups are too large into several",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "kernelmemory", Phase: Legalize, Run: legalizeKernelMemory,
		Doc:   "split convolutions whose weights do not fit kernel memory",
		After: []string{"strides", "deconv", "dilation", "largekernels", "resize", "convgroups"}, Why: "their weights are those that count",
	},
	{
		Name: "constants", Phase: Legalize, Run: legalizeConstants,
		Doc:   "put a decoding layer after each compressed constant",
		After: []string{"kernelmemory"}, Why: "weights are split in the form in which they are stored",
	},
	{
		Name: "reductions", Phase: Legalize, Run: legalizeReductions,
		Doc:   "put a transpose before reductions over many channels",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "pooling", Phase: Legalize, Run: legalizePooling,
		Doc:   "write poolings over channels, and of positions, as other kinds",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "padding", Phase: Legalize, Run: legalizePadding,
		Doc:   "write padding that a window cannot have as a layer",
		After: []string{"pooling"}, Why: "poolings over channels have padding too",
	},
	{
		Name: "mirrors", Phase: Legalize, Run: legalizeMirrors,
		Doc:   "write mirrored padding as a concatenation of slices, on targets that cannot mirror",
		After: []string{"slots", "padding"}, Why: whySlots + "; windows have such padding too",
	},
	{
		Name: "softmax", Phase: Legalize, Run: legalizeSoftmax,
		Doc:   "take softmax over several axes apart",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "scores", Phase: Legalize, Run: legalizeScores,
		Doc:   "write attention that does not subtract the largest score layer by layer",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "responses", Phase: Legalize, Run: legalizeResponses,
		Doc:   "take local response normalization of the first channels apart",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "groups", Phase: Legalize, Run: legalizeGroups,
		Doc:   "give normalization in groups of channels an axis for the groups",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "batchnorm", Phase: Legalize, Run: legalizeBatchNorm,
		Doc:   "write batch normalization as steps",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "rasterizer", Phase: Legalize, Run: legalizeRasterizer,
		Doc:   "unfold windows by slices",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "indices", Phase: Legalize, Run: legalizeIndices,
		Doc: "turn float indices into integers",
	},
	{
		Name: "ringreader", Phase: Legalize, Run: legalizeRingReader,
		Doc:   "read windows of states by views and indices",
		After: []string{"slots", "indices"}, Why: whySlots + "; it computes with the indices",
	},
	{
		Name: "gather", Phase: Legalize, Run: legalizeGather,
		Doc:   "write gathering along several axes as gathering along one",
		After: []string{"slots", "indices"}, Why: whySlots + "; it computes with the indices",
	},
	{
		Name: "knowngather", Phase: Legalize, Run: legalizeKnownGather,
		Doc:   "write gathering by known indices as a concatenation of slices, on targets that cannot gather",
		After: []string{"slots", "gather"}, Why: whySlots + "; several axes become one there",
	},
	{
		Name: "crops", Phase: Legalize, Run: legalizeCrops,
		Doc:   "turn slices along W into tasks, on chips that copy them in a format of their own",
		After: []string{"ringreader", "knowngather", "rasterizer"}, Why: "they read by slices",
	},
	{
		Name: "alone", Phase: Schedule, Run: planAlone,
		Doc: "lay out a segment of one native-encoded layer as Apple's compiler does",
	},
	{
		Name: "schedule", Phase: Schedule, Run: schedule, Show: firstScheduleText,
		Doc: "order the layers so that little memory is held between them",
	},
	{
		Name: "list", Phase: Schedule, Run: listSchedule, Show: ScheduleText,
		Doc:   "order the layers by the rules of a chip's list scheduler",
		After: []string{"schedule"}, Why: "its order replaces the other on chips",
	},
	{
		Name: "pad", Phase: Memory, Run: foldPadding,
		Doc: "move zero padding into the convolution that reads it, on chips",
	},
	{
		Name: "layout", Phase: Memory, Run: layoutValues,
		Doc:   "choose the layout of every value, select the tasks of each layer, and add the copies that these need",
		After: []string{"list", "pad"}, Why: "what a value may lie in goes by the order; a padding that is folded has no place",
	},
	{
		Name: "addresses", Phase: Memory, Run: giveAddresses, Show: segment.MemoryText,
		Doc:   "give every value its address",
		After: []string{"layout"}, Why: "only tasks know what may lie over what they read",
	},
	{
		Name: "roots", Phase: Memory, Run: chipValues, Show: ChipText,
		Doc:   "find which values share bytes on chips, and set rows apart that would fall into the same banks",
		After: []string{"addresses"}, Why: "only then the tasks are known: layout adds copies",
	},
	{
		Name: "chains", Phase: Memory, Run: findChains, Show: ChipText,
		Doc:   "mark results that feed the next task directly, on chips",
		After: []string{"roots"}, Why: "a clause of it is who else reads them",
	},
	{
		Name: "partition", Phase: Memory, Run: partition, Show: ChipText,
		Doc:   "cut the task list where on-chip memory runs out",
		After: []string{"chains"}, Why: "of what is chained, two tiles are held",
	},
	{
		Name: "states", Phase: Memory, Run: allocate, Show: ChipText,
		Doc:   "choose how each value is held, on chips",
		After: []string{"partition"}, Why: "what another partition reads goes through main memory",
	},
	{
		Name: "coissue", Phase: Memory, Run: coIssue, Show: ChipText,
		Doc:   "find tasks that run side by side on the two classes of a chip's engine",
		After: []string{"states"}, Why: "chained operands and results that stream disqualify",
	},
	{
		Name: "onchip", Phase: Memory, Run: placeOnChip, Show: ChipText,
		Doc:   "place the values that stay on chip",
		After: []string{"coissue"}, Why: "what tasks side by side need is needed at the same time",
	},
	{
		Name: "widthconcat", Phase: Memory, Run: widthConcats, Show: ChipText,
		Doc:   "find the concatenations along W that a chip writes in place",
		After: []string{"roots"}, Why: "what it finds stands beside the values",
	},
	{
		Name: "weights", Phase: Memory, Run: packWeights, Show: ChipText,
		Doc:   "deal the weights to the engines of a chip",
		After: []string{"roots"}, Why: "what it finds stands beside the values",
	},
	{
		Name: "resident", Phase: Memory, Run: keepChained, Show: segment.MemoryText,
		Doc:   "keep results on chip that feed the next task directly, where both tasks can",
		After: []string{"onchip"}, Why: "what sticks out of on-chip memory is chained no longer",
	},
	{
		Name: "tasks", Phase: Emit, Run: bindTasks, Show: segment.MemoryText,
		Doc:   "list the tasks of the layers, with addresses",
		After: []string{"addresses", "resident"}, Why: "an operand is a place, in memory or on chip",
	},
	{
		Name: "container", Phase: Emit, Run: emitContainer,
		Doc:   "write tasks, ports and constants as a container",
		After: []string{"tasks"}, Why: "it encodes them",
	},
}

// whySlots is why a pass that writes a layer as others follows the one that empties slots.
const whySlots = "the epilogue goes behind the new layers, where a texture slot would mean something else"

// Passes returns the table.
func Passes() []Pass { return passes }

// A Trace sees a segment after each pass.
type Trace func(p *Pass, s *segment.Segment, took time.Duration)

// shuffle stores a graph in another order, which no result may depend on.
func shuffle(g *anec.Graph, seed uint64, pass int) {
	anec.Shuffle(g, rand.New(rand.NewPCG(seed, uint64(pass))))
}

// run takes a segment through all passes.
func (job *Job) run(ctx context.Context, s *segment.Segment) error {
	if err := job.fuse(ctx, s); err != nil {
		return err
	}
	if err := job.makeLegal(ctx, s); err != nil {
		return err
	}
	for i := range passes {
		if passes[i].Phase <= Legalize {
			continue
		}
		if err := job.runPass(ctx, s, i); err != nil {
			return err
		}
	}
	return nil
}
