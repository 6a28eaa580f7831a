package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A layout is a region and, by its plain definition, how often each byte
// belongs to an element.
type layout struct {
	what   any
	region region
	bytes  map[int]int
}

// randomOperand makes an operand of version 256 at some offset: strides of both
// signs and 0, interleave, elements of every size, no extent at all.
func randomOperand(r *rand.Rand) layout {
	types := []tensor.DType{tensor.UInt8, tensor.Float16, tensor.Float32, tensor.Int64, tensor.Int4, tensor.UInt6}
	o := td.Operand{Type: types[r.IntN(len(types))], Interleave: 1, Offset: 4000}
	for a := range o.Dims {
		o.Dims[a] = 1 + r.IntN(4)
		if r.IntN(40) == 0 {
			o.Dims[a] = 0
		}
		o.Strides[a] = int64(r.IntN(3)-1) * int64(1+r.IntN(60))
		if r.IntN(3) == 0 {
			o.Strides[a] = int64(o.Type.Size()) * int64(r.IntN(20))
		}
	}
	if r.IntN(2) == 0 && !o.Type.SubByte() {
		o.Interleave = uint8(1 + r.IntN(5))
		o.Dims[td.AxisC] = 1 + r.IntN(11)
	}
	l := layout{what: o, region: operandRegion(&strided.Operand{Operand: o}), bytes: map[int]int{}}
	var elements [][td.NumAxes]int
	for n := range o.Dims[0] {
		for d := range o.Dims[1] {
			for c := range o.Dims[2] {
				for h := range o.Dims[3] {
					for w := range o.Dims[4] {
						elements = append(elements, [td.NumAxes]int{n, d, c, h, w})
					}
				}
			}
		}
	}
	if o.Type.SubByte() {
		for i := range (len(elements)*o.Type.Bits() + 7) / 8 {
			l.bytes[int(o.Offset)+i]++
		}
		return l
	}
	for _, e := range elements {
		at := int(o.Offset)
		for a, i := range e {
			if td.Axis(a) == td.AxisC {
				at += i % int(o.Interleave) * o.Type.Size()
				i /= int(o.Interleave)
			}
			at += i * int(o.Strides[a])
		}
		for i := range o.Type.Size() {
			l.bytes[at+i]++
		}
	}
	return l
}

// randomExchanged makes an operand as the units have them: strides of any sign,
// and perhaps C and W exchanged.
func randomExchanged(r *rand.Rand) layout {
	o := strided.Operand{Operand: td.Operand{Offset: 4000, Type: tensor.Float16, Interleave: 1}, Exchanged: r.IntN(2) == 0}
	if r.IntN(4) == 0 {
		o.Type = tensor.UInt8
	}
	for a := range o.Dims {
		o.Dims[a] = 1 + r.IntN(4)
		o.Strides[a] = int64(r.IntN(120) - 40)
	}
	lane := td.AxisC
	if o.Exchanged {
		lane = td.AxisW
	}
	if r.IntN(2) == 0 {
		o.Interleave = uint8(2 + r.IntN(3))
		o.Dims[lane] = 1 + r.IntN(9)
	}
	l := layout{what: o, region: operandRegion(&o), bytes: map[int]int{}}
	each(o.Dims, func(i [td.NumAxes]int) {
		at := int(o.Offset)
		for a, n := range i {
			if td.Axis(a) == lane {
				at += n % int(o.Interleave) * o.Type.Size()
				n /= int(o.Interleave)
			}
			at += n * int(o.Strides[a])
		}
		for b := range o.Type.Size() {
			l.bytes[at+b]++
		}
	})
	return l
}

func randomLayout(r *rand.Rand) layout {
	if r.IntN(2) == 0 {
		return randomExchanged(r)
	}
	return randomOperand(r)
}

func TestRegion(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		l := randomLayout(r)
		got := map[int]int{}
		runs := int64(0)
		l.region.eachRun(func(at, n int) bool {
			for i := range n {
				got[at+i]++
			}
			runs++
			return true
		})
		lo, hi, once := -1, -1, true
		for at, times := range l.bytes {
			if got[at] == 0 {
				t.Fatalf("%+v: byte %d is not in %+v", l.what, at, l.region)
			}
			if lo < 0 || at < lo {
				lo = at
			}
			hi = max(hi, at+1)
			once = once && times == 1
		}
		if len(got) != len(l.bytes) {
			t.Fatalf("%+v: %d bytes, want %d", l.what, len(got), len(l.bytes))
		}
		if runs != l.region.runs() {
			t.Fatalf("%+v: %d runs, said %d", l.what, runs, l.region.runs())
		}
		if l.region.separate && !once {
			t.Fatalf("%+v is not separate", l.what)
		}
		if l.region.empty() != (len(l.bytes) == 0) {
			t.Fatalf("%+v: empty is %t", l.what, l.region.empty())
		}
		if gotLo, gotHi := l.region.hull(); !l.region.empty() && (gotLo != int64(lo) || gotHi != int64(hi)) {
			t.Fatalf("%+v: hull %d..%d, want %d..%d", l.what, gotLo, gotHi, lo, hi)
		}
	}
}

