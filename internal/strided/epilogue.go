package strided

import (
	"fmt"
	"math"
)

// StepKind is what a step of an epilogue does.
type StepKind uint8

// The kinds.
const (
	ScaleBias StepKind = iota // v*A + B
	Function                  // a function of v, by number
	Pair                      // an elementwise kind, by number, of v and a second value
	Cast                      // v rounded to the Type Code
)

// A Step changes the value that the class has computed, or the step before has
// left.
type Step struct {
	Kind    StepKind
	Code    uint8
	Operand int  // of the second value; 0: none, for operand 0 is the result
	Earlier int  // the second value is the one after step Earlier-2: 1 is the value before the first; 0: none
	Swap    bool // the second value comes first
	A, B    float32

	Table func(float32) float32 // Function: what to compute instead; nil: the function itself
}

func checkSteps(op *Op) error {
	for k, st := range op.Steps {
		switch st.Kind {
		case Function:
			if name, known := FunctionName(st.Code); !known {
				return fmt.Errorf("step %d: what function %d %s computes is not known", k, st.Code, name)
			}
		case Pair:
			if _, known := pairs[st.Code]; !known {
				return fmt.Errorf("step %d: elementwise kind %d is not known", k, st.Code)
			}
		case Cast:
			if t := Type(st.Code); t == None || t >= numTypes {
				return fmt.Errorf("step %d: element type %d is not known", k, st.Code)
			}
		}
	}
	return nil
}

// integers reports whether an operation can be done on integers throughout. The
// indices of a gather do not count, which are integers anyway.
func integers(op *Op) bool {
	for i := range op.Operands {
		if o := &op.Operands[i]; o.Present() && o.Type.isFloat() {
			return false
		}
	}
	for _, st := range op.Steps {
		whole := st.A == float32(math.Trunc(float64(st.A))) && math.Abs(float64(st.A)) < 1<<53
		switch {
		case st.Kind == Pair && (st.Operand != 0 || st.Earlier != 0 || whole || pairs[st.Code].unary):
		case st.Kind == Cast && !Type(st.Code).isFloat():
		default:
			return false
		}
	}
	return true
}

// moves reports whether an operation only moves elements.
func moves(op *Op) bool {
	return len(op.Steps) == 0 && op.Operands[0].Type == op.Operands[1].Type && op.Operands[1].pass == 0
}

// A sink takes the values of a class, does the epilogue and stores them.
type sink struct {
	out   array
	space [NumAxes]int
	steps []sinkStep
	slots int // values that a later step wants

	arrival *arrival // what rules do to values as they come; nil: nothing

	// first: values are rounded to a narrower float as they come, so that a
	// class does well to round them to odd.
	first bool
}

type sinkStep struct {
	Step
	pair     *pair
	f        func(x, a, b float64) float64
	odd      bool
	operand  array
	loads    bool
	from, to int // slots of the second value and of the value after the step, -1: none
}

// newSink binds the result and epilogue of an operation.
func newSink(op *Op) *sink {
	s := &sink{
		space: op.Operands[0].Dims, out: op.Operands[0].array(), steps: make([]sinkStep, len(op.Steps)),
		arrival: op.Rules.arrival(op.Class),
	}
	wanted := make([]int, len(op.Steps)+1) // by the value's step+1: its slot+1
	for _, st := range op.Steps {
		if v := st.Earlier - 1; v >= 0 && wanted[v] == 0 {
			s.slots++
			wanted[v] = s.slots
		}
	}
	for k, st := range op.Steps {
		b := sinkStep{Step: st, from: -1, to: wanted[k+1] - 1}
		switch st.Kind {
		case Function:
			b.f = functions[st.Code].f
			if st.Table != nil {
				b.f = func(x, _, _ float64) float64 { return float64(st.Table(float32(x))) }
			}
			b.f = op.Rules.function(st.Code, b.f)
		case Pair:
			p := op.Rules.pair(st.Code, pairs[st.Code])
			b.pair = &p
		case ScaleBias:
			if op.Rules != nil {
				b.f = op.Rules.scaleBias
			}
		}
		if st.Operand > 0 {
			b.operand, b.loads = op.Operands[st.Operand].array(), true
		}
		if st.Earlier > 0 {
			b.from = wanted[st.Earlier-1] - 1
		}
		b.odd = s.narrows(op, k+1)
		s.steps[k] = b
	}
	s.first = s.narrows(op, 0)
	if wanted[0] > 0 {
		s.steps = append([]sinkStep{{from: -1, to: wanted[0] - 1, Step: Step{Kind: Pair}, pair: &pair{name: "None", unary: true, int: pairs[0].int, float: pairs[0].float}}}, s.steps...)
	}
	return s
}

