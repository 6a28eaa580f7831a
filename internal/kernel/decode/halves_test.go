//go:build amd64

package decode

import (
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// The instructions that are spelled as bytes are what a disassembler reads.
func TestHalvesInstructions(t *testing.T) {
	for _, name := range []string{"decode.linesSignedHalves", "decode.linesUnsignedHalves", "decode.splitSignedHalves", "decode.splitUnsignedHalves"} {
		got := testkit.Disassemble(t, name, `vcvtw2ph|vmulph`)
		if len(got) == 0 {
			t.Errorf("%s: the disassembler reads no arithmetic on fp16 numbers", name)
		}
		for _, instruction := range got {
			if !slices.Contains([]string{"vcvtw2ph zmm0,zmm0", "vmulph zmm0,zmm0,zmm9"}, instruction) {
				t.Errorf("%s: the disassembler reads %s", name, instruction)
			}
		}
	}
}
