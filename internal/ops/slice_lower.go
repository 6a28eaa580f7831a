package ops

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// A section is the part of an axis that a slice takes: count elements from first on, step apart.
type section struct {
	axis               td.Axis
	first, count, step int
	// live says that first is the number at this place of begin, and not known before it runs.
	live   bool
	number int
}

// whole reports whether the section is all of an axis of length n.
func (s section) whole(n int) bool { return !s.live && s.count == n && s.step == 1 }

// view is the part of x that known sections take: free, for strides express it.
func (l *Lowering) view(x *anec.Value, sections ...section) *anec.Value {
	for _, s := range sections {
		if x == nil || s.whole(x.Type.Dims[s.axis]) {
			continue
		}
		x = l.Layer(l.Name(), &anec.InputView{Axis: s.axis, Offset: s.first, Size: s.count, Step: s.step}, x)
	}
	return x
}

// part is a run of neighbours of x along an axis.
func (l *Lowering) part(x *anec.Value, axis td.Axis, first, count int) *anec.Value {
	return l.view(x, section{axis: axis, first: first, count: count, step: 1})
}

// numbers are the elements at some places of a vector, in the order of the places.
func (l *Lowering) numbers(vector *anec.Value, places []int) *anec.Value {
	if vector == nil || len(places) == vector.Type.Dims[anec.W] {
		return vector
	}
	var parts []*anec.Value
	for from := 0; from < len(places); {
		to := from + 1
		for to < len(places) && places[to] == places[to-1]+1 {
			to++
		}
		parts = append(parts, l.part(vector, anec.W, places[from], to-from))
		from = to
	}
	return l.concat(anec.W, parts)
}

// liveSections are the axes whose place is only known when it runs, and the numbers of begin that say where
// they begin.
func (l *Lowering) liveSections(sections []section) (axes []td.Axis, start *anec.Value) {
	var places []int
	for _, s := range sections {
		if s.live {
			axes = append(axes, s.axis)
			places = append(places, s.number)
		}
	}
	if len(axes) == 0 {
		return nil, nil
	}
	return axes, l.numbers(l.In("begin"), places)
}

// slice is the part of x that sections take.
func (l *Lowering) slice(x *anec.Value, sections []section) error {
	var fixed []section
	var sizes []int
	for _, s := range sections {
		switch {
		case !s.live:
			fixed = append(fixed, s)
		case s.step != 1:
			return l.Refuse("begin is only known when it runs, and the stride on an axis is %d: such a slice takes neighbours alone", s.step)
		default:
			sizes = append(sizes, s.count)
		}
	}
	x = l.view(x, fixed...)
	if axes, start := l.liveSections(sections); axes != nil {
		x = l.Layer(l.Name(), &anec.DynamicSlice{
			Axes: axes, Sizes: sizes, Coordinate: td.CoordNonNormalized, Padding: td.PadZero, FromEnd: true,
		}, x, start)
	}
	l.Give(0, l.Reshape(x, l.OutDims(0)))
	return nil
}

// sectionsOf are the sections of x that a Python slice takes, when the slice is known to have a shape: that of
// the result, or of an update, without the squeezed axes.
func (l *Lowering) sectionsOf(s *slicing, shape []int) ([]section, error) {
	lengths, _ := l.Shape("x").Ints()
	out := make([]section, len(lengths))
	for i, n := range lengths {
		st := section{axis: l.Axis5("x", i), number: i, count: 1, step: 1}
		if !s.squeezed[i] {
			st.count, st.step = shape[0], s.stride[i]
			shape = shape[1:]
		}
		var err error
		if st.first, st.live, err = s.beginning(i, n, st); err != nil {
			return nil, err
		}
		out[i] = st
	}
	return out, nil
}

// beginning is where the slice begins on an axis of length n; live if only begin says so, when it runs. A slice that
// has the whole axis can begin at one place alone, whatever begin is.
func (s *slicing) beginning(axis, n int, st section) (first int, live bool, err error) {
	lo, hi := 0, n
	if st.step < 0 {
		lo, hi = -1, n-1
	}
	switch {
	case s.beginMask[axis] && st.step < 0 && !s.squeezed[axis]:
		return n - 1, false, nil
	case s.beginMask[axis], s.begin == nil && st.step == 1 && st.count == n:
		return 0, false, nil
	case s.begin == nil:
		return 0, true, nil
	case s.squeezed[axis]:
		first, _, _, err = s.index(axis, n)
		return first, false, err
	}
	return clampIndex(s.begin[axis], n, lo, hi), false, nil
}