// narrows reports whether step k, or the store after the last, does nothing but
// round to a narrower float.
func (s *sink) narrows(op *Op, k int) bool {
	for _, st := range op.Steps {
		if st.Earlier == k+1 {
			return false
		}
	}
	if k < len(op.Steps) {
		return op.Steps[k].Kind == Cast && Type(op.Steps[k].Code).narrow()
	}
	return op.Operands[0].Type.narrow() || op.Operands[0].pass&passHalf != 0
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

// need is the scratch that put takes: a second value, and the slots.
func (s *sink) need() Need { return Need{Steps: chunk * (1 + s.slots)} }

// needInts is the scratch that putInts takes.
func (s *sink) needInts() Need { return Need{Int: chunk * (1 + s.slots)} }

// put takes a row of at most chunk values, whose first belongs at i, along an
// axis. It overwrites them.
func (s *sink) put(w *Scratch, v []float32, i index, axis int) {
	if s.arrival != nil {
		s.arrival.apply(v)
	}
	for k := range s.steps {
		s.steps[k].apply(w, v, i, axis)
	}
	s.out.store(w, v, i, axis)
}

// round makes a float32 of a value that a class has computed.
func (s *sink) round(v float64) float32 {
	if s.first {
		return toOdd(v)
	}
	return float32(v)
}

func (st *sinkStep) apply(w *Scratch, v []float32, i index, axis int) {
	switch st.Kind {
	case ScaleBias:
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
	case Function:
		st.applyFunction(v)
	case Cast:
		castFloats(Type(st.Code), v)
	case Pair:
		second := w.steps[:len(v)]
		switch {
		case st.pair.unary && !st.Swap:
		case st.loads:
			st.operand.load(w, second, i, axis)
		case st.from >= 0:
			second = w.steps[chunk*(1+st.from):][:len(v)]
		default:
			for j := range second {
				second[j] = st.A
			}
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
	if st.Table == nil { // what is frequent, and exact in fp32
		switch st.Code {
		case reluNumber:
			for j, x := range v {
				v[j] = max(x, 0)
			}
			return
		case relunNumber:
			clamp(v, 0, st.A)
			return
		case clipNumber:
			clamp(v, st.A, st.B)
			return
		}
	}
	a, b := float64(st.A), float64(st.B)
	for j, x := range v {
		v[j] = st.round(st.f(float64(x), a, b))
	}
}

func clamp(v []float32, lo, hi float32) {
	for j, x := range v {
		v[j] = min(max(x, lo), hi)
	}
}

// The numbers of functions that have loops of their own.
const (
	reluNumber  = 1
	relunNumber = 9
	clipNumber  = 77
)

// putInts is put for an operation on integers.
func (s *sink) putInts(w *Scratch, v []int64, i index, axis int) {
	for k := range s.steps {
		s.steps[k].applyInts(w, v, i, axis)
	}
	s.out.storeInts(w, v, i, axis)
}

func (st *sinkStep) applyInts(w *Scratch, v []int64, i index, axis int) {
	if st.Kind == Cast {
		for j, x := range v {
			v[j] = castInt(Type(st.Code), x)
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
