package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// A chip begins each row of a tensor on a boundary of its own, 64 bytes in memory
// and 16 on chip, however short the row. To read and write such tensors is mostly
// to move bytes that nobody looks at. What tasks hand to each other in memory that
// is theirs alone need not lie as it says there: when all tasks are bound, each
// value gets a place of its own, without the gaps, and its tasks are bound again.
//
//	scratch   ab······cd······ef······     rows of 2 elements, 8 apart
//	                  │
//	          abcdef
//
// A value is some writes, and all reads that may see one of them: they keep their
// places to each other, so that each read finds the bytes that it would have found.
// One that a task reads or writes in a way that is not known here stays where it is.

// A touch is what a task does to memory of its own. Reads of a task come before its
// writes.
type touch struct {
	step   int
	writes bool
	memory int
	region region
	lo, hi int64 // its hull

	operand *strided.Operand        // of the task; nil: it stays
	weights *strided.RuntimeWeights // or these
	count   int                     // of the weights of an output

	value int // another touch of the same value, or itself
}

// A boundUnit is a task of the units as it was bound, to be bound again.
type boundUnit struct {
	unit *strided.Unit
	step int
}

// touches notes what the next step does to memory that is the program's own.
func (p *Program) touches(pl *place, writes bool, o *strided.Operand, w *strided.RuntimeWeights, count int) {
	if k := p.memories[pl.Memory].kind; pl.region.empty() || k != onChip && k != scratch {
		return
	}
	t := touch{step: len(p.steps), writes: writes, memory: pl.Memory, region: pl.region, operand: o, weights: w, count: count, value: len(p.own)}
	t.lo, t.hi = pl.region.hull()
	p.own = append(p.own, t)
}

// maxCompactWork bounds what is looked at to find the values, and with it the time
// that it takes: a part of a second. Beyond, everything stays.
const maxCompactWork = 1 << 25

// compact moves values to where they have no gaps.
func (p *Program) compact() {
	defer func() { p.own, p.units = nil, nil }()
	if len(p.units) == 0 || !p.findValues() {
		return
	}
	values := p.values()
	values = slices.DeleteFunc(values, func(v *ownValue) bool { return !v.shrink(p.own) })
	if len(values) == 0 {
		return
	}
	to := len(p.memories)
	p.memories = append(p.memories, memory{kind: onChip, name: "without gaps", size: placeValues(values)})
	p.memories[to].reach = p.memories[to].size
	moved := make([]bool, len(p.steps))
	for _, v := range values {
		for _, i := range v.touches {
			v.move(&p.own[i], to)
			moved[p.own[i].step] = true
		}
	}
	for i := range p.memories[:to] {
		if m := &p.memories[i]; m.kind == onChip || m.kind == scratch {
			m.reach = 0
		}
	}
	for i := range p.own {
		if t := &p.own[i]; t.memory != to {
			p.memories[t.memory].touch(&t.region)
		}
	}
	p.bindAgain(moved)
}

// bindAgain binds the tasks of steps.
func (p *Program) bindAgain(steps []bool) {
	bound := make(map[int]*strided.BoundUnit)
	for _, u := range p.units {
		if steps[u.step] {
			b := strided.BindUnit(u.unit)
			bound[u.step], p.steps[u.step].kernels = b, b.Kernels
		}
	}
	p.scratch = strided.Need{}
	all := slices.Clone(p.steps)
	for i := range p.once {
		all = append(all, p.once[i].step)
	}
	for i := range all {
		for _, k := range all[i].kernels {
			p.scratch = p.scratch.Max(k.Need())
		}
	}
	for i := range p.memories {
		for j := range p.memories[i].accesses {
			if a := &p.memories[i].accesses[j]; bound[a.step] != nil && !a.writes {
				a.over, a.before = bound[a.step].Over, bound[a.step].First
			}
		}
	}
}

// root is the touch that stands for the value of one.
func (p *Program) root(i int) int {
	for p.own[i].value != i {
		p.own[i].value = p.own[p.own[i].value].value
		i = p.own[i].value
	}
	return i
}

// findValues joins each read with all writes that it may see: from the last one back,
// until together they have all that is read. It reports whether it came to an end.
func (p *Program) findValues() bool {
	work := int64(0)
	for i := range p.own {
		r := &p.own[i]
		if r.writes {
			continue
		}
		var seen coverage
		covered := false
		for j := i - 1; j >= 0 && !covered; j-- {
			w := &p.own[j]
			if work++; !w.writes || w.memory != r.memory || w.hi <= r.lo || r.hi <= w.lo {
				continue
			}
			p.own[p.root(j)].value = p.root(i)
			if covered = w.region.contains(&r.region); covered {
				break
			}
			if work += w.region.runs() + r.region.runs(); work > maxCompactWork {
				return false
			}
			seen.add(&w.region)
			_, gap := seen.gap(&r.region)
			covered = !gap
		}
		if !covered || work > maxCompactWork {
			return false
		}
	}
	return true
}

