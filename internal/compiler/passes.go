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
		Doc: "take out what does nothing: dead layers, identities, chains of views and casts, equal constants",
	},
	{
		Name: "products", Phase: Fuse, Run: fuseProducts,
		Doc:   "write products with constant matrices as convolutions, on targets that do",
		After: []string{"clean"}, Why: "a view of a constant is a constant only then",
	},
	{
		Name: "gains", Phase: Fuse, Run: fuseGains,
		Doc:   "write batch normalizations, and scales of weights, as gains of the result",
		After: []string{"products"}, Why: "a gain of a convolution has a slot, one of a product has none",
	},
	{
		Name: "attention", Phase: Fuse, Run: fuseAttention,
		Doc:   "find attention that is written out",
		After: []string{"clean"}, Why: "a cast or a view in between would hide it",
	},
	{
		Name: "runs", Phase: Fuse, Run: fuseRuns,
		Doc:   "make one layer of a layer and the elementwise layers after it",
		After: []string{"clean", "gains", "attention"},
		Why:   "layers that do nothing stand between others; gains are elementwise; attention is found by its layers",
	},
	{
		Name: "epilogue", Phase: Fuse, Run: fuseEpilogue,
		Doc:   "move steps into the bias, the activations, gain and offset",
		After: []string{"runs"}, Why: "only what no later step reads goes into a slot",
	},
	{
		Name: "transposes", Phase: Fuse, Run: fuseTransposes,
		Doc:   "write results transposed where they are wanted dense",
		After: []string{"runs"}, Why: "nothing follows a transpose in an epilogue",
	},
	{
		Name: "shape", Phase: Legalize, Run: legalizeShape,
		Doc: "extents that a layer asks for become constants",
	},
	{
		Name: "slots", Phase: Legalize, Run: legalizeSlots,
		Doc: "slots of epilogues that no step can say become layers",
	},
	{
		Name: "legacy", Phase: Legalize, Run: legalizeLegacy,
		Doc:   "quotients and broadcasts become products and sums, on the families that have no others",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "strides", Phase: Legalize, Run: legalizeStrides,
		Doc:   "strides that an engine does not have move positions to channels",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "deconv", Phase: Legalize, Run: legalizeDeconv,
		Doc:   "transposed convolutions with strides above 2 make the elements of a block as channels",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "dilation", Phase: Legalize, Run: legalizeDilation,
		Doc:   "elements that a dilated kernel meets move side by side, into the batch, where it is too wide for the engine",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "largekernels", Phase: Legalize, Run: legalizeLargeKernels,
		Doc:   "kernels that an engine does not have become sums of smaller ones",
		After: []string{"strides", "dilation"}, Why: "a stride makes a kernel smaller, and a dilation may make it larger",
	},
	{
		Name: "resize", Phase: Legalize, Run: legalizeResize,
		Doc:   "resizes become convolutions along an axis, on targets without an engine that samples",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "convgroups", Phase: Legalize, Run: legalizeConvGroups,
		Doc:   "groups of a convolution that are too large become convolutions",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "kernelmemory", Phase: Legalize, Run: legalizeKernelMemory,
		Doc:   "sums of products whose weights kernel memory does not hold are split",
		After: []string{"strides", "deconv", "dilation", "largekernels", "resize", "convgroups"}, Why: "their weights are those that count",
	},
	{
		Name: "constants", Phase: Legalize, Run: legalizeConstants,
		Doc:   "compressed constants get a layer that decodes them",
		After: []string{"kernelmemory"}, Why: "weights are split in the form in which they are stored",
	},
	{
		Name: "reductions", Phase: Legalize, Run: legalizeReductions,
		Doc:   "reductions over many channels go through a transpose",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "pooling", Phase: Legalize, Run: legalizePooling,
		Doc:   "poolings over channels and of places become other kinds",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "padding", Phase: Legalize, Run: legalizePadding,
		Doc:   "padding that windows do not have becomes a layer",
		After: []string{"pooling"}, Why: "poolings over channels have padding too",
	},
	{
		Name: "mirrors", Phase: Legalize, Run: legalizeMirrors,
		Doc:   "padding that mirrors joins slices, on targets without an engine that does",
		After: []string{"slots", "padding"}, Why: whySlots + "; windows have such padding too",
	},
	{
		Name: "softmax", Phase: Legalize, Run: legalizeSoftmax,
		Doc:   "softmax over several axes is taken apart",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "groups", Phase: Legalize, Run: legalizeGroups,
		Doc:   "normalization in groups of channels gets an axis for them",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "batchnorm", Phase: Legalize, Run: legalizeBatchNorm,
		Doc:   "batch normalization becomes steps",
		After: []string{"slots"}, Why: whySlots,
	},
	{
		Name: "indices", Phase: Legalize, Run: legalizeIndices,
		Doc: "indices that are floats become integers",
	},
	{
		Name: "ringreader", Phase: Legalize, Run: legalizeRingReader,
		Doc:   "windows of states are read by views and indices",
		After: []string{"slots", "indices"}, Why: whySlots + "; it computes with the indices",
	},
	{
		Name: "gather", Phase: Legalize, Run: legalizeGather,
		Doc:   "gathering along several axes becomes one along one",
		After: []string{"slots", "indices"}, Why: whySlots + "; it computes with the indices",
	},
	{
		Name: "knowngather", Phase: Legalize, Run: legalizeKnownGather,
		Doc:   "gathering by known indices joins slices, on targets without an engine that gathers",
		After: []string{"slots", "gather"}, Why: whySlots + "; several axes become one there",
	},
	{
		Name: "crops", Phase: Legalize, Run: legalizeCrops,
		Doc:   "slices along W become tasks on chips that copy them in a format of their own",
		After: []string{"ringreader", "knowngather"}, Why: "they read by slices",
	},
	{
		Name: "alone", Phase: Schedule, Run: planAlone,
		Doc: "a segment of one layer that the chip's own encoder takes is laid out as by Apple's compiler",
	},
	{
		Name: "schedule", Phase: Schedule, Run: schedule, Show: ScheduleText,
		Doc: "order the layers so that little memory is held between them",
	},
	{
		Name: "list", Phase: Schedule, Run: listSchedule, Show: ScheduleText,
		Doc:   "order the layers by the rules of a chip's list scheduler",
		After: []string{"schedule"}, Why: "its order replaces the other on chips",
	},
	{
		Name: "pad", Phase: Memory, Run: foldPadding,
		Doc: "zeros about an operand become a field of the convolution on chips",
	},
	{
		Name: "layout", Phase: Memory, Run: layoutValues,
		Doc:   "say how everything lies, select the tasks of each layer, and add the copies that this takes",
		After: []string{"list", "pad"}, Why: "what a value may lie in goes by the order; a padding that is folded has no place",
	},
	{
		Name: "addresses", Phase: Memory, Run: giveAddresses, Show: segment.MemoryText,
		Doc:   "say where everything lies",
		After: []string{"layout"}, Why: "only tasks know what may lie over what they read",
	},
	{
		Name: "roots", Phase: Memory, Run: chipValues, Show: ChipText,
		Doc:   "find who reads whose bytes on chips, and set rows apart that would fall into the same banks",
		After: []string{"addresses"}, Why: "only then the tasks are known: layout adds copies",
	},
	{
		Name: "chains", Phase: Memory, Run: findChains, Show: ChipText,
		Doc:   "mark results that supply the next task directly on chips",
		After: []string{"roots"}, Why: "a clause of it is who else reads them",
	},
	{
		Name: "partition", Phase: Memory, Run: partition, Show: ChipText,
		Doc:   "cut the task list where on-chip memory runs out",
		After: []string{"chains"}, Why: "of what is chained, two tiles are held",
	},
	{
		Name: "states", Phase: Memory, Run: allocate, Show: ChipText,
		Doc:   "say how each value is held on chips",
		After: []string{"partition"}, Why: "what another partition reads goes through main memory",
	},
	{
		Name: "coissue", Phase: Memory, Run: coIssue, Show: ChipText,
		Doc:   "find tasks that run side by side on the two classes of a chip's engine",
		After: []string{"states"}, Why: "chained operands and results that stream disqualify",
	},
	{
		Name: "onchip", Phase: Memory, Run: placeOnChip, Show: ChipText,
		Doc:   "say where on chip the values are that stay there",
		After: []string{"coissue"}, Why: "what tasks side by side need is needed at the same time",
	},
	{
		Name: "widthconcat", Phase: Memory, Run: widthConcats, Show: ChipText,
		Doc:   "find the concatenations along W that a chip writes in place",
		After: []string{"roots"}, Why: "what it finds stands beside the values",
	},
	{
		Name: "weights", Phase: Memory, Run: packWeights, Show: ChipText,
		Doc:   "say how weights are dealt to the engines of a chip",
		After: []string{"roots"}, Why: "what it finds stands beside the values",
	},
	{
		Name: "resident", Phase: Memory, Run: keepChained, Show: segment.MemoryText,
		Doc:   "leave results on chip that supply the next task directly, where both tasks can",
		After: []string{"onchip"}, Why: "what sticks out of on-chip memory is chained no longer",
	},
	{
		Name: "tasks", Phase: Emit, Run: bindTasks, Show: segment.MemoryText,
		Doc:   "list the tasks of the layers, with addresses",
		After: []string{"addresses", "resident"}, Why: "an operand is a place, in memory or on chip",
	},
	{
		Name: "container", Phase: Emit, Run: emitContainer,
		Doc:   "tasks, ports and constants become a container",
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
