package isa

import "testing"

func TestChoose(t *testing.T) {
	const x86 = AVX2 | AVX512
	for _, test := range []struct {
		offered Set
		asked   string
		want    Set
		err     string
	}{
		{x86, "", x86, ""},
		{x86, "go", 0, ""},
		{x86, "avx2", AVX2, ""},
		{x86 | AMX, "avx512", x86, ""},
		{x86 | AMX, "amx", x86 | AMX, ""},
		{NEON, "neon", NEON, ""},
		{x86, "amx", 0, "ESPALIER_ISA is amx: this machine has avx2+avx512"},
		{0, "avx2", 0, "ESPALIER_ISA is avx2: this machine has go"},
		{x86, "sse", 0, `ESPALIER_ISA is "sse": it should be go, avx2, avx512, amx or neon`},
	} {
		got, err := choose(test.offered, test.asked)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != test.want || text != test.err {
			t.Errorf("%v, asked for %q: got %v, %q; expected %v, %q", test.offered, test.asked, got, text, test.want, test.err)
		}
	}
}
