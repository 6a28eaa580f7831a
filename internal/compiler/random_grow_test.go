package compiler_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A grower makes a random program. It evaluates each operation as it adds it: so that it knows what the type rules give, and
// adds nothing whose result is not a number, or hangs on the last bit of what it is computed from.
type grower struct {
	*program
	growth
	r      *rand.Rand
	next   ref
	follow int                    // of four operations, so many read what the one before gave
	live   []ref                  // values that operations may read
	exact  map[ref]bool           // values on which both sides must agree to the last bit
	now    map[ref]*tensor.Tensor // what states hold now
}

// A growth says what programs become: by default small, with few outputs that operations read too.
type growth struct {
	large bool // extents up to and around what cuts a chip's rows, channels and tiles
	every bool // any value that operations read may be an output, or all of them
}

func newGrower(seed uint64, target string, how growth) *grower {
	return &grower{
		program: &program{target: target, values: map[ref]*tensor.Tensor{}},
		growth:  how,
		r:       rand.New(rand.NewPCG(seed, 0)),
		exact:   map[ref]bool{}, now: map[ref]*tensor.Tensor{},
	}
}

// grow makes the program of a seed for a target.
func grow(seed uint64, target string, how growth) *program {
	g := newGrower(seed, target, how)
	g.large = g.large && g.r.IntN(3) > 0 // small ones meet other corners
	for range 1 + g.r.IntN(2) {
		g.input(g.dtype(), g.shape(g.r.IntN(6)))
	}
	size := 1 + g.r.IntN(20)
	kinds := makers
	if g.flip() { // few, so that they meet
		kinds = nil
		for range 2 + g.r.IntN(6) {
			kinds = append(kinds, makers[g.r.IntN(len(makers))])
		}
	}
	g.follow = g.r.IntN(4)
	for try := 0; len(g.steps) < size && try < 4*size; try++ {
		row := kinds[g.r.IntN(len(kinds))]
		before := len(g.steps)
		row(g)
		if len(g.steps) > before && g.r.IntN(4) == 0 { // something elementwise after it, for fusion
			unary(g)
		}
	}
	g.chooseOutputs()
	return g.program
}

// chooseOutputs takes what nobody reads, and some of the others: inputs and constants too.
func (g *grower) chooseOutputs() {
	read := map[ref]bool{}
	for _, s := range g.steps {
		s.reads(func(id ref) { read[id] = true })
	}
	among := 8 // one of so many that are read
	if g.every {
		among = []int{1, 2, 8}[g.r.IntN(3)]
	}
	for _, id := range g.live {
		if one := g.r.IntN(8); !read[id] && one != 0 || read[id] && one%among == among-1 {
			g.outputs = append(g.outputs, id)
		}
	}
	if len(g.outputs) == 0 {
		g.outputs = append(g.outputs, g.live[len(g.live)-1])
	}
	g.r.Shuffle(len(g.outputs), func(i, j int) { g.outputs[i], g.outputs[j] = g.outputs[j], g.outputs[i] })
	most := 20
	if g.every {
		most = 60
	}
	g.outputs = g.outputs[:min(len(g.outputs), most)]
}

func (g *grower) flip() bool { return g.r.IntN(2) == 0 }

func (g *grower) among(list ...string) string { return list[g.r.IntN(len(list))] }

// dtype is an element type, fp16 and fp32 more often than others.
func (g *grower) dtype() tensor.DType {
	return g.one(tensor.Float16, tensor.Float16, tensor.Float16, tensor.Float32, tensor.Float32, tensor.Int32, tensor.Bool)
}

// one is one of some element types. A chip takes fp16, so that other floats are rare there.
func (g *grower) one(types ...tensor.DType) tensor.DType {
	d := types[g.r.IntN(len(types))]
	if g.target != "virtual" && d == tensor.Float32 && slices.Contains(types, tensor.Float16) && g.r.IntN(8) != 0 {
		return tensor.Float16
	}
	return d
}

