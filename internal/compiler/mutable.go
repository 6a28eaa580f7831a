package compiler

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/edit"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Weights that may change after they were compiled.
//
// Passes and encoders move the elements of a weight: they transpose a matrix, split it, deal it to streams with zeros between.
// None of them keeps account of it. Where each element comes to lie is found out by asking: the function is compiled with
// numbers in place of the weights, and the containers are searched for them.
//
//	w        1 2 3 4 5 6              the elements, numbered
//	         │ compile
//	stream   1 4 0 0 2 5 0 0 3 6      element 3i+j is at 8j+2i
//
// An element of 16 bits does not hold all numbers, so that there are two rounds, for a lower and an upper digit, and a third with
// other numbers to see whether what was found is true. That the tasks are the same in all three shows that no pass has
// looked at an element; a constant that changes and is none of the numbers, that one has computed with it.

// AllWeights, in Job.Mutable, stands for every constant of fp16 or fp32 that has more than one element.
const AllWeights = "*"

// mutableFunction compiles a function, and finds where its mutable weights lie.
func (job *Job) mutableFunction(ctx context.Context, e Entry, weights *WeightFile) (*Function, error) {
	if len(job.Mutable) == 0 || e.Graph != nil {
		return job.function(ctx, e, weights)
	}
	n, err := newNumbering(e.Function, job.Mutable)
	if err != nil {
		return nil, err
	}
	if len(n.weights) == 0 {
		return job.function(ctx, e, weights)
	}
	var f *Function
	for i, turn := range turns {
		n.setTurn(turn)
		if f, err = n.compile(ctx, job, e, weights); err == nil {
			break
		}
		if _, looked := errors.AsType[*lookedError](err); !looked || i == len(turns)-1 {
			return nil, err
		}
	}
	n.restore()
	for i, s := range f.Segments {
		if s == nil {
			continue
		}
		if err := n.write(s, i); err != nil {
			return nil, err
		}
		if err := emitContainer(s); err != nil {
			return nil, err
		}
	}
	for i := range n.weights {
		f.mutable = append(f.mutable, n.weights[i].described)
	}
	return f, nil
}

// compile compiles the function with numbers, and finds them. The result has the numbers of the first round.
func (n *numbering) compile(ctx context.Context, job *Job, e Entry, weights *WeightFile) (*Function, error) {
	n.made = nil
	for i := range n.weights {
		d := &n.weights[i].described
		d.Parts, d.Hosts = nil, nil
	}
	var rounds [3]*Function
	for r := range rounds {
		quiet := *job
		if r > 0 {
			quiet.Trace = nil
		}
		numbered := e
		numbered.Function = n.round(e.Function, r)
		var err error
		if rounds[r], err = quiet.function(ctx, numbered, weights); err != nil {
			return nil, err
		}
	}
	if err := n.find(rounds); err != nil {
		return nil, fmt.Errorf("function %s: %w", e.Function.Name, err)
	}
	return rounds[0], nil
}

// checkMutable refuses names that are those of no constant. A constant of one function need not be in the others.
func (job *Job) checkMutable(functions []*Function) error {
	if job.OneContainer && len(job.Mutable) > 0 {
		return errors.New("mutable weights have their places in containers of one procedure each: compile without one container for all")
	}
	for _, name := range job.Mutable {
		found := name == AllWeights
		for _, f := range functions {
			found = found || slices.ContainsFunc(f.mutable, func(w bundle.MutableWeight) bool { return w.Name == name })
		}
		if !found {
			return mutableError(edit.Check(nil, []edit.Edit{{Weight: name}}))
		}
	}
	return nil
}

// A MutableError is about weights that cannot be mutable.
type MutableError struct{ Findings []*diag.Finding }

func (e *MutableError) Error() string {
	texts := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		texts[i] = f.Text
	}
	return strings.Join(texts, "; ")
}

func mutableError(found []*diag.Finding) error {
	if len(found) == 0 {
		return nil
	}
	return &MutableError{found}
}

// A numbering gives the elements of weights numbers, one after the other.
type numbering struct {
	weights []numberedWeight
	total   int64
	made    []*mil.Constant // of the first round, in the order of the weights

	turn, inverse int64 // of the stamps
}

type numberedWeight struct {
	op        *mil.Operation
	constant  *mil.Constant // as the program has it
	dtype     tensor.DType
	shape     []int
	first     int64 // number
	count     int64
	described bundle.MutableWeight
	elements  map[tensor.DType][]byte // its own ones, in types that they lie in
}

