package compiler

import (
	"cmp"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
)

// Tasks are selected when everything that a layer reads and writes has strides, and before anything has an address. The
// encoders of the target are asked in their order; the first that takes the layer has it. What an encoder wants to lie
// otherwise is copied first:
//
//	%v = anec.input_view(%a) {axis = W, offset = 3}            %v          strides 128 2 from byte 6
//	%y = anec.add(%v, %b)       →     %v_copy     strides  64 2; ElementWise(%v_copy, %b)

// choice is that of some layers; copies says whether what they read may be copied.
func (p *planner) choice(layers []*anec.Layer, copies bool) *segment.Choice {
	c := &segment.Choice{Segment: p.Segment, Layers: layers, Spots: p.spots, IsView: p.isView, Copies: map[*anec.Value]segment.Spot{}}
	if copies {
		c.NewCopy = p.newCopy
	}
	return c
}

// newCopy is where a copy of a value lies, or will.
func (p *planner) newCopy(v *anec.Value) (segment.Spot, bool) {
	if c := p.straight[v]; c != nil {
		return p.spots[c.Top()], true
	}
	at := segment.Spot{Buffer: p.Segment.NewBuffer(segment.InScratch)}
	at.Strides, at.Buffer.Size = p.native.Layout(v.Type)
	return at, true
}

// selectTasks selects the tasks of a layer, whose tops have spots. It returns the copies that stand before it.
func (p *planner) selectTasks(l *anec.Layer) (added []*anec.Layer, err error) {
	made := p.takePending()
	defer func() { p.buffers = append(p.buffers, made...) }()
	switch {
	case !p.Target.HasNativeEncoding():
	case p.derived[l]:
		p.Declined[l] = diag.Decline(diag.NativeOperand, "all that it reads is constant: it runs once, when the program is loaded")
	default:
		c := p.choice(append(p.viewMembers(l), l), !p.kept[l])
		packed := p.Packed.Mark()
		tasks, declined := p.native.Choose(c)
		if declined == nil {
			if declined = p.native.Fits(c, tasks); declined != nil {
				p.Packed.Reset(packed)
			}
			// The copies are made even where words cannot say the tasks: they lie in rows, later layers may read them, and
			// the containers that are held by their digest have them (gru_bi_ios18).
			if added, err = p.copyFor(c); err != nil {
				return nil, err
			}
		}
		if declined == nil {
			p.take(c, tasks)
			p.cover(c)
			return added, nil
		}
		p.Declined[l] = declined
	}
	c := p.choice([]*anec.Layer{l}, false)
	tasks, err := p.fallback.Choose(c)
	if err != nil {
		p.refused = append(p.refused, err)
	}
	p.take(c, tasks)
	return added, nil
}

// copyFor makes the copies that a choice asked for.
func (p *planner) copyFor(c *segment.Choice) (added []*anec.Layer, err error) {
	type wish struct {
		value *anec.Value
		at    segment.Spot
		read  int // its number among what is read
	}
	var wishes []wish
	for v, at := range c.Copies {
		for i, read := range readsOf(c.Layers) {
			if read == v {
				wishes = append(wishes, wish{v, at, i})
				break
			}
		}
	}
	slices.SortFunc(wishes, func(a, b wish) int { return cmp.Compare(a.read, b.read) })
	for _, w := range wishes {
		copied := p.straight[w.value]
		if copied == nil {
			if copied, err = p.addCopy(w.value); err != nil {
				return nil, err
			}
			p.demands[copied.Top()] = w.at
			p.buffers = append(p.buffers, w.at.Buffer)
			if _, err = p.layOut(copied); err != nil {
				return nil, err
			}
			p.straight[w.value] = copied
			added = append(added, copied)
		}
		for i, v := range c.Touched {
			if v == w.value {
				c.Touched[i] = copied.Top()
			}
		}
		for _, l := range c.Layers {
			p.Graph.ReplaceRead(l, w.value, copied.Top())
			if p.isView(l) && l.Bottoms[0] == copied.Top() {
				if y, ok := segment.ViewOf(l, w.at); ok {
					p.spots[l.Top()] = y
				}
			}
		}
	}
	return added, nil
}

// take keeps the tasks of a choice. They stand under the first layer that is no view.
func (p *planner) take(c *segment.Choice, tasks []segment.Task) {
	first := c.Layers[slices.IndexFunc(c.Layers, func(l *anec.Layer) bool { return !p.isView(l) })]
	for _, l := range c.Layers {
		p.StandsFor[l] = first
	}
	p.Selected[first] = tasks
	p.Touched[first] = c.Touched
	p.Temporaries = max(p.Temporaries, c.Bytes)
}