// shape is one of a rank, small, with ones and odd numbers.
func (g *grower) shape(rank int) []int {
	s := make([]int, rank)
	if g.large {
		return g.largeShape(s)
	}
	most := []int{1, 40, 12, 8, 6, 4}[rank]
	for i := range s {
		s[i] = 1 + g.r.IntN(most)
		if g.r.IntN(6) == 0 {
			s[i] = 1
		}
	}
	return s
}

// largeShape has one or two long extents, at and beside powers of two and the widths of rows, and the rest small.
func (g *grower) largeShape(s []int) []int {
	n := 1
	for _, i := range g.r.Perm(len(s)) {
		s[i] = 1 + g.r.IntN(5)
		if long := 1<<(4+g.r.IntN(8)) + g.r.IntN(5) - 2; g.r.IntN(3) == 0 && n*long < mostLarge/8 {
			s[i] = long
		}
		n *= s[i]
	}
	return s
}

// The most elements that a result has: of small programs, and of large ones.
const (
	mostSmall = 4000
	mostLarge = 40000
)

// random makes an array of a type.
func (g *grower) random(d tensor.DType, shape []int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	if !d.IsFloat() {
		vals := make([]int64, n)
		lo, hi := d.IntRange()
		for i := range vals {
			vals[i] = max(lo, min(int64(min(hi, 1<<31)), int64(g.r.IntN(21)-10)))
			if d == tensor.Int32 && g.r.IntN(20) == 0 {
				vals[i] = int64(int32(g.r.Uint32()))
			}
		}
		return tensor.FromInt64s(d, vals, shape...)
	}
	vals := make([]float32, n)
	for i := range vals {
		vals[i] = float32(g.r.NormFloat64())
		if g.r.IntN(3) == 0 {
			vals[i] = float32(g.r.IntN(33)-16) / 8
		}
	}
	return tensor.FromFloat32s(d, vals, shape...)
}

func (g *grower) number() ref { g.next++; return g.next }

func (g *grower) input(d tensor.DType, shape []int) ref {
	id := g.number()
	t := g.random(d, shape)
	g.inputs = append(g.inputs, source{id, t})
	g.values[id], g.exact[id] = t, true
	g.live = append(g.live, id)
	return id
}

func (g *grower) constant(t *tensor.Tensor) ref {
	id := g.number()
	g.steps = append(g.steps, &step{kind: "const", args: map[string]any{"val": t}, outs: []ref{id}})
	g.values[id], g.exact[id] = t, true
	g.live = append(g.live, id)
	return id
}

// fresh is a new input or constant.
func (g *grower) fresh(d tensor.DType, shape []int) ref {
	if g.r.IntN(3) == 0 {
		return g.input(d, shape)
	}
	return g.constant(g.random(d, shape))
}

// any finds a value, late ones first; a new one if there is none.
func (g *grower) any(rank [2]int, types ...tensor.DType) ref {
	for try := range 6 {
		i := max(g.r.IntN(len(g.live)), g.r.IntN(len(g.live)))
		if try == 0 && g.r.IntN(4) < g.follow {
			i = len(g.live) - 1
		}
		v := g.values[g.live[i]]
		if slices.Contains(types, v.DType()) && v.Rank() >= rank[0] && v.Rank() <= rank[1] && v.Len() > 0 {
			return g.live[i]
		}
	}
	return g.fresh(g.one(types...), g.shape(rank[0]+g.r.IntN(rank[1]-rank[0]+1)))
}

func (g *grower) float(lo, hi int) ref { return g.any([2]int{lo, hi}, tensor.Float16, tensor.Float32) }

func (g *grower) numeric(lo, hi int) ref {
	return g.any([2]int{lo, hi}, tensor.Float16, tensor.Float32, tensor.Int32)
}

// like finds a value of the type and shape of another, or of one that broadcasts with it.
func (g *grower) like(id ref) ref {
	v := g.values[id]
	if g.flip() {
		for range 6 {
			other := g.live[g.r.IntN(len(g.live))]
			o := g.values[other]
			if _, err := tensor.Broadcast(tensor.ShapeOf(v.Shape()...), tensor.ShapeOf(o.Shape()...)); err == nil && o.DType() == v.DType() {
				return other
			}
		}
	}
	shape := slices.Clone(v.Shape())
	for i := range shape {
		if g.r.IntN(3) == 0 {
			shape[i] = 1
		}
	}
	if g.flip() {
		shape = shape[g.r.IntN(len(shape)+1):]
	}
	return g.fresh(v.DType(), shape)
}

