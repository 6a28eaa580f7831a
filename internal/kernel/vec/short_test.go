package vec

import "testing"

// No call of machine code has more to do than takes some 50 µs: rows are cut, however
// long they are.
func TestCallsAreShort(t *testing.T) {
	if !fast {
		t.Skip("this processor, or ESPALIER_ISA, has no machine code to be short")
	}
	const length = 1<<20 + 3
	v := make([]float32, length)
	longest, total := 0, 0
	see := func(n int) { longest, total = max(longest, n), total+n }
	defer func(p pair, plus func(*float32, float32, int), clamp func(_ *float32, _, _, _ float32, _ int)) {
		add, fastPlus, fastClamp = p, plus, clamp
	}(add, fastPlus, fastClamp)
	add.fast = func(_, _, _ *float32, n int) { see(n) }
	fastPlus = func(_ *float32, _ float32, n int) { see(n) }
	fastClamp = func(_ *float32, _, _, _ float32, n int) { see(n) }
	for name, f := range map[string]func(){
		"add": func() { Add(v, v, v) }, "plus": func() { Plus(v, 1) }, "clamp": func() { Clamp(v, 1, 2) },
	} {
		longest, total = 0, 0
		if f(); total != length || longest > 1<<15 {
			t.Errorf("%s: %d elements of %d, up to %d in a call", name, total, length, longest)
		}
	}
	if mostReduced > 1<<12 {
		t.Errorf("a reduction has %d elements in a call, in fp64", mostReduced)
	}
}
