package compiler

import (
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
	MemoryPhase
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
	{Name: "clean", Phase: Fuse, Doc: "take out what does nothing: dead layers, identities, chains of views and casts, equal constants", Run: clean},
	{Name: "gains", Phase: Fuse, Doc: "write batch normalizations, and scales of weights, as gains of the result", Run: fuseGains},
	{Name: "attention", Phase: Fuse, Doc: "find attention that is written out", Run: fuseAttention,
		After: []string{"clean"}, Why: "a cast or a view in between would hide it"},
	{Name: "runs", Phase: Fuse, Doc: "make one layer of a layer and the elementwise layers after it", Run: fuseRuns,
		After: []string{"clean", "gains", "attention"}, Why: "layers that do nothing stand between others; gains are elementwise; attention is found by its layers"},
	{Name: "epilogue", Phase: Fuse, Doc: "move steps into the bias, the activations, gain and offset", Run: fuseEpilogue,
		After: []string{"runs"}, Why: "only what no later step reads goes into a slot"},
	{Name: "transposes", Phase: Fuse, Doc: "write results transposed where they are wanted dense", Run: fuseTransposes,
		After: []string{"runs"}, Why: "nothing follows a transpose in an epilogue"},
	{Name: "constants", Phase: Legalize, Doc: "compressed constants get a layer that decodes them", Run: legalizeConstants},
	{Name: "shape", Phase: Legalize, Doc: "extents that a layer asks for become constants", Run: legalizeShape},
	{Name: "slots", Phase: Legalize, Doc: "slots of epilogues that no step can say become layers", Run: legalizeSlots},
	{Name: "pooling", Phase: Legalize, Doc: "poolings over channels and of places become other kinds", Run: legalizePooling,
		After: []string{"slots"}, Why: "the epilogue goes behind the new layers, a texture slot would not"},
	{Name: "padding", Phase: Legalize, Doc: "padding that windows do not have becomes a layer", Run: legalizePadding,
		After: []string{"pooling"}, Why: "poolings over channels have padding too"},
	{Name: "softmax", Phase: Legalize, Doc: "softmax over several axes is taken apart", Run: legalizeSoftmax,
		After: []string{"slots"}, Why: "as pooling"},
	{Name: "groups", Phase: Legalize, Doc: "normalization in groups of channels gets an axis for them", Run: legalizeGroups,
		After: []string{"slots"}, Why: "as pooling"},
	{Name: "batchnorm", Phase: Legalize, Doc: "batch normalization becomes steps", Run: legalizeBatchNorm,
		After: []string{"slots"}, Why: "as pooling"},
	{Name: "indices", Phase: Legalize, Doc: "indices that are floats become integers", Run: legalizeIndices},
	{Name: "ringreader", Phase: Legalize, Doc: "windows of states are read by views and indices", Run: legalizeRingReader,
		After: []string{"slots", "indices"}, Why: "as pooling; it computes with the indices"},
	{Name: "gather", Phase: Legalize, Doc: "gathering along several axes becomes one along one", Run: legalizeGather,
		After: []string{"slots", "indices"}, Why: "as ringreader"},
	{Name: "schedule", Phase: Schedule, Doc: "order the layers so that little memory is held between them", Run: schedule},
	{Name: "memory", Phase: MemoryPhase, Doc: "say where everything lies, and add the copies that this takes", Run: planMemory,
		After: []string{"schedule"}, Why: "how long a value is needed goes by the order"},
	{Name: "tasks", Phase: Emit, Doc: "layers become tasks", Run: emitTasks},
	{Name: "container", Phase: Emit, Doc: "tasks, ports and constants become a container", Run: emitContainer,
		After: []string{"tasks"}, Why: "it encodes them"},
}

// Passes returns the table.
func Passes() []Pass { return passes }

// A Trace sees a segment after each pass.
type Trace func(p *Pass, s *Segment, took time.Duration)

// run takes a segment through all passes.
func (job *Job) run(s *Segment) error {
	for i := range passes {
		p := &passes[i]
		if job.Seed != 0 {
			anec.Shuffle(s.Graph, rand.New(rand.NewPCG(job.Seed, uint64(i))))
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
