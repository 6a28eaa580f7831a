package engine

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// halves is an operand of fp16 numbers, with extents and strides N, D, C, H, W.
func halves(offset int64, dims [td.NumAxes]int, strides [td.NumAxes]int64) *strided.Operand {
	return &strided.Operand{Operand: td.Operand{Offset: offset, Type: tensor.Float16, Interleave: 1, Dims: dims, Strides: strides}}
}

// placesOf lists where the elements of an operand lie.
func placesOf(o *strided.Operand) (list []int64) {
	var walk func(axis int, at int64)
	walk = func(axis int, at int64) {
		if axis == td.NumAxes {
			list = append(list, at)
			return
		}
		for i := range o.Dims[axis] {
			walk(axis+1, at+int64(i)*o.Strides[axis])
		}
	}
	walk(0, o.Offset)
	return list
}

func TestCompactKeepsElements(t *testing.T) {
	type five = [td.NumAxes]int
	type steps = [td.NumAxes]int64
	tests := []struct {
		name     string
		operands []*strided.Operand // the first one is written
		size     int64              // without gaps; 0: it stays
	}{
		{"rows of 64 bytes", []*strided.Operand{
			halves(128, five{1, 1, 8, 14, 14}, steps{0, 0, 896, 64, 2}),
			halves(128, five{1, 1, 8, 14, 14}, steps{0, 0, 896, 64, 2}),
		}, 8 * 14 * 28},
		{"single elements", []*strided.Operand{
			halves(64, five{1, 1, 16, 8, 1}, steps{9, 9, 512, 64, 7}),
			halves(64+3*512, five{1, 1, 1, 8, 4}, steps{0, 0, 0, 64, 512}), // some channels, as columns
		}, 16 * 8 * 2},
		{"on chip, row by row", []*strided.Operand{
			halves(32, five{1, 1, 6, 5, 7}, steps{0, 0, 16, 0x80, 2}),
			halves(32, five{1, 1, 6, 5, 7}, steps{0, 0, 16, 0x80, 2}),
		}, 6 * 5 * 14},
		{"every second column", []*strided.Operand{
			halves(0, five{1, 1, 3, 9, 9}, steps{0, 0, 9 * 576, 576, 64}),
			halves(64, five{1, 1, 3, 4, 4}, steps{0, 0, 9 * 576, 1152, 128}),
		}, 3 * 9 * 9 * 2},
		{"two parts", []*strided.Operand{
			halves(0, five{1, 1, 4, 3, 5}, steps{0, 0, 192, 64, 2}),
			halves(4*192, five{1, 1, 4, 3, 5}, steps{0, 0, 192, 64, 2}),
			halves(0, five{1, 1, 8, 3, 5}, steps{0, 0, 192, 64, 2}),
		}, 8 * 3 * 10},
		{"no gaps", []*strided.Operand{
			halves(0, five{1, 1, 4, 3, 32}, steps{0, 0, 192, 64, 2}),
			halves(0, five{1, 1, 1, 12, 32}, steps{0, 0, 0, 64, 2}),
		}, 0},
		{"a row across rows", []*strided.Operand{
			halves(0, five{1, 1, 1, 4, 24}, steps{0, 0, 0, 64, 2}),
			halves(0, five{1, 1, 1, 1, 24}, steps{0, 0, 0, 0, 6}),
		}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := &ownValue{base: test.operands[0].Offset}
			var own []touch
			var before [][]int64
			for i, o := range test.operands {
				v.base = min(v.base, o.Offset)
				own = append(own, touch{operand: o, writes: i == 0})
				v.touches = append(v.touches, i)
				before = append(before, placesOf(o))
			}
			if moved := v.shrink(own); moved != (test.size != 0) {
				t.Fatalf("moved: %v", moved)
			}
			if test.size == 0 {
				return
			}
			if v.size != test.size {
				t.Errorf("%d bytes, want %d", v.size, test.size)
			}
			v.at = 4096
			now, was := make(map[int64]int64), make(map[int64]int64)
			for i, o := range test.operands {
				v.move(&own[i], 7)
				for j, at := range placesOf(o) {
					from := before[i][j]
					if at < v.at || at+2 > v.at+v.size {
						t.Fatalf("operand %d: element %d is outside", i, j)
					}
					if to, known := now[from]; known && to != at {
						t.Fatalf("operand %d: byte %d is now %d and %d", i, from, to, at)
					}
					if f, known := was[at]; known && f != from {
						t.Fatalf("operand %d: bytes %d and %d are both %d", i, f, from, at)
					}
					now[from], was[at] = at, from
				}
			}
		})
	}
}

func TestValuesShareNoMemoryWhileTheyLive(t *testing.T) {
	values := []*ownValue{{first: 0, last: 2, size: 100}, {first: 1, last: 3, size: 10}, {first: 3, last: 4, size: 64}, {first: 3, last: 9, size: 100}, {first: 5, last: 6, size: 10}}
	size := placeValues(values)
	for i, a := range values {
		if a.at+a.size > int64(size) {
			t.Errorf("value %d is outside", i)
		}
		for _, b := range values[:i] {
			if a.first <= b.last && b.first <= a.last && a.at < b.at+b.size && b.at < a.at+a.size {
				t.Errorf("%+v and %+v", a, b)
			}
		}
	}
	if size > 300 {
		t.Errorf("%d bytes: what is not needed any more is not used again", size)
	}
}