// TestSeparate holds that the layouts of tensors count as separate.
func TestSeparate(t *testing.T) {
	for _, test := range []struct {
		what string
		o    td.Operand
		want bool
	}{
		{"dense", td.Operand{Dims: [5]int{2, 1, 3, 4, 5}, Strides: [5]int64{120, 40, 40, 10, 2}}, true},
		{"padded rows", td.Operand{Dims: [5]int{2, 1, 3, 4, 5}, Strides: [5]int64{768, 0, 256, 64, 2}}, true},
		{"rows, then channels", td.Operand{Dims: [5]int{1, 1, 3, 4, 5}, Strides: [5]int64{0, 0, 16, 48, 2}}, true},
		{"lanes", td.Operand{Dims: [5]int{1, 1, 7, 2, 5}, Strides: [5]int64{0, 0, 128, 64, 8}, Interleave: 4}, true},
		{"backwards", td.Operand{Offset: 100, Dims: [5]int{1, 1, 1, 4, 5}, Strides: [5]int64{0, 0, 0, -10, 2}}, true},
		{"repeated", td.Operand{Dims: [5]int{1, 1, 1, 4, 5}, Strides: [5]int64{4: 2}}, false},
		{"half an element", td.Operand{Dims: [5]int{1, 1, 1, 1, 5}, Strides: [5]int64{4: 1}}, false},
		{"windows", td.Operand{Dims: [5]int{1, 1, 1, 3, 5}, Strides: [5]int64{3: 2, 4: 2}}, false},
	} {
		test.o.Type = tensor.Float16
		if r := operandRegion(&strided.Operand{Operand: test.o}); r.separate != test.want {
			t.Errorf("%s: separate is %t", test.what, r.separate)
		}
	}
}

// TestCoverage compares the set with a plain one, over tasks of both versions.
func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var clean, missing, meeting int
	for range 300 {
		var c coverage
		written := map[int]bool{}
		shift := 0
		if r.IntN(2) == 0 {
			shift = pageBytes - 4000 // over the bound of a page
		}
		move := func(l *layout) {
			for i := range l.region.blocks {
				l.region.blocks[i].offset += shift
			}
		}
		for range 6 {
			l := randomLayout(r)
			move(&l)
			if r.IntN(3) > 0 {
				c.add(&l.region)
				for at := range l.bytes {
					written[at+shift] = true
				}
				if r.IntN(2) == 0 { // once more, with half of it
					l.region.blocks = slices.Clone(l.region.blocks)[:(len(l.region.blocks)+1)/2]
				}
			}
			whole, some := true, false
			l.region.eachRun(func(at, n int) bool {
				for i := range n {
					whole = whole && written[at+i]
					some = some || written[at+i]
				}
				return true
			})
			at, gap := c.gap(&l.region)
			if gap == whole || gap && written[at] {
				t.Fatalf("%+v: gap at %d: %t; all is written: %t", l.what, at, gap, whole)
			}
			if at, got := c.common(&l.region); got != some || got && !written[at] {
				t.Fatalf("%+v: common at %d: %t, want %t", l.what, at, got, some)
			}
			if whole {
				clean++
			} else {
				missing++
			}
			if some {
				meeting++
			}
		}
	}
	if clean < 100 || missing < 100 || meeting < 100 {
		t.Errorf("%d written, %d not, %d touched: too few of some", clean, missing, meeting)
	}
}

// TestCoverageOfLargeMemory holds that a memory that is written as a whole costs
// little, however large it is.
func TestCoverageOfLargeMemory(t *testing.T) {
	var c coverage
	r := newRegion(5, 1<<33, nil, nil)
	c.add(&r)
	if _, gap := c.gap(&r); gap {
		t.Error("not covered")
	}
	own := 0
	for _, p := range c.pages {
		if p != wholePage {
			own++
		}
	}
	if own != 2 {
		t.Errorf("%d pages have bits of their own, want the first and the last", own)
	}
	before := newRegion(0, 5, nil, nil)
	if at, gap := c.gap(&before); !gap || at != 0 {
		t.Errorf("byte %d, %t", at, gap)
	}
	if at, found := c.common(&before); found {
		t.Errorf("byte %d is in it", at)
	}
	outside := newRegion(1<<40, 1, nil, nil)
	if _, gap := c.gap(&outside); !gap {
		t.Error("covers what it does not")
	}
}

func TestOverlaps(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	meet, apart := 0, 0
	for range 2000 {
		x, y := randomLayout(r), randomLayout(r)
		want := false
		for at := range x.bytes {
			want = want || y.bytes[at] > 0
		}
		if got := x.region.overlaps(&y.region); got != want || got != y.region.overlaps(&x.region) {
			t.Fatalf("%+v and %+v: %t, want %t", x.what, y.what, got, want)
		}
		if want {
			meet++
		} else {
			apart++
		}
	}
	if meet < 100 || apart < 100 {
		t.Errorf("%d meet, %d do not: too few of one", meet, apart)
	}
}

// TestTooManyRuns holds that walking over scattered elements comes to an end.
func TestTooManyRuns(t *testing.T) {
	p := &Program{memories: []memory{{kind: scratch, size: 1 << 31}}}
	scattered := newRegion(0, 2, []loop{{1 << 20, 1 << 10}, {1 << 8, 4}}, nil)
	for range maxRuns >> 28 {
		if err := p.countRuns(&scattered); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.noteWritten(0, &scattered); err == nil {
		t.Error("no error")
	}
	huge := newRegion(0, 2, []loop{{1 << 40, 1 << 20}, {1 << 40, 4}, {1 << 40, 1 << 21}}, nil)
	if huge.runs() < 1<<30 {
		t.Errorf("%d runs", huge.runs())
	}
}
