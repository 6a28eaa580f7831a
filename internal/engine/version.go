package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/internal/strided"
)

// A Version is the constants of a program, with all that is made of them for the kernels. A program is loaded with one, and
// Patch makes others, which share what they do not change:
//
//	constants     a   w   b          w'             w is mutable: it has a memory of its own
//	packed        A   W   B          W'
//	              │   │   │          │
//	base      ────┴───┴───┘          │              A and B are there once
//	patched   ────┴───────┴──────────┘
//
// A context runs with the version that Use gave it last. Versions do not change, so that any number of them may be run at the
// same time. What only one of them has is given back when everybody has released it.
type Version struct {
	program *Program
	islands [][]byte           // the content of mutable stretches
	packed  strided.Packed     //
	rooms   []*packRoom        // by operand of packed
	weights []*strided.Weights // of the units, by number; nil in the base: as they were bound
	made    int64              // bytes that were packed for it
	users   atomic.Int32
}

// An island is a stretch of constants that may change, a memory by itself.
type island struct {
	section int // the memory that it is a part of
	lo, hi  int // there
	memory  int // its own
}

// A Stretch is bytes of a section of the container, "__TEXT,__const", from Lo up to but not including Hi.
type Stretch struct {
	Section string
	Lo, Hi  int64
}

// islandAlign is what stretches are widened to: constants begin on multiples of it, so that what a task reads of one beside
// the elements that change is in the stretch.
const islandAlign = 64

// addIslands gives stretches of constants a memory of their own each.
func (p *Program) addIslands(stretches []Stretch) error {
	var list []island
	for _, s := range stretches {
		i := slices.IndexFunc(p.memories, func(m memory) bool { return m.kind == constant && !m.external && m.name == s.Section })
		if i < 0 || s.Lo < 0 || s.Lo >= s.Hi || s.Hi > int64(p.memories[i].size) {
			return programError("there are no constants that may change at %#x to %#x of %s", s.Lo, s.Hi, s.Section)
		}
		lo, hi := int(s.Lo)&^(islandAlign-1), (int(s.Hi)+islandAlign-1)&^(islandAlign-1)
		list = append(list, island{section: i, lo: lo, hi: min(hi, p.memories[i].size)})
	}
	slices.SortFunc(list, func(a, b island) int {
		return cmp.Or(cmp.Compare(a.section, b.section), cmp.Compare(a.lo, b.lo))
	})
	for _, s := range list {
		if n := len(p.islands); n > 0 && p.islands[n-1].section == s.section && s.lo < p.islands[n-1].hi {
			p.islands[n-1].hi = max(p.islands[n-1].hi, s.hi)
			continue
		}
		p.islands = append(p.islands, s)
	}
	for i := range p.islands {
		s := &p.islands[i]
		s.memory = len(p.memories)
		of := &p.memories[s.section]
		// Its addresses are those of the section, which stands before it and so is found in its stead.
		p.memories = append(p.memories, memory{
			kind: constant, name: of.name, addr: of.addr + uint64(s.lo), size: s.hi - s.lo, data: of.data[s.lo:s.hi], island: true,
		})
	}
	return nil
}

// toIsland moves an operand that lies in an island to the memory that this is. An island that it sticks out of is too small: then
// all is loaded anew, with larger ones.
func (p *Program) toIsland(pl *place) {
	if len(p.islands) == 0 || pl.region.empty() {
		return
	}
	lo, hi := pl.region.hull()
	for i := range p.islands {
		s := &p.islands[i]
		if s.section != pl.Memory || int(hi) <= s.lo || int(lo) >= s.hi {
			continue
		}
		if int(lo) < s.lo || int(hi) > s.hi {
			p.stickOut = append(p.stickOut, Stretch{p.memories[s.section].name, lo, hi})
			continue
		}
		pl.Memory, pl.Offset = s.memory, pl.Offset-int64(s.lo)
		pl.region = operandRegion(&pl.Operand)
		return
	}
}

// Base is the version that the program was loaded with. The caller of Load has it: who releases it says that no context runs
// with it any more.
func (p *Program) Base() *Version { return p.base }

// IsMutable reports whether constants may change.
func (p *Program) IsMutable() bool { return len(p.islands) > 0 }

