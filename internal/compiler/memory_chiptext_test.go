package compiler

import (
	"strings"
	"testing"
)

// What a pass prints of the rules of a chip's compiler says that it is no more than that, and nothing that a later pass decides.
func TestChipTextSaysWhatIsDecided(t *testing.T) {
	s := segmentOf(t, lookup(t, "h13"), `graph g
input %x : fp16[1,1,4,8,8]
const %w : fp16[4,1,4,3,3] {data = splat(0.5)}
%a = anec.convolution(%x, %w) {kernel_sizes = [3, 3], explicit_padding = [1, 1, 1, 1]} : fp16[1,1,4,8,8]
%b = anec.convolution(%a, %w) {kernel_sizes = [3, 3], explicit_padding = [1, 1, 1, 1]} : fp16[1,1,4,8,8]
%c = anec.softmax(%b) {axes = C} : fp16[1,1,4,8,8]
%y = anec.add(%c, %a) : fp16[1,1,4,8,8]
output %y
`)
	runPhase(t, Schedule, s, 0)
	states, placed := false, false
	for _, p := range Passes() {
		if p.Phase != Memory {
			continue
		}
		if err := p.Run(s); err != nil {
			t.Fatal(err)
		}
		states, placed = states || p.Name == "states", placed || p.Name == "onchip"
		if s.Plan == nil || s.Plan.OnChip == nil {
			continue
		}
		text := ChipText(s)
		if !strings.HasPrefix(text, "by the rules of the chip's compiler; tasks may differ") {
			t.Errorf("after %s:\n%s", p.Name, text)
		}
		for word, decided := range map[string]bool{"resident": states, "chained": states, "streamed": states, "another partition": false, "chip+": placed} {
			if strings.Contains(strings.ReplaceAll(text, "not chained", ""), word) && !decided {
				t.Errorf("%q is printed after %s:\n%s", word, p.Name, text)
			}
		}
	}
	if !strings.Contains(ChipText(s), "resident chip+") {
		t.Errorf("nothing stays on chip:\n%s", ChipText(s))
	}
}
