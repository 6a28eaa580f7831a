package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/tensor"
)

// indexRule says what the indices of the gather and scatter operations may be.
//
// From iOS17 on validate_indices decides: true refuses all that is not in [0, length), when the program is compiled or
// when it runs; with false the result is "undefined but memory safe". Until then an index below zero counts from the
// end, and of others nothing is said. Here one rule holds on every unit:
//
//	                              in [0, n)   in [-n, 0)     elsewhere
//	until iOS17, constant         that place  from the end   an IndexError
//	until iOS17, live             that place  from the end   reads zero, and swallows what is written to it
//	validate_indices = false      that place  from the end   reads zero, and swallows what is written to it
//	validate_indices = true       that place  an IndexError  an IndexError
//
// Programs use indices that lie nowhere as padding, and mask the result. A task of an engine has no way to report an
// index, so that live ones that are checked are the host's.
type indexRule struct {
	fromEnd bool // -1 is the last position
	strict  bool // what is out of range is an error
}

func indexRuleOf(c *Call) indexRule {
	if !c.Has("validate_indices") {
		return indexRule{fromEnd: true, strict: c.ctx == nil} // when it runs, all indices are known
	}
	validate := validates(c)
	return indexRule{fromEnd: !validate, strict: validate}
}

// validates reports whether indices are checked when the program runs.
func validates(c *Call) bool { return c.Has("validate_indices") && c.Bool("validate_indices") }

// nowhere is the position of an index that is out of range and need not be in it.
const nowhere = -1

// position is where an index points on an axis of length n; an out-of-range one is nowhere.
func (r indexRule) position(index int64, n int) int {
	if r.fromEnd && index < 0 {
		index += int64(n)
	}
	if index < 0 || index >= int64(n) {
		return nowhere
	}
	return int(index)
}

// check refuses an out-of-range index where the rule is strict. i is its place among the indices, for the message.
func (r indexRule) check(i int, index int64, n int) error {
	if !r.strict || r.position(index, n) != nowhere {
		return nil
	}
	e := &IndexError{Element: i, Index: index, Length: n}
	if r.fromEnd {
		e.Lowest = -n
	}
	return e
}

// An IndexError is about an index that points at no place of an axis, of an operation that has its indices checked.
type IndexError struct {
	Element int   // among the indices, in row-major order
	Index   int64 // what is there
	Lowest  int   // that it may be
	Length  int   // of the axis
}

func (e *IndexError) Error() string {
	if e.Length == 0 {
		return fmt.Sprintf("indices has %d at element %d, but the axis that it points into is empty", e.Index, e.Element)
	}
	return fmt.Sprintf("indices has %d at element %d, expected %d to %d", e.Index, e.Element, e.Lowest, e.Length-1)
}

// checkIndices holds all known indices into one axis against the rule.
func checkIndices(c *Call, length tensor.Dim) error {
	rule := indexRuleOf(c)
	if !rule.strict || !length.Known() || !c.Known("indices") {
		return nil
	}
	return eachIndex(c, func(i int, index int64) error { return rule.check(i, index, int(length)) })
}

// eachIndex calls f with the indices, until one is wrong.
func eachIndex(c *Call, f func(i int, index int64) error) error {
	indices := c.Int64s("indices")
	for lo, hi := range c.pieces(len(indices)) {
		for i := lo; i < hi; i++ {
			if err := f(i, indices[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// positions are where the indices of a call point on an axis of length n.
func positions(c *Call, n int) []int {
	rule := indexRuleOf(c)
	indices := c.Int64s("indices")
	at := make([]int, len(indices))
	for lo, hi := range c.pieces(len(indices)) {
		for i := lo; i < hi; i++ {
			at[i] = rule.position(indices[i], n)
		}
	}
	return at
}

// checkIndexVectors is checkIndices for gather_nd and scatter_nd, whose last axis of indices holds one index
// for each of the axes of length lengths.
func checkIndexVectors(c *Call, lengths tensor.Shape) error {
	rule := indexRuleOf(c)
	dims, ok := lengths.Ints()
	if !rule.strict || !ok || !c.Known("indices") {
		return nil
	}
	return eachIndex(c, func(i int, index int64) error {
		if err := rule.check(i, index, dims[i%len(dims)]); err != nil {
			return fmt.Errorf("%w on axis %d", err, i%len(dims))
		}
		return nil
	})
}

// vectorPositions are the row-major positions, in an array of shape dims, to which count index vectors point.
func vectorPositions(c *Call, dims []int, count int) []int {
	rule := indexRuleOf(c)
	indices := c.Int64s("indices")
	at := make([]int, count)
	for lo, hi := range c.pieces(count) {
		for i := lo; i < hi; i++ {
			for j, n := range dims {
				p := rule.position(indices[i*len(dims)+j], n)
				if p == nowhere {
					at[i] = nowhere
					break
				}
				at[i] = at[i]*n + p
			}
		}
	}
	return at
}

// mustMatch compares a shape with the one that the other arguments demand.
func mustMatch(what string, got, want tensor.Shape, because string) error {
	if got.Compatible(want) {
		return nil
	}
	return fmt.Errorf("%s has shape %v, expected %v: %s", what, got, want, because)
}

// joinShapes writes shapes one after the other.
func joinShapes(parts ...tensor.Shape) tensor.Shape {
	out := tensor.Shape{}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
