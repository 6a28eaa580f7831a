package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// A Summary is the range of an array of numbers.
type Summary struct {
	Min, Max, Mean float64 // of the finite elements
	Finite         int
	NaN, Infinite  int
}

// Summarize finds the range of an array of numbers.
func Summarize(t *tensor.Tensor) Summary {
	s := Summary{Min: math.Inf(1), Max: math.Inf(-1)}
	sum := 0.0
	for _, v := range t.Float64s() {
		switch {
		case math.IsNaN(v):
			s.NaN++
		case math.IsInf(v, 0):
			s.Infinite++
		default:
			s.Finite++
			s.Min, s.Max = min(s.Min, v), max(s.Max, v)
			sum += v
		}
	}
	s.Mean = sum / float64(s.Finite)
	return s
}

// Range describes the range of an array; "" if it has none.
func Range(t *tensor.Tensor) string {
	switch {
	case t.DType() == tensor.String:
		return ""
	case t.DType() == tensor.Bool:
		n := 0
		for _, v := range t.Int64s() {
			n += int(v)
		}
		return fmt.Sprintf("%d of %d true", n, t.Len())
	}
	s := Summarize(t)
	var parts []string
	if s.Finite > 0 {
		parts = append(parts, fmt.Sprintf("from %s to %s, mean %s", Short(s.Min), Short(s.Max), Short(s.Mean)))
	}
	if s.NaN > 0 {
		parts = append(parts, fmt.Sprintf("%d NaN", s.NaN))
	}
	if s.Infinite > 0 {
		parts = append(parts, fmt.Sprintf("%d infinite", s.Infinite))
	}
	return strings.Join(parts, ", ")
}

// ShownElements is how many elements of an array a report shows.
const ShownElements = 8

// First are the first elements of an array as a list, no more than ShownElements; nil if it has none.
func First(t *tensor.Tensor) *Nested {
	n := min(t.Len(), ShownElements)
	if n == 0 {
		return nil
	}
	flat, err := t.Reshape(t.Len())
	if err == nil {
		flat, err = flat.Slice(0, 0, n, 1)
	}
	if err != nil {
		panic("bug: the first elements of " + t.String() + ": " + err.Error())
	}
	return &Nested{flat}
}

// Text lists the elements, the first of so many.
func (n *Nested) Text(of int) string {
	if n == nil {
		return ""
	}
	var parts []string
	for i := range n.Len() {
		parts = append(parts, Element(n.Tensor, i))
	}
	if of > n.Len() {
		parts = append(parts, "…")
	}
	return strings.Join(parts, " ")
}

// Element is an element as people read it.
func Element(t *tensor.Tensor, i int) string {
	switch d := t.DType(); {
	case d == tensor.String:
		return strconv.Quote(t.Strings()[i])
	case d == tensor.Bool:
		return strconv.FormatBool(t.Int64s()[i] != 0)
	case d == tensor.UInt64:
		return strconv.FormatUint(uint64(t.Int64s()[i]), 10)
	case d.IsFloat():
		return Short(t.Float64s()[i])
	}
	return strconv.FormatInt(t.Int64s()[i], 10)
}
