package compiler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/espalier-ane/espalier/internal/anec"
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
	Run   func(*Segment) error
}

// passes is the table. The order is that of the rows; a test holds it to After.
var passes = []Pass{
	{
		Name: "clean", Phase: Fuse, Run: clean,
		Doc: "take out what does nothing: dead layers, identities, chains of views and casts, equal constants",
	},
	{
		Name: "gains", Phase: Fuse, Run: fuseGains,
		Doc: "write batch normalizations, and scales of weights, as gains of the result",
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
		Name: "constants", Phase: Legalize, Run: legalizeConstants,
		Doc: "compressed constants get a layer that decodes them",
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
		Name: "schedule", Phase: Schedule, Run: schedule,
		Doc: "order the layers so that little memory is held between them",
	},
	{
		Name: "memory", Phase: Memory, Run: planMemory,
		Doc:   "say where everything lies, and add the copies that this takes",
		After: []string{"schedule"}, Why: "how long a value is needed goes by the order",
	},
	{
		Name: "tasks", Phase: Emit, Run: emitTasks,
		Doc:   "layers become tasks",
		After: []string{"memory"}, Why: "an operand is a place",
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
type Trace func(p *Pass, s *Segment, took time.Duration)

// shuffle stores a graph in another order, which no result may depend on.
func shuffle(g *anec.Graph, seed uint64, pass int) {
	anec.Shuffle(g, rand.New(rand.NewPCG(seed, uint64(pass))))
}

// run takes a segment through all passes.
func (job *Job) run(ctx context.Context, s *Segment) error {
	for i := range passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := &passes[i]
		if job.Seed != 0 {
			shuffle(s.Graph, job.Seed, i)
		}
		start := time.Now()
		if err := p.Run(s); err != nil {
			return fmt.Errorf("segment %s: pass %s: %w", s.Name, p.Name, err)
		}
		if job.Trace != nil {
			job.Trace(p, s, time.Since(start))
		}
	}
	return nil
}
