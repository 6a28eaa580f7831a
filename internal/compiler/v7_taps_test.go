package compiler

import (
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/mil"
)

// Windows by their taps, as they are where the chip's memory has no room for the tensor.
func TestV7WindowsByTaps(t *testing.T) {
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	small := *target
	small.Sizes.OnChip = 1 << 11
	for _, c := range []v7Case{
		{inputs: "x [1, 5, 12, 14]", body: "y [1, 5, 6, 7] = " + poolOf("max_pool", [2]int{2, 2}, [2]int{2, 2}, [4]int{}, "")},
		{inputs: "x [2, 5, 13, 15]", body: "y [2, 5, 7, 8] = " + poolOf("max_pool", [2]int{3, 3}, [2]int{2, 2}, [4]int{1, 1, 1, 1}, "")},
		{inputs: "x [1, 4, 13, 12]", body: "y [1, 4, 7, 7] = " + poolOf("max_pool", [2]int{3, 3}, [2]int{2, 2}, [4]int{1, 1, 1, 2}, "")},
		{inputs: "x [1, 40, 9, 11]", body: "y [1, 40, 9, 11] = " + poolOf("max_pool", [2]int{3, 1}, [2]int{1, 1}, [4]int{1, 1, 0, 0}, ""), tasks: 4},
		{inputs: "x [1, 3, 9, 70]", body: "y [1, 3, 9, 24] = " + poolOf("max_pool", [2]int{1, 4}, [2]int{1, 3}, [4]int{0, 0, 2, 1}, "")},
		{inputs: "x [2, 4, 12, 12]", body: "y [2, 4, 3, 4] = " + poolOf("avg_pool", [2]int{4, 3}, [2]int{4, 3}, [4]int{}, withPadding), abs: 0.003},
	} {
		t.Run(c.body, func(t *testing.T) {
			program, err := mil.ParseText("case", []byte(c.text()), randomWeights{})
			if err != nil {
				t.Fatal(err)
			}
			fn := program.Functions[0]
			s, err := wholeSegment(fn, target)
			if err != nil {
				t.Fatal(err)
			}
			s.Target = &small
			if _, err := compileSegment(t, s, false); err != nil {
				t.Fatal(err)
			}
			if len(s.Tasks) == 0 || s.Tasks[0].Unit == nil {
				t.Fatal("it has no tasks")
			}
			runOwnSegment(t, &c, fn, s)
		})
	}
}
