//go:build unix

package espalier

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// A file that becomes shorter is an error whatever instruction set reads it: the test
// above again, in a process for each, where kernels pack mapped weights and where they
// read them as they lie.
func TestTruncatedFileIsAnErrorOfAllInstructionSets(t *testing.T) {
	for name, needs := range map[string]isa.Set{
		"go": 0, "avx2": isa.AVX2, "avx512": isa.AVX2 | isa.AVX512, "amx": isa.AVX2 | isa.AVX512 | isa.AMX, "neon": isa.NEON,
	} {
		t.Run(name, func(t *testing.T) {
			if !isa.Have().Has(needs) {
				t.Skipf("there is %v", isa.Have())
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTruncatedFileIsAnError$/^(text|text_for_a_chip|bundle)$/^in_", "-test.v")
			cmd.Env = append(os.Environ(), "ESPALIER_ISA="+name)
			out, err := cmd.CombinedOutput()
			if passed := strings.Count(string(out), "--- PASS: TestTruncatedFileIsAnError/"); err != nil || passed != 6 {
				t.Errorf("%v, %d cases passed:\n%s", err, passed, out)
			}
		})
	}
}
