package strided

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// checkEpilogue refuses steps that are not computed.
func checkEpilogue(op *Op) error {
	for k, m := range op.Epilogue {
		switch m.Code {
		case td.MicroActivation:
			if f := td.Function(m.Function); functions[f] == nil {
				return fmt.Errorf("step %d: what function %v computes is not known", k, f)
			}
		case td.MicroEW:
			if _, known := pairs[td.EWKind(m.Function)]; !known {
				return fmt.Errorf("step %d: %v is not known", k, td.EWKind(m.Function))
			}
		}
	}
	return nil
}

// castType is the element type that a step casts to.
func castType(m *td.MicroOp) tensor.DType {
	d, _ := td.ElementType(m.Function) // a valid operation has it
	return d
}

// integers reports whether an operation can be done on integers throughout. The
// indices of a gather do not count, which are integers anyway.
func integers(op *Op) bool {
	for i := range op.Operands {
		if o := &op.Operands[i]; o.Present() && o.Type.IsFloat() {
			return false
		}
	}
	for i := range op.Epilogue {
		m := &op.Epilogue[i]
		whole := m.A == float32(math.Trunc(float64(m.A))) && math.Abs(float64(m.A)) < 1<<53
		switch {
		case m.Code == td.MicroEW && (m.Source != td.NoSource || whole || td.EWKind(m.Function).Unary()):
		case m.Code == td.MicroTypeCast && !castType(m).IsFloat():
		default:
			return false
		}
	}
	return true
}

// moves reports whether an operation only moves elements.
func moves(op *Op) bool {
	return len(op.Epilogue) == 0 && op.Operands[0].Type == op.Operands[1].Type && op.Operands[1].pass == 0
}

// A sink takes the values of a class, does the epilogue and stores them.
type sink struct {
	out   array
	space [td.NumAxes]int
	steps []sinkStep
	slots int // values that a later step wants

	arrival *arrival // what rules do to values as they come; nil: nothing

	// first: values are rounded to a narrower float as they come, so that a
	// class does well to round them to odd.
	first bool

	fast quick // the epilogue, if it is done in one pass
}

type sinkStep struct {
	td.MicroOp
	pair     *pair
	f        func(x, a, b float64) float64
	plain    bool         // f is the function itself, which may have a loop of its own
	vector   vec.Function // that loop, by machine code, if vectored
	vectored bool
	cast     tensor.DType // MicroTypeCast
	odd      bool
	operand  array
	loads    bool
	from, to int // slots of the second value and of the value after the step, -1: none
}

// newSink binds the result and epilogue of an operation.
func newSink(op *Op) *sink {
	s := &sink{
		space: op.Operands[0].Dims, out: op.Operands[0].array(), steps: make([]sinkStep, len(op.Epilogue)),
		arrival: op.Rules.arrival(op.class()),
	}
	wanted := make([]int, len(op.Epilogue)+1) // by the value's step+1: its slot+1
	for _, m := range op.Epilogue {
		if v, ok := m.Source.Step(); ok && wanted[v+1] == 0 {
			s.slots++
			wanted[v+1] = s.slots
		}
	}
	for k, m := range op.Epilogue {
		b := sinkStep{MicroOp: m, from: -1, to: wanted[k+1] - 1}
		switch m.Code {
		case td.MicroActivation:
			b.f, b.plain = op.Rules.function(td.Function(m.Function), m.A, m.B)
			if b.plain {
				b.vector, b.vectored = vectorFunctions[td.Function(m.Function)]
			}
		case td.MicroEW:
			p, _ := pairOf(td.EWKind(m.Function))
			p = op.Rules.pair(p)
			b.pair = &p
		case td.MicroScaleBias:
			if op.Rules != nil {
				b.f = op.Rules.scaleBias
			}
		case td.MicroTypeCast:
			b.cast = castType(&m)
		}
		if i, ok := m.Source.Operand(); ok {
			b.operand, b.loads = op.Operands[i].array(), true
		}
		if v, ok := m.Source.Step(); ok {
			b.from = wanted[v+1] - 1
		}
		b.odd = s.narrows(op, k+1)
		s.steps[k] = b
	}
	s.first = s.narrows(op, 0)
	if wanted[0] > 0 { // the value before the first step is kept by a step that changes nothing
		none, _ := pairOf(td.EWNone)
		s.steps = append([]sinkStep{{MicroOp: td.MicroOp{Code: td.MicroEW}, from: -1, to: wanted[0] - 1, pair: &none}}, s.steps...)
	}
	s.fast = s.quick(op)
	return s
}

// narrows reports whether step k, or the store after the last, does nothing but
// round to a narrower float.
func (s *sink) narrows(op *Op, k int) bool {
	for _, m := range op.Epilogue {
		if v, ok := m.Source.Step(); ok && v == k-1 {
			return false
		}
	}
	if k < len(op.Epilogue) {
		return op.Epilogue[k].Code == td.MicroTypeCast && narrow(castType(&op.Epilogue[k]))
	}
	return narrow(op.Operands[0].Type) || op.Operands[0].pass&passHalf != 0
}