// MutableWeights are the constants of a function that names of Job.Mutable stand for, without their places.
func MutableWeights(f *mil.Function, names []string) (list []bundle.MutableWeight) {
	n, _ := newNumbering(f, names)
	for i := range n.weights {
		list = append(list, n.weights[i].described)
	}
	return list
}

// newNumbering finds the mutable weights of a function.
func newNumbering(f *mil.Function, names []string) (*numbering, error) {
	n := &numbering{}
	all := slices.Contains(names, AllWeights)
	forms, edits := map[string]edit.Weight{}, []edit.Edit{}
	for _, op := range f.Body.Operations {
		if len(op.Outputs) != 1 {
			continue
		}
		name := op.Outputs[0].Name
		named := slices.Contains(names, name)
		if !named && !(all && op.Kind == "const") {
			continue
		}
		if named {
			edits = append(edits, edit.Edit{Weight: name})
		}
		if op.Kind != "const" {
			if form, ok := constexprForm(op); ok {
				forms[name] = form
			}
			continue
		}
		k := op.Outputs[0].Const()
		t, ok := k.Type.(*mil.TensorType)
		if !ok {
			continue
		}
		count, known := t.Shape.Count()
		isFloat := t.DType == tensor.Float16 || t.DType == tensor.Float32
		if !known || !isFloat || count == 0 || !named && count == 1 {
			continue
		}
		size, _ := t.DType.ByteLen(count)
		forms[name] = edit.Weight{Bytes: size, AnyForm: true}
		if named {
			edits[len(edits)-1].Bytes = size
		}
		shape, _ := t.Shape.Ints()
		n.weights = append(n.weights, numberedWeight{
			op: op, constant: k, dtype: t.DType, shape: shape, first: n.total, count: int64(count), elements: map[tensor.DType][]byte{},
			described: bundle.MutableWeight{Name: name, Type: t.DType.String(), Shape: shape},
		})
		n.total += int64(count)
	}
	if n.total > digits*digits {
		return n, fmt.Errorf("%d elements of mutable weights; %d can be", n.total, int64(digits*digits))
	}
	return n, mutableError(edit.Check(forms, edits))
}

// constexprForm is the form of a compressed weight, of those that no edit can change.
func constexprForm(op *mil.Operation) (edit.Weight, bool) {
	switch {
	case strings.Contains(op.Kind, "lut"), strings.Contains(op.Kind, "palette"):
		return edit.Weight{Vectors: true}, true
	case strings.HasPrefix(op.Kind, "constexpr_"):
		return edit.Weight{Quantized: true}, true
	}
	return edit.Weight{}, false
}

// digits is how many numbers an element stands for: the positive fp16 numbers that are neither subnormal nor infinite. The second
// round has the negative ones, so that no element is the same in both.
const (
	digits      = 0x7c00 - smallest
	smallest    = 0x0400
	negativeBit = 0x8000
)

// stamp is the fp16 number that stands for an element in a round, as bits: a digit that both halves of the number go into, so that
// no two weights look the same. Equal constants would be stored once.
func (n *numbering) stamp(round int, number int64) uint16 {
	lower, upper := number%digits, number/digits
	switch round {
	case 0:
		return uint16(smallest + (lower+n.turn*upper)%digits)
	case 1:
		return uint16(negativeBit | smallest + (turn1*lower+upper)%digits)
	}
	return uint16(smallest + (turn2*lower+turn3*(upper+1))%digits)
}

// By the turns, digits change quickly from number to number. For each of turns, 1 - turn·turn1 has an inverse: the digits of two
// rounds are those of one number. Where by chance two weights look the same with one of them, they do not with the next.
const turn1, turn2, turn3 = 7919, 104729, 1299709

var turns = [...]int64{7918, 6142, 12286}

// numberOf is the number that the rounds say.
func (n *numbering) numberOf(low, high, other uint16) (int64, bool) {
	a, b := int64(low)-smallest, int64(high)-negativeBit-smallest
	if a < 0 || a >= digits || b < 0 || b >= digits {
		return 0, false
	}
	upper := modulo((b - turn1*a) % digits * n.inverse)
	number := upper*digits + modulo(a-n.turn*upper)
	return number, number < n.total && n.stamp(2, number) == other
}

func modulo(x int64) int64 { return (x%digits + digits) % digits }

// setTurn chooses how digits change.
func (n *numbering) setTurn(turn int64) {
	n.turn, n.inverse = turn, 1
	for modulo((1-turn*turn1)%digits*n.inverse) != 1 {
		n.inverse += 2
	}
}