// contains reports whether a region has all bytes of another, as far as the strides
// show: each loop of the other walks along one of its own.
func (r *region) contains(o *region) bool {
	if len(r.blocks) != 1 || len(o.blocks) != 1 {
		return false
	}
	whole, part := &r.blocks[0], &o.blocks[0]
	off, next := part.offset-whole.offset, 0
	if off < 0 {
		return false
	}
	for _, l := range whole.loops { // the largest stride first
		at, count := off/l.stride, 1
		off -= at * l.stride
		if next < len(part.loops) && part.loops[next].stride%l.stride == 0 {
			count = (part.loops[next].count-1)*(part.loops[next].stride/l.stride) + 1
			next++
		}
		if at+count > l.count {
			return false
		}
	}
	reach := part.run
	for _, l := range part.loops[next:] { // inside of a run
		reach += (l.count - 1) * l.stride
	}
	return off+reach <= whole.run
}

// An ownValue is touches that keep their places to each other.
type ownValue struct {
	touches     []int
	first, last int // steps
	base        int64
	at          int64   // where it is put
	size        int64   // without gaps
	digits      []digit // the largest stride first
}

// values lists the values of which everything is known.
func (p *Program) values() []*ownValue {
	byRoot := make(map[int]*ownValue)
	var list []*ownValue
	for i := range p.own {
		t := &p.own[i]
		v := byRoot[p.root(i)]
		if v == nil {
			v = &ownValue{first: t.step, base: t.lo}
			byRoot[p.root(i)] = v
			list = append(list, v)
		}
		v.touches, v.last, v.base = append(v.touches, i), t.step, min(v.base, t.lo)
	}
	return slices.DeleteFunc(list, func(v *ownValue) bool {
		return slices.ContainsFunc(v.touches, func(i int) bool { return !p.own[i].moves() })
	})
}

// moves reports whether a touch is such that it can be moved.
func (t *touch) moves() bool {
	if t.weights != nil {
		return t.weights.Stride > 0
	}
	o := t.operand
	if o == nil || o.Interleave > 1 || o.Type.SubByte() {
		return false
	}
	for a, n := range o.Dims {
		if n > 1 && o.Strides[a] < 0 {
			return false
		}
	}
	return true
}

// A lie is elements: where they begin, and how they lie.
type lie struct {
	offset, size int64
	loops        []wideLoop
}

type wideLoop struct{ count, stride int64 }

// lies is how what is touched lies, from the base of the value on.
func (t *touch) lies(base int64) []lie {
	if w := t.weights; w != nil {
		list := make([]lie, len(w.First))
		var loops []wideLoop
		if t.count > 1 {
			loops = []wideLoop{{int64(t.count), int64(w.Stride)}}
		}
		for i, first := range w.First {
			list[i] = lie{int64(first) - base, 2, loops}
		}
		return list
	}
	l := lie{offset: t.operand.Offset - base, size: int64(t.operand.Type.Size())}
	for a, n := range t.operand.Dims {
		if n > 1 && t.operand.Strides[a] != 0 {
			l.loops = append(l.loops, wideLoop{int64(n), t.operand.Strides[a]})
		}
	}
	return []lie{l}
}

// A digit is one of the numbers that say where an element of a value lies: from one to
// the next it is a stride.
//
//	rows of 14, 64 bytes apart, of 8 planes, 512 bytes apart (that is, on chip, row by row)
//
//	place = h·512 + c·64 + w·2      digits, from the largest stride on: h, c, w
//	now   = c·112 + h·28 + w·2      without gaps, and planes whole
type digit struct {
	stride int64
	most   int64 // the largest that it is
	rank   int   // of those that are not rows, the least comes first
	now    int64 // the stride without gaps
}

