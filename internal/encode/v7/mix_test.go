package v7_test

import (
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	v7 "github.com/espalier-ane/espalier/internal/encode/v7"
	"github.com/espalier-ane/espalier/internal/segment"
)

// Native tasks and extension records side by side: a letter for each task. o: native; c: one whose result stays on
// chip for the next; e: an extension record.
func TestNativeTasksStandBesideExtensions(t *testing.T) {
	target := h13(t)
	// No task is known that divides by what the channels about it have.
	other := func(x string) string {
		return `local_response_norm(x = ` + x + `, size = int32(3), alpha = fp16(0.001), beta = fp16(0.75), k = fp16(1))`
	}
	for _, c := range []struct {
		name, inputs, body, tasks string
	}{
		{"native first", "x [1, 8, 5, 7]", "a [1, 8, 5, 7] = sigmoid(x = x); y [1, 8, 5, 7] = " + other("a"), "oe"},
		{"native last", "x [1, 8, 5, 7]", "a [1, 8, 5, 7] = " + other("x") + "; y [1, 8, 5, 1] = reduce_sum(x = a, axes = tensor<int32, [1]>([3]), keep_dims = bool(true))", "eo"},
		{"chained", "x [1, 8, 5, 7]", "a [1, 8, 5, 7] = sigmoid(x = x); b [1, 8, 5, 7] = tanh(x = a); y [1, 8, 5, 7] = " + other("b"), "coe"},
		{"read twice, not chained", "x [1, 8, 5, 7]", "a [1, 8, 5, 7] = sigmoid(x = x); b [1, 8, 5, 7] = tanh(x = a); c [1, 8, 5, 7] = " + other("a") + "; y [1, 8, 5, 7] = add(x = b, y = c)", "ooeo"},
		{
			"a part of a row is copied, then read", "x [1, 8, 5, 9]",
			"c [1, 8, 5, 9] = " + other("x") + "; a [1, 8, 5, 4] = slice_by_index(x = c, begin = tensor<int32, [4]>([0, 0, 0, 3]), end = tensor<int32, [4]>([1, 8, 5, 7])); y [1, 8, 5, 4] = sigmoid(x = a)", "eooo",
		},
		{
			"a part of a row is copied where it belongs", "x [1, 8, 5, 4]; z [1, 8, 5, 4]",
			"a [1, 8, 5, 4] = sigmoid(x = x); c [1, 8, 5, 4] = " + other("z") + "; b [1, 8, 5, 8] = concat(values = (c, a), axis = int32(3), interleave = bool(false)); y [1, 8, 5, 8] = " + other("b"), "oeoooe",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := (&testCase{inputs: strings.Split(c.inputs, "; "), body: strings.Split(c.body, "; ")}).program(t)
			s := compile(t, &compiler.Job{Target: target, Program: program})
			letters := ""
			for _, task := range s.Tasks {
				switch {
				case task.Unit == nil:
					letters += "e"
				case task.Unit.Result == nil:
					letters += "c"
				default:
					letters += "o"
				}
			}
			if letters != c.tasks {
				t.Errorf("tasks %s, want %s", letters, c.tasks)
			}
		})
	}
}

// Where a result would lie over what its tasks still read, the layer is an extension record.
func TestNativeTasksWriteOverNothing(t *testing.T) {
	target := h13(t)
	rows := [anec.NumAxes]int64{1024, 1024, 256, 64, 2}
	for _, c := range []struct {
		name   string
		at     segment.Spot // of the result; what is read lies at 0
		native bool
	}{
		{"apart", segment.Spot{Offset: 1024, Strides: rows}, true},
		{"in place", segment.Spot{Strides: rows}, true},
		{"a row further", segment.Spot{Offset: 64, Strides: rows}, false},
		{"other rows", segment.Spot{Strides: [anec.NumAxes]int64{2048, 2048, 512, 128, 2}}, false},
	} {
		g, err := anec.Parse("graph g\ninput %i : fp16[1,1,4,4,8]\n%x = anec.copy(%i) : fp16[1,1,4,4,8]\n%y = anec.sigmoid(%x) : fp16[1,1,4,4,8]\noutput %y\n", nil)
		if err != nil {
			t.Fatal(err)
		}
		x, y := g.Value("x"), g.Value("y")
		s := &segment.Segment{Target: target, Graph: g}
		s.BeginMemory()
		memory := s.NewBuffer(segment.InScratch)
		c.at.Buffer = memory
		choice := &segment.Choice{
			Segment: s, Layers: []*anec.Layer{y.Def}, IsView: segment.IsView,
			Spots: map[*anec.Value]segment.Spot{x: {Buffer: memory, Strides: rows}, y: c.at},
		}
		tasks, err := v7.New(target).Choose(choice)
		if err != nil {
			t.Fatal(err)
		}
		if err := v7.New(target).Fits(choice, tasks); (err == nil) != c.native {
			t.Errorf("%s: %v, want native tasks: %t", c.name, err, c.native)
		}
	}
}