func lowerSliceByIndex(l *Lowering) error {
	s, err := slicingOf(l.Call)
	if err != nil {
		return err
	}
	sections, err := l.sectionsOf(s, l.OutShape(0))
	if err != nil {
		return err
	}
	return l.slice(l.In("x"), sections)
}

func lowerSliceBySize(l *Lowering) error {
	lengths, _ := l.Shape("x").Ints()
	begin, err := l.axisValues("begin", len(lengths))
	if err != nil {
		return err
	}
	sections := make([]section, len(lengths))
	for i, n := range lengths {
		s := section{axis: l.Axis5("x", i), number: i, count: l.OutShape(0)[i], step: 1}
		switch {
		case begin != nil && begin[i] < 0:
			s.first = n + begin[i]
		case begin != nil:
			s.first = begin[i]
		default:
			s.live = s.count != n
		}
		sections[i] = s
	}
	return l.slice(l.In("x"), sections)
}

// lowerSliceUpdate writes the update where the slice is. One writer does, in place if x is a state, unless the
// elements of the slice lie apart:
//
//	x[1:3, ::2] = u      v = x[1:3]                           a view
//	                     w = v with u at each second column   see spread
//	                     y = x with w from row 1 on           the writer
func lowerSliceUpdate(l *Lowering) error {
	s, err := slicingOf(l.Call)
	if err != nil {
		return err
	}
	updated, _ := l.Shape("update").Ints()
	sections, err := l.sectionsOf(s, updated)
	if err != nil {
		return err
	}
	x, update := l.In("x"), l.In("update")
	if l.Err() != nil {
		return nil
	}
	dims := x.Type.Dims
	var near, apart []section
	for _, s := range sections {
		dims[s.axis] = s.count
		switch {
		case s.step == 1:
			near = append(near, s)
		case s.live:
			return l.Refuse("begin is only known when it runs, and the stride on an axis is %d: only neighbours can be written then", s.step)
		default:
			apart = append(apart, s)
		}
	}
	update = l.Reshape(update, dims)
	if len(apart) > 0 {
		if slices.ContainsFunc(near, func(s section) bool { return s.live }) {
			return l.Refuse("begin is only known when it runs, and there are strides: only neighbours can be written then")
		}
		update = l.writeApart(l.view(x, near...), update, apart)
	}
	axes, start := l.liveSections(near)
	l.Give(0, l.write(x, update, near, axes, start))
	return nil
}

// write puts an update into x at sections of neighbours; those whose place is not known begin at the numbers of
// start.
func (l *Lowering) write(x, update *anec.Value, near []section, live []td.Axis, start *anec.Value) *anec.Value {
	if x == nil || update == nil || len(live) == 0 && x.Type.Same(update.Type) {
		return update
	}
	var offset anec.Dims
	for _, s := range near {
		offset[s.axis] = s.first
	}
	bottoms := []*anec.Value{x, update}
	if start != nil {
		bottoms = append(bottoms, start)
	}
	return l.Layer(l.Name(), &anec.RingBufferWriter{Offset: offset, Live: live}, bottoms...)
}

// writeApart puts an update into x where elements lie apart on some axes: it takes the elements of the first axis
// from x, has the rest written into them, and puts them back.
func (l *Lowering) writeApart(x, update *anec.Value, apart []section) *anec.Value {
	if len(apart) == 0 || x == nil {
		return update
	}
	s := apart[0]
	update = l.writeApart(l.view(x, s), update, apart[1:])
	at := make([]int, s.count)
	for i := range at {
		at[i] = s.first + i*s.step
	}
	return l.spread(x, update, s.axis, at)
}

// spread puts the slices of an update at places of x along an axis; of several at the same place the last one
// stays. The result takes each slice from one of both, side by side:
//
//	x = a b c d e, update = p q at 1 and 3       a b c d e p q  at  0 5 2 6 4  is  a p c q e
func (l *Lowering) spread(x, update *anec.Value, axis td.Axis, at []int) *anec.Value {
	if x == nil || update == nil {
		return nil
	}
	n := x.Type.Dims[axis]
	from := l.counting(n)
	if from == nil {
		return nil
	}
	for i, to := range at {
		from[to] = int32(n + i)
	}
	both := l.concat(axis, []*anec.Value{x, update})
	return l.gather(both, l.integers(along(axis, n), from), axis)
}
