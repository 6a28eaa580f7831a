package ops

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// TestMain bounds the memory of the tests, so that results of absurd shapes are refused and not made. After a
// run of all tests it holds that each operation of the catalogue was evaluated by one.
func TestMain(m *testing.M) {
	debug.SetMemoryLimit(1 << 28)
	osfile.MemoryLimit()                // which reads it once
	debug.SetMemoryLimit(math.MaxInt64) // a limit that is near would make the garbage collector run all the time
	code := m.Run()
	all := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	if code == 0 && all {
		for _, d := range All() {
			if _, ok := evaluated.Load(d.Name); !ok {
				fmt.Printf("FAIL: no test evaluates the operation %s\n", d.Name)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// TestHostileArguments calls every operation with arguments that its signature allows and that make little
// sense otherwise. Whatever a file contains, an operation gives a result or an error: it does not panic,
// and it does not take memory or time beyond reason.
func TestHostileArguments(t *testing.T) {
	trials := 200
	if testing.Short() {
		trials = 50
	}
	for _, def := range All() {
		if def.Blocks > 0 {
			continue // their arguments are blocks
		}
		t.Run(def.Name, func(t *testing.T) {
			h := &hostile{rand.New(rand.NewPCG(1, uint64(len(def.Name))))}
			succeeded := 0
			for range trials {
				o := IOS15 + Opset(h.IntN(int(numOpsets)))
				if def.At(o) == nil {
					continue
				}
				if ok := h.try(t, def, o); ok {
					succeeded++
				}
				if t.Failed() {
					return
				}
			}
			t.Logf("%d of %d calls gave a result", succeeded, trials)
		})
	}
}

type hostile struct{ *rand.Rand }

// try makes one call with random arguments. It reports whether that gave a result.
func (h *hostile) try(t *testing.T, def *Def, o Opset) bool {
	return survives(t, o, def.Name, h.arguments(def.At(o)), buildMode(h.IntN(3)))
}

// survives makes a call that may fail but must not panic or take long. It reports whether there was a result.
func survives(t *testing.T, o Opset, kind string, a args, mode buildMode) bool {
	t.Helper()
	const patience = 30 * time.Second
	late := time.AfterFunc(patience, func() {
		panic(fmt.Sprintf("%s in %v takes more than %v\narguments %s", kind, o, patience, describe(a)))
	})
	defer late.Stop()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s in %v panics: %v\narguments %s\n%s", kind, o, p, describe(a), debug.Stack())
		}
	}()
	// Where all values are known, all shapes are: large results are legal, but take long.
	if types, err := buildOp(o, kind, a, &evalConfig{}, allConstant).outputTypes(o); err == nil && isLarge(types) {
		return false
	}
	p := buildOp(o, kind, a, &evalConfig{}, mode)
	types, err := p.outputTypes(o)
	if err != nil {
		return false
	}
	p.declare(types)
	if _, err := Infer(p.f); err != nil {
		return false
	}
	ev, err := NewEvaluator(p.f, Virtual)
	if err != nil {
		return false
	}
	_, err = ev.Run(context.Background(), p.inputs)
	return err == nil
}

func isLarge(types []mil.Type) bool {
	for _, t := range types {
		if tt, ok := t.(*mil.TensorType); ok && tt.Shape.Known() {
			if n, ok := tt.Shape.Count(); !ok || n > 1<<18 {
				return true
			}
		}
	}
	return false
}

// checkMutations calls an operation with arguments that are nearly those of a call that works.
func checkMutations(t *testing.T, o Opset, kind string, a args) {
	t.Helper()
	plain, names := args{}, paramOrder(o, kind, a)
	seed := fnv.New64()
	for _, name := range names {
		switch v := a[name].(type) {
		case *tensor.Tensor, []*tensor.Tensor, *List, *State, []Value:
			plain[name] = v
		case *mil.Constant:
			if plain[name] = v; v.Tensor != nil {
				plain[name] = v.Tensor
			}
		default:
			plain[name] = constantFor(v, wantedType(o, kind, name, a)).Tensor
		}
		x, ok := plain[name].(*tensor.Tensor)
		if ok && x.Len() > 1<<12 {
			return // too slow to be repeated
		}
		fmt.Fprint(seed, kind, name, x)
	}
	if len(names) == 0 {
		return
	}
	h := &hostile{rand.New(rand.NewPCG(1, seed.Sum64()))}
	variants := emptied(plain, func(name string) bool { return Lookup(kind).At(o).Param(name).Const })
	for range 6 * len(names) {
		m := maps.Clone(plain)
		for n := 1 + h.IntN(2); n > 0; n-- {
			h.mutate(m, names[h.IntN(len(names))])
		}
		variants = append(variants, m)
	}
	for _, m := range variants {
		for name, v := range m {
			if s, ok := v.(*State); ok {
				m[name] = NewState(s.Type()) // the test's own is not to be touched
			}
		}
		survives(t, o, kind, m, buildMode(h.IntN(3)))
		if t.Failed() {
			return
		}
	}
}

// emptied are calls in which one length is zero and another one beyond all loops, each throughout all arguments, or all
// but the constants, so that the shapes still fit together.
func emptied(plain args, isConst func(name string) bool) []args {
	var lengths []int
	eachTensor := func(v any, f func(*tensor.Tensor) *tensor.Tensor) any {
		switch v := v.(type) {
		case *tensor.Tensor:
			return f(v)
		case []*tensor.Tensor:
			many := make([]*tensor.Tensor, len(v))
			for i, x := range v {
				many[i] = f(x)
			}
			return many
		}
		return v
	}
	for _, v := range plain {
		eachTensor(v, func(x *tensor.Tensor) *tensor.Tensor {
			lengths = append(lengths, x.Shape()...)
			return x
		})
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	var all []args
	for _, zero := range lengths {
		for _, huge := range lengths {
			for _, constants := range []bool{false, true} {
				m := args{}
				for name, v := range plain {
					if m[name] = v; isConst(name) && !constants {
						continue
					}
					m[name] = eachTensor(v, func(x *tensor.Tensor) *tensor.Tensor { return withLengths(x, zero, huge) })
				}
				all = append(all, m)
			}
		}
	}
	return all
}

// withLengths is zeros in the shape of x with one length replaced by 0 and another one by 2^40; x itself if
// that is no shape, or nothing changes.
func withLengths(x *tensor.Tensor, zero, huge int) *tensor.Tensor {
	shape := slices.Clone(x.Shape())
	for i, d := range shape {
		switch d {
		case zero:
			shape[i] = 0
		case huge:
			shape[i] = 1 << 40
		}
	}
	if n, ok := tensor.Count(shape); !ok || n > 1<<12 || slices.Equal(shape, x.Shape()) {
		return x
	}
	return tensor.New(x.DType(), shape...)
}

// mutate changes an argument.
func (h *hostile) mutate(a args, name string) {
	switch v := a[name].(type) {
	case []*tensor.Tensor:
		many := slices.Clone(v)
		switch {
		case len(many) == 0 || h.chance(10):
			many = append(many, f32(dims(2)))
		case h.chance(10):
			many = many[1:]
		default:
			i := h.IntN(len(many))
			many[i] = h.mutated(many[i])
		}
		a[name] = many
	case *List:
		l := &List{Items: slices.Clone(v.Items)}
		if len(l.Items) > 0 {
			i := h.IntN(len(l.Items))
			l.Items[i] = hold(h.mutated(l.Items[i]))
		}
		a[name] = l
	case *tensor.Tensor:
		if h.chance(4) {
			delete(a, name)
			return
		}
		a[name] = h.mutated(v)
	}
}

// mutated returns a tensor with one element, a length or the rank changed.
func (h *hostile) mutated(x *tensor.Tensor) *tensor.Tensor {
	d, shape := x.DType(), slices.Clone(x.Shape())
	resize := h.chance(40)
	if resize {
		switch i := h.IntN(len(shape) + 1); {
		case i == len(shape):
			shape = slices.Insert(shape, h.IntN(len(shape)+1), []int{0, 1, 2, 5000}[min(3, h.IntN(7))])
		case h.chance(25):
			shape = slices.Delete(shape, i, i+1)
		default:
			shape[i] = max(0, shape[i]+[]int{-1, 1, -shape[i], 7}[h.IntN(4)])
		}
	}
	n, _ := tensor.Count(shape)
	if n > 1<<16 {
		return x
	}
	if d == tensor.String {
		out := make([]string, n)
		copy(out, x.Strings())
		if n > 0 && !resize {
			out[h.IntN(n)] = hostileWords[h.IntN(len(hostileWords))]
		}
		return tensor.Of(out, shape...)
	}
	if d.IsFloat() {
		out := make([]float32, n)
		copy(out, x.Float32s())
		if n > 0 && !resize {
			out[h.IntN(n)] = []float32{0, 0.5, -1, 3, 1e9, -1e9, 1e38, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[h.IntN(10)]
		}
		return tensor.FromFloat32s(d, out, shape...)
	}
	out := make([]int64, n)
	copy(out, x.Int64s())
	if n > 0 && !resize {
		out[h.IntN(n)] = []int64{0, 1, 2, 3, 5, -1, -2, -9, 1 << 15, 1 << 20, math.MaxInt32, math.MinInt32}[h.IntN(12)]
	}
	return tensor.FromInt64s(d, out, shape...)
}

func describe(a args) string {
	s := ""
	for name, v := range a {
		s += fmt.Sprintf("\n  %s = ", name)
		x, ok := v.(*tensor.Tensor)
		switch {
		case !ok || x.Len() > 20:
			s += fmt.Sprint(v)
		case x.DType() == tensor.String:
			s += fmt.Sprintf("%v %q", x, x.Strings())
		default:
			s += fmt.Sprintf("%v %v", x, x.Float64s())
		}
	}
	return s
}

func (h *hostile) chance(percent int) bool { return h.IntN(100) < percent }

func (h *hostile) arguments(v *Version) args {
	a := args{}
	domains := map[string]tensor.DType{}
	shape := h.shape() // most tensors of a call have it, or one that is near
	for i := range v.Params {
		p := &v.Params[i]
		if p.Optional && h.chance(50) || h.chance(1) {
			continue
		}
		d := h.dtype(p.Types)
		if known, ok := domains[p.Domain]; ok && p.Domain != "" && h.chance(98) {
			d = known
		}
		domains[p.Domain] = d
		switch p.Kind {
		case ManyTensors:
			many := make([]*tensor.Tensor, h.IntN(4))
			for j := range many {
				many[j] = h.tensor(p, d, shape)
			}
			a[p.Name] = many
		case OneList:
			l := &List{}
			for range h.IntN(4) {
				l.Items = append(l.Items, hold(h.tensor(p, d, shape)))
			}
			a[p.Name] = l
		case OneState:
			if d == tensor.String {
				d = tensor.Float16
			}
			dims, _ := h.near(shape).Ints()
			a[p.Name] = NewState(&mil.TensorType{DType: d, Shape: tensor.ShapeOf(dims...)})
		default:
			a[p.Name] = h.tensor(p, d, shape)
		}
	}
	return a
}

func (h *hostile) dtype(allowed TypeSet) tensor.DType {
	var all []tensor.DType
	for _, d := range tensor.DTypes() {
		if allowed.Has(d) {
			all = append(all, d)
		}
	}
	return all[h.IntN(len(all))]
}

func (h *hostile) shape() tensor.Shape {
	s := make(tensor.Shape, h.IntN(6))
	for i := range s {
		s[i] = tensor.Dim(1 + h.IntN(4))
		if h.chance(3) {
			s[i] = 0
		}
	}
	return s
}

// near is often the shape itself, else one with a length or the rank changed.
func (h *hostile) near(s tensor.Shape) tensor.Shape {
	out := append(tensor.Shape{}, s...)
	switch {
	case h.chance(50):
	case h.chance(30):
		return h.shape()
	case len(out) > 0 && h.chance(50):
		out[h.IntN(len(out))] = tensor.Dim(h.IntN(5))
	case len(out) > 0 && h.chance(50):
		return out[1:]
	}
	return out
}

func (h *hostile) tensor(p *Param, d tensor.DType, shape tensor.Shape) *tensor.Tensor {
	s := h.near(shape)
	switch {
	case p.Const && h.chance(1):
		s = tensor.Shape{5000} // more than verification loads
	case p.Const && (!d.IsFloat() || p.Default != nil) && h.chance(85), h.chance(10):
		s = tensor.Shape{}
		if n := h.IntN(12); n > 6 && d != tensor.String || p.Default == nil && h.chance(60) {
			s = tensor.Shape{tensor.Dim(len(shape))}
			if h.chance(40) {
				s = tensor.Shape{tensor.Dim(n)}
			}
		}
	}
	dims, _ := s.Ints()
	n, _ := tensor.Count(dims)
	if d == tensor.String {
		vals := make([]string, n)
		for i := range vals {
			vals[i] = hostileWords[h.IntN(len(hostileWords))]
		}
		return tensor.Of(vals, dims...)
	}
	if d.IsFloat() {
		vals := make([]float32, n)
		for i := range vals {
			vals[i] = float32(h.NormFloat64())
			if h.chance(2) {
				vals[i] = []float32{0, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e38, -1e-38}[h.IntN(6)]
			}
		}
		return tensor.FromFloat32s(d, vals, dims...)
	}
	vals := make([]int64, n)
	for i := range vals {
		vals[i] = int64(h.IntN(5)) - 1
		if h.chance(3) {
			vals[i] = []int64{math.MinInt32, math.MaxInt32, 1 << 20, -7, 65536}[h.IntN(5)]
		}
	}
	return tensor.FromInt64s(d, vals, dims...)
}

// hostileWords are what string parameters take, and a little more.
var hostileWords = []string{
	"valid", "same", "same_lower", "custom", "constant", "reflect", "replicate", "add", "sub", "mul", "div", "max",
	"min", "update", "fp16", "fp32", "int32", "int8", "uint8", "uint16", "bool", "EXACT", "TANH_APPROXIMATION", "bilinear",
	"nearest", "NEAREST_NEIGHBOR", "LINEAR", "DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "UNALIGN_CORNERS",
	"OFFSET_CORNERS", "normalized_minus_one_to_one", "normalized_zero_to_one", "unnormalized", "forward", "reverse",
	"bidirectional", "tanh", "sigmoid", "relu", "scaled_tanh", "sigmoid_hard", "linear", "nchw", "border",
	"reflection", "zeros", "symmetric", "CORNERS_HEIGHT_FIRST", "CENTER_SIZE_WIDTH_FIRST", "ij,jk->ik", "bij,bjk->bik",
	"nchw,nwhu->nchu", "i,i->", "", "?", "abc->", "...i,...i",
}