// round is the function with the numbers of a round as weights.
func (n *numbering) round(f *mil.Function, r int) *mil.Function {
	cloner := mil.NewCloner(nil)
	made := *f
	made.Body = &mil.Block{Inputs: f.Body.Inputs, Attributes: f.Body.Attributes}
	for _, op := range f.Body.Operations {
		i := slices.IndexFunc(n.weights, func(w numberedWeight) bool { return w.op == op })
		if i >= 0 || cloner.Touches(op) {
			op = cloner.Operation(op)
		}
		if i >= 0 {
			w := &n.weights[i]
			k := &mil.Constant{Type: w.constant.Type, Tensor: n.numbers(w, r), Mutable: true}
			op.Attributes = slices.Clone(op.Attributes)
			op.Attributes.Set("val", k)
			if r == 0 {
				n.made = append(n.made, k)
			}
		}
		made.Body.Operations = append(made.Body.Operations, op)
	}
	made.Body.Outputs = cloner.Values(f.Body.Outputs)
	return &made
}

// numbers is the array of a round.
func (n *numbering) numbers(w *numberedWeight, r int) *tensor.Tensor {
	list := make([]uint16, w.count)
	for i := range list {
		list[i] = n.stamp(r, w.first+int64(i))
	}
	t, err := tensor.Of(list, w.shape...).Alias(tensor.Float16)
	if err == nil && w.dtype != tensor.Float16 {
		t, err = t.Convert(w.dtype)
	}
	if err != nil {
		panic("bug: " + err.Error()) // both are of 16 bits, and fp32 holds fp16
	}
	return t
}

// restore gives the first round the weights of the program again: the host reads them.
func (n *numbering) restore() {
	for i, k := range n.made {
		*k = *n.weights[i].constant
	}
}

// sections are the constants of a segment, by the names of their sections.
func sections(s *segment.Segment) map[string][]byte {
	const text, kernels = "__TEXT,__const", "__KERN_0,__kern_0"
	if s.Alone {
		return map[string][]byte{text: s.Packed.Data}
	}
	return map[string][]byte{text: s.Plan.Constants, kernels: s.Packed.Data}
}

// find searches the rounds for the elements.
func (n *numbering) find(rounds [3]*Function) error {
	for i, s := range rounds[0].Segments {
		var same [3]map[string][]byte
		for r, f := range rounds {
			if len(f.Segments) != len(rounds[0].Segments) || (f.Segments[i] == nil) != (s == nil) {
				return n.looked("what runs where")
			}
			if s == nil {
				continue
			}
			if (f.Segments[i].File == nil) != (s.File == nil) || s.File != nil && !bytes.Equal(f.Segments[i].File.Text().Data, s.File.Text().Data) {
				return n.looked("the tasks of " + s.Name)
			}
			same[r] = sections(f.Segments[i])
		}
		if s == nil {
			n.findInHost(rounds[0].Hosts[i], i)
			continue
		}
		for name := range same[0] {
			if err := n.search(i, name, same[0][name], same[1][name], same[2][name]); err != nil {
				return err
			}
		}
	}
	for i := range n.weights {
		w := &n.weights[i]
		slices.SortFunc(w.described.Parts, func(a, b bundle.WeightPart) int {
			return slices.Compare([]int64{int64(a.Segment), int64(len(a.Section)), a.At}, []int64{int64(b.Segment), int64(len(b.Section)), b.At})
		})
	}
	return nil
}

// A lookedError is about something that depends on the elements of a mutable weight.
type lookedError struct{ text string }

func (e *lookedError) Error() string { return e.text }

func (n *numbering) looked(what string) error {
	text := what + " would depend on the elements of mutable weights, which may change"
	var lost []string // which ones did
	for i := range n.weights {
		if w := &n.weights[i]; len(w.described.Parts) == 0 && len(w.described.Hosts) == 0 {
			lost = append(lost, w.described.Name)
		}
	}
	if len(lost) > 0 && len(lost) <= 3 {
		text += ": of " + strings.Join(lost, " or ")
	}
	return &lookedError{text}
}

// findInHost notes the weights that a host function reads.
func (n *numbering) findInHost(f *mil.Function, at int) {
	f.Body.Walk(func(op *mil.Operation) {
		for i := range n.weights {
			if op.Kind == "const" && op.Attributes.Get("val") == n.made[i] {
				n.weights[i].described.Hosts = append(n.weights[i].described.Hosts, at)
			}
		}
	})
}