func TestRegionContains(t *testing.T) {
	whole := newRegion(64, 28, []loop{{14, 64}, {8, 896}}, nil)
	for _, test := range []struct {
		name string
		part region
		want bool
	}{
		{"itself", whole, true},
		{"some channels", newRegion(64+2*896, 28, []loop{{14, 64}, {6, 896}}, nil), true},
		{"a channel too many", newRegion(64+2*896, 28, []loop{{14, 64}, {7, 896}}, nil), false},
		{"every second row", newRegion(128, 2, []loop{{14, 2}, {7, 128}, {8, 896}}, nil), true},
		{"beyond the row", newRegion(66, 28, []loop{{14, 64}}, nil), false},
		{"before it", newRegion(0, 28, []loop{{2, 64}}, nil), false},
		{"a row too many", newRegion(128, 2, []loop{{14, 64}}, nil), false},
	} {
		if got := whole.contains(&test.part); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// A read is joined with all writes that it may see, and with no other.
func TestFindValues(t *testing.T) {
	whole, left, right := newRegion(0, 64, nil, nil), newRegion(0, 32, nil, nil), newRegion(32, 32, nil, nil)
	p := new(Program)
	add := func(writes bool, r region) int {
		i := len(p.own)
		p.own = append(p.own, touch{step: i, writes: writes, region: r, value: i})
		p.own[i].lo, p.own[i].hi = r.hull()
		return i
	}
	w1 := add(true, whole)
	r1 := add(false, right)
	w2 := add(true, left) // the right half is still the first value's
	r2 := add(false, whole)
	w3 := add(true, whole) // a new value
	r3 := add(false, left)
	w4 := add(true, left)
	w5 := add(true, right)
	r4 := add(false, whole)
	if !p.findValues() {
		t.Fatal("it gave up")
	}
	for _, test := range []struct {
		a, b int
		same bool
	}{{w1, r1, true}, {w1, w2, true}, {w1, r2, true}, {w1, w3, false}, {w3, r3, true}, {w3, w4, false}, {w4, w5, true}, {w4, r4, true}} {
		if got := p.root(test.a) == p.root(test.b); got != test.same {
			t.Errorf("%d and %d: %v", test.a, test.b, got)
		}
	}
	add(false, newRegion(60, 8, nil, nil))
	if p.findValues() {
		t.Error("bytes that nobody writes")
	}
}

// A read sees no write beside it, and none to the same place of another memory.
func TestFindValuesApart(t *testing.T) {
	p := new(Program)
	add := func(writes bool, memory, offset int) int {
		i := len(p.own)
		p.own = append(p.own, touch{step: i, writes: writes, memory: memory, region: newRegion(offset, 32, nil, nil), value: i})
		p.own[i].lo, p.own[i].hi = p.own[i].region.hull()
		return i
	}
	seen := add(true, 0, 32)
	others := []int{add(true, 0, 0), add(true, 0, 64), add(true, 1, 32)}
	read := add(false, 0, 32)
	if !p.findValues() {
		t.Fatal("it gave up")
	}
	if p.root(seen) != p.root(read) {
		t.Error("the read is not joined with what it sees")
	}
	for _, i := range others {
		if p.root(i) == p.root(read) {
			t.Errorf("the read is joined with write %d", i)
		}
	}
	add(false, 2, 32)
	if p.findValues() {
		t.Error("bytes that are written in other memories alone")
	}
}

// What lies in a way that is not known stays where it is.
func TestTouchMoves(t *testing.T) {
	for _, test := range []struct {
		what   string
		change func(*touch)
		want   bool
	}{
		{"rows", func(*touch) {}, true},
		{"no operand", func(t *touch) { t.operand = nil }, false},
		{"interleaved", func(t *touch) { t.operand.Interleave = 2 }, false},
		{"less than a byte", func(t *touch) { t.operand.Type = tensor.Int4 }, false},
		{"backwards", func(t *touch) { t.operand.Strides[td.AxisH] = -64 }, false},
		{"one row backwards", func(t *touch) { t.operand.Dims[td.AxisH], t.operand.Strides[td.AxisH] = 1, -64 }, true},
		{"weights", func(t *touch) { t.weights = &strided.RuntimeWeights{Stride: 2} }, true},
		{"weights in one place", func(t *touch) { t.weights = new(strided.RuntimeWeights) }, false},
	} {
		var dims [td.NumAxes]int
		for a := range dims {
			dims[a] = 1
		}
		dims[td.AxisH], dims[td.AxisW] = 4, 8
		var strides [td.NumAxes]int64
		strides[td.AxisH], strides[td.AxisW] = 64, 2
		to := touch{operand: halves(0, dims, strides)}
		test.change(&to)
		if got := to.moves(); got != test.want {
			t.Errorf("%s: %v", test.what, got)
		}
	}
}