// clear reports whether no element is near what edge gives as its distance from a place where a function jumps.
func (g *grower) clear(id ref, edge func(v float64) float64) bool {
	if g.exact[id] {
		return true
	}
	g.jumps = true
	for _, v := range g.values[id].Float64s() {
		if math.Abs(edge(v)) < 0.02*(1+math.Abs(v)) {
			return false
		}
	}
	return true
}

// apart reports whether the elements of a value are so far apart that none may change places with another.
func (g *grower) apart(id ref) bool {
	if g.exact[id] {
		return true
	}
	g.jumps = true
	vals := g.values[id].Float64s()
	slices.Sort(vals)
	for i := 1; i < len(vals); i++ {
		if vals[i]-vals[i-1] < 0.02*(1+math.Abs(vals[i])) {
			return false
		}
	}
	return true
}

// within reports whether all elements are in a range.
func (g *grower) within(id ref, lo, hi float64) bool {
	g.jumps = g.jumps || !g.exact[id]
	for _, v := range g.values[id].Float64s() {
		if v < lo || v > hi {
			return false
		}
	}
	return true
}

// add adds an operation if its types are right and its results are numbers of a common size. The types of its outputs are given;
// their shapes follow.
func (g *grower) add(kind string, args map[string]any, types ...tensor.DType) []ref {
	s := &step{kind: kind, args: args}
	exact := !roundedKinds[kind] // of a result that is a floating-point number; others are always
	b := mil.NewBuilder("trial", "CoreML8")
	values, bound := map[ref]*mil.Value{}, map[string]ops.Value{}
	s.reads(func(id ref) {
		exact = exact && (g.exact[id])
		if values[id] == nil {
			values[id] = b.Input(valueName(id), mil.TypeOf(g.values[id]))
			bound[valueName(id)] = g.values[id]
		}
	})
	spec := mil.Spec{Kind: kind, Name: "result", Args: s.arguments(values)}
	for _, d := range types {
		spec.Outputs = append(spec.Outputs, &mil.TensorType{DType: d, AnyRank: true})
	}
	for name, a := range args { // what must be constant is so where its step is
		if id, ok := a.(ref); ok {
			for _, c := range g.steps {
				if c.kind == "const" && c.outs[0] == id {
					spec.Args[name] = c.args["val"]
				}
			}
		}
	}
	b.Return(b.Add(spec)...)
	trial, err := b.Program()
	if err != nil {
		return nil
	}
	if ops.Verify(trial) != nil {
		return nil
	}
	most := mostSmall
	if g.large {
		most = mostLarge
	}
	inferred, err := ops.Infer(trial.Functions[0])
	if err != nil {
		return nil
	}
	for _, v := range trial.Functions[0].Body.Outputs { // before it is evaluated: a repetition may be of any size
		if t, ok := inferred[v].(*mil.TensorType); ok && !t.AnyRank {
			if n, known := t.Shape.Count(); known && n > most {
				return nil
			}
		}
	}
	ev, err := ops.NewEvaluator(trial.Functions[0], ops.Virtual)
	if err != nil {
		return nil
	}
	out, err := ev.Run(context.Background(), bound)
	if err != nil {
		return nil
	}
	for i := range out {
		t, err := out[i].(*tensor.Tensor).Convert(types[i])
		if err != nil || t.Len() > most || t.Rank() > 6 {
			return nil
		}
		if types[i].IsFloat() {
			for _, v := range t.Float64s() {
				if !(math.Abs(v) < 1000) || v != 0 && math.Abs(v) < 1e-3 && types[i] == tensor.Float16 && !exact {
					return nil
				}
			}
		}
		out[i] = t
	}
	for _, t := range out {
		id := g.number()
		s.outs = append(s.outs, id)
		g.values[id] = t.(*tensor.Tensor)
		g.exact[id] = exact || !g.values[id].DType().IsFloat()
		g.live = append(g.live, id)
	}
	g.steps = append(g.steps, s)
	return s.outs
}