// Use has the context run with a version of its program, from the next dispatch on. The caller sees to it that nobody releases
// the version before that is done.
func (c *Context) Use(v *Version) { c.version = v }

// Retain adds a user, who is to call Release.
func (v *Version) Retain() { v.users.Add(1) }

// Release takes a user away. With the last one, the memory is given back that no other version shares.
func (v *Version) Release() {
	switch n := v.users.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("bug: a version is released more often than it was retained")
	}
	for _, r := range v.rooms {
		r.release()
	}
}

// Packed is how many bytes were packed to make the version.
func (v *Version) Packed() int64 { return v.made }

// A packRoom is the memory of an operand that is packed.
type packRoom struct {
	pages *osfile.Pages
	size  int
	from  int  // in the pages
	all   bool // nothing else is in the pages
	users atomic.Int32
}

func (r *packRoom) release() {
	if r.users.Add(-1) > 0 {
		return
	}
	if r.all {
		r.pages.Close()
	} else {
		r.pages.Empty(r.from, r.from+r.size)
	}
}

// newBase makes the version of the program's own constants, once they are packed.
func (p *Program) newBase() {
	v := p.base // contexts may have it
	if v == nil {
		v = &Version{program: p}
		v.users.Store(1)
		p.base = v
	}
	v.packed, v.made = p.packed, int64(p.packs.Room())
	v.islands, v.rooms = nil, nil
	if len(p.islands) == 0 {
		return // nobody can make another one
	}
	for _, s := range p.islands {
		v.islands = append(v.islands, p.memories[s.memory].data)
	}
	from := 0
	for i := range p.packed {
		r := &packRoom{pages: p.room, from: from, size: p.packs.RoomOf(i)}
		r.users.Store(1)
		from += r.size
		v.rooms = append(v.rooms, r)
	}
}

// An Edit gives elements of constants other values. Where they lie is a nest of loops, from the outermost on: the element
// From + Σ iᵢ·loopᵢ.Elements goes to the byte At + Σ iᵢ·loopᵢ.Bytes of the section.
type Edit struct {
	Section  string
	At       int64
	From     int64
	Loops    []Loop
	Width    int    // bytes of an element
	Elements []byte // one behind the other
}

// A Loop is a loop over elements.
type Loop struct {
	Count           int
	Bytes, Elements int64
}

// Patch makes a version of another one. What depends on the constants that change is packed anew, and nothing else is. The caller
// has the new version, until Release.
func (p *Program) Patch(ctx context.Context, of *Version, edits []Edit) (*Version, error) {
	if of.program != p {
		return nil, fmt.Errorf("engine: the version belongs to another program")
	}
	v := &Version{
		program: p, islands: slices.Clone(of.islands), packed: slices.Clone(of.packed), rooms: slices.Clone(of.rooms), weights: of.weights,
	}
	changed := make([]bool, len(p.islands))
	for i := range edits {
		if err := p.edit(v, &edits[i], changed); err != nil {
			return nil, err
		}
	}
	if err := p.patchWeights(v, changed); err != nil {
		return nil, err
	}
	p.repack(ctx, v, of, changed)
	if err := ctx.Err(); err != nil {
		v.Release()
		return nil, err
	}
	return v, nil
}

// edit writes elements into a copy of the island that they lie in.
func (p *Program) edit(v *Version, e *Edit, changed []bool) error {
	lo, hi, first, last := e.At, e.At, e.From, e.From
	for _, l := range e.Loops {
		if l.Count < 1 {
			return fmt.Errorf("engine: an edit that repeats %d times", l.Count)
		}
		n := int64(l.Count - 1)
		lo, hi = lo+min(0, n*l.Bytes), hi+max(0, n*l.Bytes)
		first, last = first+min(0, n*l.Elements), last+max(0, n*l.Elements)
	}
	i := slices.IndexFunc(p.islands, func(s island) bool {
		return p.memories[s.section].name == e.Section && int64(s.lo) <= lo && hi+int64(e.Width) <= int64(s.hi)
	})
	if i < 0 || e.Width < 1 || first < 0 || last >= int64(len(e.Elements)/e.Width) {
		return fmt.Errorf("engine: an edit of bytes %#x to %#x of %s by elements %d to %d of %d: not constants that may change", lo, hi, e.Section, first, last, len(e.Elements)/max(e.Width, 1))
	}
	if !changed[i] {
		v.islands[i], changed[i] = bytes.Clone(v.islands[i]), true
	}
	e.scatter(v.islands[i], e.At-int64(p.islands[i].lo), e.From, e.Loops)
	return nil
}

