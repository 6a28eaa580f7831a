package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// No layer writes elements to places that it is told when it runs, but for one window (RingBufferWriter). What
// there is instead, whatever the mode:
//
//	known places     the updated slices are computed, and each slice of the result taken from data or from them
//	a few live ones  one after the other: each is a place of an axis, chosen by comparing it with all of them
//
// Updates that go to the same place are applied in their order, as the evaluator does.

// scatterKinds are the modes as elementwise operations; update has none.
var scatterKinds = map[string]td.EWKind{
	"add": td.EWAdd, "sub": td.EWSub, "mul": td.EWMult, "div": td.EWDiv, "max": td.EWMax, "min": td.EWMin,
}

// maxWrites is how many updates are written one after the other, each with a pass over all of data.
const maxWrites = 8

// lowerScatter looks at data as [before, n, inner] and at updates as [before, m, inner].
func lowerScatter(l *Lowering) error {
	axis, err := l.Axis("axis", l.Rank("data"))
	if err != nil {
		return err
	}
	if err := l.checksNothing(); err != nil {
		return err
	}
	s, _ := l.Shape("data").Ints()
	m, _ := l.Shape("indices").Count()
	var at []int
	if l.Known("indices") {
		at = positions(l.Call, s[axis])
	}
	return l.scatter(lengthOf(s[:axis]), s[axis], m, lengthOf(s[axis+1:]), at, func() *anec.Value {
		return l.Reshape(l.In("indices"), along(anec.H, m))
	})
}

// lowerScatterND makes one index of each vector of indices, as lowerGatherND does.
func lowerScatterND(l *Lowering) error {
	if err := l.checksNothing(); err != nil {
		return err
	}
	s, _ := l.Shape("data").Ints()
	indices, _ := l.Shape("indices").Ints()
	depth := indices[len(indices)-1]
	m := lengthOf(indices[:len(indices)-1])
	var at []int
	if l.Known("indices") {
		at = vectorPositions(l.Call, s[:depth], m)
	}
	return l.scatter(1, lengthOf(s[:depth]), m, lengthOf(s[depth:]), at, func() *anec.Value {
		return l.position(l.Reshape(l.In("indices"), anec.Dims{1, 1, 1, m, depth}), s[:depth])
	})
}

// scatter combines m slices of updates with slices of data, of n, along the second of the axes before, n and
// inner: at known places, or at those that live indices give.
func (l *Lowering) scatter(before, n, m, inner int, at []int, indices func() *anec.Value) error {
	data := l.Reshape(l.In("data"), anec.Dims{1, 1, before, n, inner})
	updates := l.Reshape(l.In("updates"), anec.Dims{1, 1, before, m, inner})
	var y *anec.Value
	var err error
	if at != nil {
		y, err = l.scatterKnown(data, updates, at)
	} else {
		y, err = l.scatterLive(data, updates, indices(), anec.H)
	}
	if err != nil {
		return err
	}
	l.Give(0, l.Reshape(y, l.OutDims(0)))
	return nil
}

// scatterKnown combines slices along H at known places. Updates that go to the same place go in rounds.
func (l *Lowering) scatterKnown(data, updates *anec.Value, at []int) (*anec.Value, error) {
	kind, combines := scatterKinds[l.Str("mode")]
	rounds := roundsOf(at, combines)
	if len(rounds) > maxWrites {
		return nil, l.Refuse("%d updates go to the same place: at most %d are written one after the other", len(rounds), maxWrites)
	}
	for _, round := range rounds {
		to := make([]int, len(round))
		for i, update := range round {
			to[i] = at[update]
		}
		part := updates
		if len(round) < len(at) {
			part = l.take(updates, anec.H, round)
		}
		if combines {
			part = l.elementWise(kind, l.take(data, anec.H, to), part)
		}
		if step, ok := evenly(to); ok && step == 1 {
			data = l.write(data, part, []section{{axis: anec.H, first: to[0], count: len(to), step: 1}}, nil, nil)
		} else {
			data = l.spread(data, part, anec.H, to)
		}
	}
	return data, nil
}