// shrink finds the digits of a value and how it can do without gaps, and reports whether
// it can, and then lies otherwise than before.
func (v *ownValue) shrink(own []touch) bool {
	var all []lie
	for _, i := range v.touches {
		all = append(all, own[i].lies(v.base)...)
	}
	v.findDigits(all)
	for i := range v.digits {
		v.digits[i].most = 0
	}
	for i := range all { // from offset and loops
		l := &all[i]
		at, most := l.offset, make([]int64, len(v.digits))
		for j := range v.digits {
			most[j] = at / v.digits[j].stride
			at %= v.digits[j].stride
		}
		for _, w := range l.loops {
			j := v.digitOf(w.stride)
			most[j] += (w.count - 1) * (w.stride / v.digits[j].stride)
		}
		for j, m := range most {
			v.digits[j].most = max(v.digits[j].most, m)
		}
		v.size = max(v.size, at+l.size)
	}
	reach := v.size // of the digits that are smaller
	for j := len(v.digits) - 1; j >= 0; j-- {
		d := &v.digits[j]
		if reach > d.stride {
			return false // a place would have two ways to be said
		}
		reach += d.most * d.stride
	}
	v.rank(own)
	order := make([]*digit, len(v.digits))
	for j := range v.digits {
		order[j] = &v.digits[j]
	}
	slices.SortStableFunc(order, func(a, b *digit) int { return cmp.Compare(a.rank, b.rank) })
	changed := false
	for _, d := range order {
		d.now = v.size
		v.size *= d.most + 1
		changed = changed || d.now != d.stride
	}
	return changed
}

// findDigits lists the strides, from the largest on. One that is a multiple of a smaller
// one, and not beyond what that reaches, is as many steps of the same digit.
func (v *ownValue) findDigits(all []lie) {
	reach := make(map[int64]int64)
	for i := range all {
		for _, w := range all[i].loops {
			reach[w.stride] = max(reach[w.stride], (w.count-1)*w.stride)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(reach)) {
		multiple := slices.IndexFunc(v.digits, func(d digit) bool { return s%d.stride == 0 && s <= d.most })
		if multiple < 0 {
			v.digits = slices.Insert(v.digits, 0, digit{stride: s, most: reach[s]})
		}
	}
}

// digitOf is the digit that a stride is steps of.
func (v *ownValue) digitOf(stride int64) int {
	of := -1
	for j, d := range v.digits {
		if d.stride == stride {
			return j
		}
		if stride%d.stride == 0 && d.stride < stride {
			of = j
			break
		}
	}
	return of
}

// rank orders the digits: elements that lie side by side stay so; then come the axes of
// what is written first, in the order of dense arrays, and others after them.
func (v *ownValue) rank(own []touch) {
	axes := [...]td.Axis{td.AxisW, td.AxisH, td.AxisD, td.AxisC, td.AxisN}
	for j := range v.digits {
		v.digits[j].rank = len(axes) + len(v.digits) - j
	}
	if o := own[v.touches[0]].operand; o != nil {
		for i, a := range axes {
			if o.Dims[a] > 1 && o.Strides[a] != 0 {
				d := &v.digits[v.digitOf(o.Strides[a])]
				d.rank = min(d.rank, 1+i)
			}
		}
	}
	if last := len(v.digits) - 1; last >= 0 && v.digits[last].stride == v.size {
		v.digits[last].rank = 0
	}
}

// move moves a touch to the place of its value.
func (v *ownValue) move(t *touch, memory int) {
	to := func(at int64) (now int64) {
		for _, d := range v.digits {
			now += at / d.stride * d.now
			at %= d.stride
		}
		return v.at + now + at
	}
	steps := func(stride int64) int64 {
		d := &v.digits[v.digitOf(stride)]
		return stride / d.stride * d.now
	}
	t.memory = memory
	if w := t.weights; w != nil {
		w.Memory = memory
		for i, first := range w.First {
			w.First[i] = int(to(int64(first) - v.base))
		}
		if t.count > 1 {
			w.Stride = int(steps(int64(w.Stride)))
		}
		return
	}
	o := t.operand
	o.Memory, o.Offset = memory, to(o.Offset-v.base)
	for a, n := range o.Dims {
		if n > 1 && o.Strides[a] != 0 {
			o.Strides[a] = steps(o.Strides[a])
		} else {
			o.Strides[a] = 0 // leads nowhere
		}
	}
}

// placeValues gives values their places, one over another that is not needed any more,
// and returns how much memory they take.
func placeValues(values []*ownValue) (size int) {
	const align = 64
	slices.SortStableFunc(values, func(a, b *ownValue) int { return cmp.Compare(a.first, b.first) })
	var there []*ownValue // by place
	for _, v := range values {
		there = slices.DeleteFunc(there, func(o *ownValue) bool { return o.last < v.first })
		at, i := int64(0), 0
		for ; i < len(there) && at+v.size > there[i].at; i++ {
			at = max(at, (there[i].at+there[i].size+align-1)/align*align)
		}
		v.at = at
		there = slices.Insert(there, i, v)
		size = max(size, int(at+v.size))
	}
	return size
}