// search finds the elements in a section.
func (n *numbering) search(segment int, name string, low, high, other []byte) error {
	if len(low) != len(high) || len(low) != len(other) {
		return n.looked("the size of " + name)
	}
	runs := make([]run, len(n.weights))
	found := make([][]nest, len(n.weights)*2) // of both widths
	same := func(from, to int) bool {
		return bytes.Equal(low[from:to], high[from:to]) && bytes.Equal(low[from:to], other[from:to])
	}
	for at := 0; at < len(low); {
		const many = 64
		if at%many == 0 && at+many+4 <= len(low) && same(at, at+many+4) { // nor does an element begin there
			at += many
			continue
		}
		number, width := n.elementAt(low, high, other, at)
		if width != 0 && at%2 != 0 { // as behind a mask of a stream, unless it only looks so
			if _, even := n.elementAt(low, high, other, at+1); even != 0 {
				width = 0
			}
		}
		if width == 0 {
			if !same(at, at+1) {
				return n.looked(fmt.Sprintf("the constants at byte %#x of %s", at, name))
			}
			at++
			continue
		}
		i, _ := slices.BinarySearchFunc(n.weights, number, func(w numberedWeight, number int64) int {
			switch {
			case number < w.first:
				return 1
			case number >= w.first+w.count:
				return -1
			}
			return 0
		})
		r := &runs[i]
		if !r.add(int64(at), number-n.weights[i].first, width) {
			found[2*i+r.width/4] = append(found[2*i+r.width/4], r.nest())
			*r = run{}
			r.add(int64(at), number-n.weights[i].first, width)
		}
		at += width
	}
	for i := range n.weights {
		if r := &runs[i]; r.count > 0 {
			found[2*i+r.width/4] = append(found[2*i+r.width/4], r.nest())
		}
		w := &n.weights[i]
		for half := range 2 {
			stored := [2]tensor.DType{tensor.Float16, tensor.Float32}[half]
			for _, nest := range gather(found[2*i+half]) {
				p := bundle.WeightPart{Segment: segment, Section: name, At: nest.at, First: nest.first, Loops: nest.loops}
				if stored != w.dtype {
					p.Type = stored.String()
				}
				w.described.Parts = append(w.described.Parts, p)
			}
		}
	}
	return nil
}

// elementAt is the number of the element at a byte, and how many bytes it has; 0 if there is none.
func (n *numbering) elementAt(low, high, other []byte, at int) (number int64, width int) {
	if at%4 == 0 && at+4 <= len(low) {
		a, ok1 := wideBits(low[at:])
		b, ok2 := wideBits(high[at:])
		c, ok3 := wideBits(other[at:])
		if number, ok := n.numberOf(a, b, c); ok && ok1 && ok2 && ok3 && n.typeOf(number) == tensor.Float32 {
			return number, 4
		}
	}
	if at+2 > len(low) {
		return 0, 0
	}
	u16 := func(b []byte) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
	if number, ok := n.numberOf(u16(low), u16(high), u16(other)); ok {
		return number, 2
	}
	return 0, 0
}

// wideBits are those of the fp16 number that an fp32 number is.
func wideBits(b []byte) (uint16, bool) {
	f := math.Float32frombits(binary.LittleEndian.Uint32(b))
	h := tensor.ToF16(f)
	return h, tensor.F16(h) == f
}

func (n *numbering) typeOf(number int64) tensor.DType {
	for i := range n.weights {
		if w := &n.weights[i]; number < w.first+w.count {
			return w.dtype
		}
	}
	return tensor.Invalid
}

// write puts the elements of the program where the numbers of the first round are.
func (n *numbering) write(s *segment.Segment, number int) error {
	for i := range n.weights {
		w := &n.weights[i]
		for j := range w.described.Parts {
			p := &w.described.Parts[j]
			if p.Segment != number {
				continue
			}
			stored, err := p.DType(&w.described)
			if err != nil {
				return err
			}
			elements, err := w.as(stored)
			if err != nil {
				return err
			}
			scatter(sections(s)[p.Section], elements, p.At, p.First, int64(stored.Size()), p.Loops)
		}
	}
	return nil
}

// as is the elements of the program in a type.
func (w *numberedWeight) as(d tensor.DType) ([]byte, error) {
	if data, ok := w.elements[d]; ok {
		return data, nil
	}
	t, err := w.constant.Load()
	if err == nil {
		t, err = t.Convert(d)
	}
	if err != nil {
		return nil, fmt.Errorf("weight %q: %w", w.described.Name, err)
	}
	w.elements[d] = t.Bytes()
	return w.elements[d], nil
}

func scatter(to, elements []byte, at, first, width int64, loops []bundle.WeightLoop) {
	if len(loops) == 0 {
		copy(to[at:at+width], elements[first*width:])
		return
	}
	for range loops[0].Count() {
		scatter(to, elements, at, first, width, loops[1:])
		at += loops[0].Bytes()
		first += loops[0].Elements()
	}
}
