package report

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/espalier-ane/espalier/tensor"
)

// A Number is a float that may be NaN or infinite, which JSON numbers cannot: then it is a string.
type Number float64

func (n Number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n), 64), nil }

// appendNumber writes a float of the given width with as few digits as tell it from its neighbours.
func appendNumber(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

// Nested is an array as nested lists, the form in which inputs are read too.
type Nested struct{ *tensor.Tensor }

func (n Nested) MarshalJSON() ([]byte, error) {
	var element func(b []byte, i int) []byte
	switch d := n.DType(); {
	case d == tensor.String:
		vals := n.Strings()
		element = func(b []byte, i int) []byte {
			text, _ := json.Marshal(vals[i]) // strings have no errors
			return append(b, text...)
		}
	case d == tensor.Bool:
		vals := n.Int64s()
		element = func(b []byte, i int) []byte { return strconv.AppendBool(b, vals[i] != 0) }
	case d == tensor.UInt64:
		vals := tensor.Data[uint64](n.Tensor)
		element = func(b []byte, i int) []byte { return strconv.AppendUint(b, vals[i], 10) }
	case d.IsFloat():
		vals, bits := n.Float64s(), 32
		if d == tensor.Float64 {
			bits = 64
		}
		element = func(b []byte, i int) []byte { return appendNumber(b, vals[i], bits) }
	default:
		vals := n.Int64s()
		element = func(b []byte, i int) []byte { return strconv.AppendInt(b, vals[i], 10) }
	}
	next := 0
	var write func(b []byte, shape []int) []byte
	write = func(b []byte, shape []int) []byte {
		if len(shape) == 0 {
			next++
			return element(b, next-1)
		}
		b = append(b, '[')
		for i := range shape[0] {
			if i > 0 {
				b = append(b, ',')
			}
			b = write(b, shape[1:])
		}
		return append(b, ']')
	}
	return write(nil, n.Shape()), nil
}

// An Object is a JSON object whose members keep their order.
type Object []Member

// A Member is a member of an Object.
type Member struct {
	Name  string
	Value any
}

// Add adds a member.
func (o *Object) Add(name string, value any) { *o = append(*o, Member{name, value}) }

func (o Object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.Value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// Last keeps the last value of a name that is there twice, at its first place. It reuses the memory of the object.
func (o Object) Last() Object {
	place := map[string]int{}
	kept := o[:0]
	for _, m := range o {
		if at, twice := place[m.Name]; twice {
			kept[at] = m
			continue
		}
		place[m.Name] = len(kept)
		kept = append(kept, m)
	}
	return kept
}