func (e *Edit) scatter(to []byte, at, from int64, loops []Loop) {
	width := int64(e.Width)
	switch {
	case len(loops) == 0:
		copy(to[at:at+width], e.Elements[from*width:])
	case len(loops) == 1 && loops[0].Bytes == width && loops[0].Elements == 1: // side by side
		n := int64(loops[0].Count) * width
		copy(to[at:at+n], e.Elements[from*width:])
	default:
		for range loops[0].Count {
			e.scatter(to, at, from, loops[1:])
			at += loops[0].Bytes
			from += loops[0].Elements
		}
	}
}

// patchWeights reads the weights of the units again whose streams have changed.
func (p *Program) patchWeights(v *Version, changed []bool) error {
	own := false
	for n := range p.bound {
		key := &p.bound[n].key
		if !p.touchesIslands(key, changed) {
			continue
		}
		streams := make([][]byte, key.kernel.Engines)
		for e := range streams {
			streams[e] = p.contentOf(v, key.memory, key.offsets[e], key.sizes[e])
		}
		w, _, err := p.unpackStreams(key, streams)
		if err != nil {
			return programError("the weights do not go into their streams: %v", err)
		}
		if !own {
			own = true
			if v.weights == nil {
				for i := range p.bound {
					v.weights = append(v.weights, p.bound[i].weights)
				}
			} else {
				v.weights = slices.Clone(v.weights)
			}
		}
		w.Number = n
		v.weights[n] = w
	}
	return nil
}

func (p *Program) touchesIslands(key *weightKey, changed []bool) bool {
	for i := range p.islands {
		s := &p.islands[i]
		if !changed[i] || s.section != key.memory {
			continue
		}
		for e := range key.kernel.Engines {
			if key.offsets[e] < s.hi && s.lo < key.offsets[e]+key.sizes[e] {
				return true
			}
		}
	}
	return false
}

// contentOf is bytes of a section with what a version has in islands there.
func (p *Program) contentOf(v *Version, section, from, n int) []byte {
	data := bytes.Clone(p.memories[section].data[from:][:n])
	for i := range p.islands {
		s := &p.islands[i]
		if s.section != section || s.hi <= from || from+n <= s.lo {
			continue
		}
		lo, hi := max(s.lo, from), min(s.hi, from+n)
		copy(data[lo-from:hi-from], v.islands[i][lo-s.lo:hi-s.lo])
	}
	return data
}

// repack packs the operands that read what has changed, unless the context ends before. A version that was not finished can be
// released.
func (p *Program) repack(ctx context.Context, v, of *Version, changed []bool) {
	isChanged := make([]bool, len(p.memories))
	for i, c := range changed {
		isChanged[p.islands[i].memory] = c
	}
	var again []int
	for i := range v.packed {
		memory, weights := p.packs.Source(i)
		if weights != nil {
			before := weights
			if of.weights != nil {
				before = of.weights[weights.Number]
			}
			if v.weights == nil || v.weights[weights.Number] == before {
				continue
			}
		} else if !isChanged[memory] {
			continue
		}
		again = append(again, i)
		size := p.packs.RoomOf(i)
		v.rooms[i] = &packRoom{pages: osfile.NewPages(size), size: size, all: true}
		p.packs.Place(v.packed, i, v.rooms[i].pages.Bytes())
		v.made += int64(size)
	}
	for _, r := range v.rooms {
		r.users.Add(1)
	}
	v.users.Store(1)
	memory := make([][]byte, len(p.memories))
	for i := range p.memories {
		memory[i] = p.memories[i].data
	}
	for i := range p.islands {
		memory[p.islands[i].memory] = v.islands[i]
	}
	pool.ForUpTo(p.threads, len(again), 1, func(lo, hi int) {
		for _, i := range again[lo:hi] {
			if ctx.Err() == nil {
				p.packs.Fill(v.packed, i, memory, v.weights)
			}
		}
	})
}