// readsOf are the values that layers read, in their order.
func readsOf(layers []*anec.Layer) (list []*anec.Value) {
	for _, l := range layers {
		list = append(list, l.Reads()...)
	}
	return list
}

// takePending are the buffers that were made since, and stand in no order yet.
func (p *planner) takePending() []*segment.Buffer {
	pending := p.pending
	p.pending = nil
	return pending
}

// layOutGroup lays out the layers from i on that the native encoder takes as one, with the views among them, and returns how
// many they are; 0 if there are none. They have to stand side by side, because what they read is no longer there later, and
// nothing may have to be copied for them.
func (p *planner) layOutGroup(all []*anec.Layer, i int) (n int, err error) {
	root := p.roots[all[i]]
	if root == nil || p.isView(all[i]) || p.derived[all[i]] {
		return 0, nil
	}
	for all[i+n] != root {
		if l := all[i+n]; p.roots[l] != root && !p.isView(l) {
			return 0, nil
		}
		if n++; i+n == len(all) {
			return 0, nil
		}
	}
	run := all[i : i+n+1]
	forget := func() (int, error) {
		for _, l := range run {
			for _, v := range l.Tops {
				delete(p.spots, v)
			}
		}
		p.takePending()
		return 0, nil
	}
	var tasks []*anec.Layer
	for _, l := range run {
		if err := p.placeConstants(l); err != nil {
			return 0, err
		}
		if p.wantsCopy(l) {
			return forget()
		}
		if p.isView(l) {
			y, ok := segment.ViewOf(l, p.spots[l.Bottoms[0]])
			if !ok {
				return forget()
			}
			p.spots[l.Top()] = y
			continue
		}
		if err := p.write(l); err != nil {
			return 0, err
		}
		tasks = append(tasks, l)
	}
	c := p.choice(append(slices.Clone(p.members[root]), root), false)
	packed := p.Packed.Mark()
	selected, declined := p.native.Choose(c)
	if declined != nil || p.native.Fits(c, selected) != nil {
		p.Packed.Reset(packed)
		return forget()
	}
	p.take(c, selected)
	p.cover(c)
	p.buffers = append(p.buffers, p.takePending()...)
	p.tasks = append(p.tasks, tasks...)
	return len(run), nil
}

// wantsCopy reports whether the native encoder would have something copied that a layer reads.
func (p *planner) wantsCopy(l *anec.Layer) bool {
	return !p.isView(l) && p.native.Takes(p.Segment, l) == nil && slices.ContainsFunc(l.Reads(), func(v *anec.Value) bool {
		at, ok := p.spots[v]
		return ok && v.Const == nil && !p.derived[v.Def] && !p.native.Names(at, v.Type)
	})
}

// viewMembers are the views that are taken as one with a layer. Where others would be, which are laid out by now, there are
// none.
func (p *planner) viewMembers(root *anec.Layer) []*anec.Layer {
	list := slices.Clone(p.members[root])
	if slices.ContainsFunc(list, func(l *anec.Layer) bool { return !p.isView(l) }) {
		return nil
	}
	return list
}

// cover notes that layers have native tasks.
func (p *planner) cover(c *segment.Choice) {
	for _, l := range c.Layers {
		p.covered[l] = true
	}
	for _, v := range c.Touched {
		p.touched[v] = true
	}
}

// findMembers lists the layers that are taken as one with another under that one, in the order of the graph.
func (p *planner) findMembers() {
	p.members = map[*anec.Layer][]*anec.Layer{}
	for _, l := range p.Order {
		if root := p.roots[l]; root != nil {
			p.members[root] = append(p.members[root], l)
		}
	}
}

// dropUnread takes out what is made of constants when the program is loaded, and then read by nobody: native tasks
// have their weights packed.
func (p *planner) dropUnread() {
	if !p.Target.HasNativeEncoding() {
		return
	}
	task := map[*anec.Layer]bool{}
	for _, l := range p.tasks {
		task[l] = true
	}
	needed := map[*anec.Layer]bool{}
	read := func(v *anec.Value) {
		for work := []*anec.Value{v}; len(work) > 0; {
			l := work[len(work)-1].Def
			work = work[:len(work)-1]
			if l == nil || needed[l] {
				continue
			}
			needed[l] = true
			if !task[l] {
				work = append(work, l.Bottoms...) // a view, or a concatenation
			}
		}
	}
	for v := range p.touched {
		read(v)
	}
	for _, l := range slices.Backward(p.tasks) {
		switch {
		case p.covered[l]:
		case p.spots[l.Top()].Buffer.Region == segment.InDerived && !needed[l]:
			p.Selected[l] = nil
		default:
			for _, v := range l.Reads() {
				read(v)
			}
		}
	}
}
