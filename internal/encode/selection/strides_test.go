package selection

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

var h13Machine = func() units.Machine {
	target, err := hal.Lookup("h13")
	if err != nil {
		panic(err)
	}
	return units.Machine{Sizes: target.Sizes}
}()

// Moves between tensors that lie in any order, in rows of whole 64 bytes or without room between them, of which the source
// may be a part: every element arrives, and nothing else changes.
func TestMovesBetweenAnyStrides(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 5))
		m, memories := randomMove(r)
		want := slices.Clone(memories[hwx.BasePorts+1])
		m.elements(func(from, to int) { copy(want[to:to+2], memories[hwx.BasePorts][from:]) })
		b := &builder{Machine: h13Machine, Choice: &segment.Choice{}}
		ops, why := b.moves(m)
		if why != nil {
			t.Fatalf("seed %d: %+v: %v", seed, m, why)
		}
		memories[segment.Temporaries] = make([]byte, b.scratch)
		for _, o := range ops {
			carryOut(o, memories)
		}
		if got := memories[hwx.BasePorts+1]; !slices.Equal(got, want) {
			t.Fatalf("seed %d: %+v: %d tasks move something else", seed, m, len(ops))
		}
	}
}

// randomMove makes up a move from port 0 to port 1, and their memories.
func randomMove(r *rand.Rand) (move, map[int][]byte) {
	var d anec.Dims
	for a := range d {
		d[a] = 1 + r.IntN(6)*r.IntN(2)
	}
	if r.IntN(3) == 0 {
		d[anec.W] += r.IntN(40)
	}
	// lay gives extents strides in a random order; the innermost is a column, and its rows may have room behind them.
	lay := func(d anec.Dims) (strides [anec.NumAxes]int, bytes int) {
		order := r.Perm(anec.NumAxes)
		inRows := r.IntN(3) > 0
		bytes = 2
		for i, a := range order {
			strides[a] = bytes
			if bytes *= d[a]; i == 0 && inRows {
				bytes = units.Align(bytes, h13Machine.RowAlign)
			}
		}
		return strides, bytes
	}
	whole, begin := d, anec.Dims{}
	if r.IntN(2) == 0 { // a part of it
		a := r.IntN(anec.NumAxes)
		begin[a] = r.IntN(5)
		whole[a] += begin[a] + r.IntN(3)
	}
	from, size := lay(whole)
	source := make([]byte, size+h13Machine.RowAlign)
	for i := 0; i < len(source); i += 2 {
		binary.LittleEndian.PutUint16(source[i:], uint16(1+i/2))
	}
	to, size := lay(d)
	result := make([]byte, size+h13Machine.RowAlign)
	for i := range result {
		result[i] = 0xff
	}
	m := move{Machine: h13Machine, from: origin{base: hwx.BasePorts}, to: origin{base: hwx.BasePorts + 1}, before: true}
	for a, n := range d {
		m.from.offset += begin[a] * from[a]
		m.axes = append(m.axes, axis{td.Axis(a), n, from[a], to[a]})
	}
	if a := &m.axes[r.IntN(anec.NumAxes)]; r.IntN(4) == 0 { // from the last to the first
		m.from.offset += (a.n - 1) * a.from
		a.from = -a.from
	}
	if r.IntN(4) == 0 { // repeated
		a := &m.axes[r.IntN(anec.NumAxes)]
		a.from = 0
	}
	return m, map[int][]byte{hwx.BasePorts: source, hwx.BasePorts + 1: result}
}

// elements goes through all elements: the bytes at which each lies on both sides.
func (m *move) elements(f func(from, to int)) {
	var visit func(axes []axis, from, to int)
	visit = func(axes []axis, from, to int) {
		if len(axes) == 0 {
			f(from, to)
			return
		}
		for i := range axes[0].n {
			visit(axes[1:], from+i*axes[0].from, to+i*axes[0].to)
		}
	}
	visit(m.axes, m.from.offset, m.to.offset)
}

// carryOut does what a task that moves does (h13 3.1).
func carryOut(o *units.Op, memories map[int][]byte) {
	at := func(s *units.Surface, g, c, h, w int) []byte {
		lanes := max(s.Interleave, 1)
		return memories[s.Base][s.Offset+g*s.Group+c/lanes*s.Plane+h*s.Row+(w*lanes+c%lanes)*2:]
	}
	kept := func(bit uint32, i int) int {
		if o.Broadcast1&bit != 0 {
			return 0
		}
		return i
	}
	for g := range o.Groups {
		for c := range o.In.C {
			for h := range o.In.H {
				for w := range o.In.W {
					x := at(o.Source1.Memory, g, kept(units.BroadcastC, c), kept(units.BroadcastH, h), kept(units.BroadcastW, w))
					c, w := c, w
					if o.Exchange {
						c, w = w, c
					}
					copy(at(o.Result, g, c, h, w)[:2], x)
				}
			}
		}
	}
}