// roundsOf puts updates into rounds. Where they are combined with what is there, no round has two that go to the same
// place, and those that do keep their order; else the last one stays, and one round will do. What goes nowhere
// has no round.
func roundsOf(at []int, combines bool) [][]int {
	var rounds [][]int
	before := map[int]int{} // updates of a place so far
	for update, place := range at {
		if place == nowhere {
			continue
		}
		round := before[place]
		if combines {
			before[place]++
		}
		if round == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[round] = append(rounds[round], update)
	}
	return rounds
}

// lowerScatterAlongAxis has an index for each element of updates.
func lowerScatterAlongAxis(l *Lowering) error {
	axis, err := l.Axis("axis", l.Rank("data"))
	if err != nil {
		return err
	}
	if err := l.checksNothing(); err != nil {
		return err
	}
	data, updates, indices, a := l.In("data"), l.In("updates"), l.In("indices"), l.Axis5("data", axis)
	if l.Err() != nil {
		return nil
	}
	var y *anec.Value
	if l.Known("indices") && updates.Type.Dims[a] > maxWrites {
		y, err = l.scatterKnownElements(data, updates, indices, axis)
	} else {
		y, err = l.scatterLive(data, updates, indices, a)
	}
	l.Give(0, y)
	return err
}

// scatterKnownElements combines elements at known places of an axis. Each element of the result is taken from data
// or from the updated elements, as in spread.
func (l *Lowering) scatterKnownElements(data, updates, indices *anec.Value, axis int) (*anec.Value, error) {
	s, _ := l.Shape("data").Ints()
	a, n, m, inner := l.Axis5("data", axis), s[axis], updates.Type.Dims[l.Axis5("data", axis)], lengthOf(s[axis+1:])
	from := l.counting(lengthOf(s))
	if from == nil {
		return nil, nil
	}
	for i := range from {
		from[i] = int32(i / inner % n)
	}
	kind, combines := scatterKinds[l.Str("mode")]
	for k, to := range positions(l.Call, n) {
		if to == nowhere {
			continue
		}
		i := (k/(m*inner)*n+to)*inner + k%inner
		if combines && from[i] >= int32(n) {
			return nil, l.Refuse("several updates go to the same place: no layer applies one after the other")
		}
		from[i] = int32(n + k/inner%m)
	}
	if combines {
		updates = l.elementWise(kind, l.gather(data, indices, a), updates)
	}
	return l.gather(l.concat(a, []*anec.Value{data, updates}), l.integers(data.Type.Dims, from), a), nil
}

// scatterLive combines updates with data along an axis, at indices that broadcast to the updates, one index of the
// axis after the other:
//
//	data a b c d, index 2      places 0 1 2 3 = 2     f f t f     select p or data     a b p d
//
// So an index that points nowhere writes nothing.
func (l *Lowering) scatterLive(data, updates, indices *anec.Value, axis td.Axis) (*anec.Value, error) {
	if l.Err() != nil {
		return nil, nil
	}
	n, m := data.Type.Dims[axis], updates.Type.Dims[axis]
	if m > maxWrites {
		return nil, l.Refuse("%d updates go to places that indices say when it runs: at most %d are written one after the other", m, maxWrites)
	}
	places := l.integers(along(axis, n), l.counting(n))
	indices = l.Cast(indices, tensor.Int32)
	if indexRuleOf(l.Call).fromEnd {
		below := l.elementWise(td.EWLessThan, indices, l.integer(0))
		indices = l.Layer(l.Name(), &anec.Select{}, below, l.elementWise(td.EWAdd, indices, l.integer(n)), indices)
	}
	for i := range m {
		one := section{axis: axis, first: i, count: 1, step: 1}
		here := l.elementWise(td.EWEqual, places, l.view(indices, one))
		update := l.view(updates, one)
		if kind, ok := scatterKinds[l.Str("mode")]; ok {
			update = l.elementWise(kind, data, update)
		}
		data = l.Layer(l.Name(), &anec.Select{}, here, update, data)
	}
	return data, nil
}