// arrays are the operands of the sink, the result first.
func (s *sink) arrays() []*array {
	all := []*array{&s.out}
	for k := range s.steps {
		if s.steps[k].loads {
			all = append(all, &s.steps[k].operand)
		}
	}
	return all
}

// need is the scratch that put takes: a second value, and the slots; and putTile:
// rows of a tile, moved together.
func (s *sink) need() Need { return Need{Steps: chunk * (2 + s.slots)} }

// needInts is the scratch that putInts takes.
func (s *sink) needInts() Need { return Need{Int: chunk * (1 + s.slots)} }

// put takes a row of at most chunk values, whose first belongs at i, along an
// axis. It overwrites them.
func (s *sink) put(w *Scratch, v []float32, i index, axis int) { s.putAt(w, v, &i, axis) }

// putAt is to put what loadAt of an array is to load.
func (s *sink) putAt(w *Scratch, v []float32, i *index, axis int) {
	s.putRows(w, v, 1, i, axis, axis)
}

// putRows is putAt of several rows, which follow each other along a second axis: at
// most chunk values in all, side by side.
func (s *sink) putRows(w *Scratch, v []float32, rows int, i *index, axis, next int) {
	if s.arrival != nil {
		s.arrival.apply(v)
	}
	for k := range s.steps {
		s.steps[k].apply(w, v, rows, i, axis, next)
	}
	s.out.storeRows(w, v, rows, i, axis, next)
}

// round makes a float32 of a value that a class has computed.
func (s *sink) round(v float64) float32 {
	if s.first {
		return toOdd(v)
	}
	return float32(v)
}

func (st *sinkStep) apply(w *Scratch, v []float32, rows int, i *index, axis, next int) {
	switch st.Code {
	case td.MicroScaleBias:
		a, b := float64(st.A), float64(st.B)
		if st.f != nil { // under rules
			for j, x := range v {
				v[j] = st.round(st.f(float64(x), a, b))
			}
			break
		}
		for j, x := range v {
			v[j] = st.round(float64(x)*a + b) // the product is exact
		}
	case td.MicroActivation:
		st.applyFunction(v)
	case td.MicroTypeCast:
		castFloats(st.cast, v)
	case td.MicroEW:
		second := w.steps[:len(v)]
		switch {
		case st.pair.kind.Unary() && !st.Swap:
		case st.loads:
			st.operand.loadRows(w, second, rows, i, axis, next)
		case st.from >= 0:
			second = w.steps[chunk*(1+st.from):][:len(v)]
		default:
			repeat(second, st.A)
		}
		if st.Swap {
			st.pair.apply(v, second, v, st.odd)
		} else {
			st.pair.apply(v, v, second, st.odd)
		}
	}
	if st.to >= 0 {
		copy(w.steps[chunk*(1+st.to):], v)
	}
}

func (st *sinkStep) round(v float64) float32 {
	if st.odd {
		return toOdd(v)
	}
	return float32(v)
}

func (st *sinkStep) applyFunction(v []float32) {
	if st.plain { // what is frequent, and has a loop of its own
		switch td.Function(st.Function) {
		case td.FuncReLU:
			vec.ReLU(v)
			return
		case td.FuncReLUN:
			vec.Clamp(v, 0, st.A)
			return
		case td.FuncClip:
			vec.Clamp(v, st.A, st.B)
			return
		case td.FuncSquare:
			vec.Square(v, st.odd)
			return
		}
	}
	if st.vectored && vec.Applies() {
		vec.Apply(st.vector, v, st.A, st.odd)
		return
	}
	st.each(v)
}

// each computes a function element by element.
func (st *sinkStep) each(v []float32) {
	a, b := float64(st.A), float64(st.B)
	for j, x := range v {
		v[j] = st.round(st.f(float64(x), a, b))
	}
}

// putInts is put for an operation on integers.
func (s *sink) putInts(w *Scratch, v []int64, i index, axis int) {
	for k := range s.steps {
		s.steps[k].applyInts(w, v, i, axis)
	}
	s.out.storeInts(w, v, i, axis)
}

func (st *sinkStep) applyInts(w *Scratch, v []int64, i index, axis int) {
	if st.Code == td.MicroTypeCast {
		for j, x := range v {
			v[j] = castInt(st.cast, x)
		}
	} else {
		second := w.int[:len(v)]
		switch {
		case st.loads:
			st.operand.loadInts(w, second, i, axis)
		case st.from >= 0:
			second = w.int[chunk*(1+st.from):][:len(v)]
		default:
			for j := range second {
				second[j] = int64(st.A)
			}
		}
		if st.Swap {
			st.pair.applyInts(v, second, v)
		} else {
			st.pair.applyInts(v, v, second)
		}
	}
	if st.to >= 0 {
		copy(w.int[chunk*(1+st.to):], v)
	}
}
