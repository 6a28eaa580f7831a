package tensor

import (
	"fmt"
	"strconv"
	"strings"
)

// Dim is the length of one axis. A negative Dim is not known: Unknown, or a symbol that stands for the same
// length wherever it occurs in one function.
type Dim int64

// Unknown is a length about which nothing is known, not even that it equals another one.
const Unknown Dim = -1

// Symbol returns the i-th symbolic length.
func Symbol(i int) Dim { return Dim(-2 - i) }

// Known reports whether d is a length.
func (d Dim) Known() bool { return d >= 0 }

// String returns the length, "?" for Unknown and "s0", "s1" … for symbols.
func (d Dim) String() string {
	switch {
	case d >= 0:
		return strconv.FormatInt(int64(d), 10)
	case d == Unknown:
		return "?"
	}
	return "s" + strconv.FormatInt(int64(-2-d), 10)
}

// Shape is the lengths of all axes, outermost first. An empty shape is a scalar.
type Shape []Dim

// ShapeOf makes a shape of known lengths.
func ShapeOf(dims ...int) Shape {
	s := make(Shape, len(dims))
	for i, d := range dims {
		s[i] = Dim(d)
	}
	return s
}

// Known reports whether every length is known.
func (s Shape) Known() bool {
	for _, d := range s {
		if !d.Known() {
			return false
		}
	}
	return true
}

// Ints returns the lengths; false if one is not known.
func (s Shape) Ints() ([]int, bool) {
	out := make([]int, len(s))
	for i, d := range s {
		if !d.Known() {
			return nil, false
		}
		out[i] = int(d)
	}
	return out, true
}

// Count returns the number of elements; false if a length is unknown or the product overflows.
func (s Shape) Count() (int, bool) {
	dims, ok := s.Ints()
	if !ok {
		return 0, false
	}
	return Count(dims)
}

// Equal reports whether both shapes have the same lengths and symbols; Unknown equals nothing but Unknown.
func (s Shape) Equal(t Shape) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if s[i] != t[i] {
			return false
		}
	}
	return true
}

// Compatible reports whether some array could have both shapes: lengths that are known must agree.
func (s Shape) Compatible(t Shape) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if s[i].Known() && t[i].Known() && s[i] != t[i] {
			return false
		}
	}
	return true
}

// String formats the shape as "[1, ?, 3]".
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(d.String())
	}
	b.WriteByte(']')
	return b.String()
}

// Count multiplies lengths; false if one is negative or the product exceeds 2^48, far beyond any memory
// and small enough that bit counts and byte offsets cannot overflow.
func Count(dims []int) (int, bool) {
	n, empty := 1, false
	for _, d := range dims {
		switch {
		case d < 0:
			return 0, false
		case d == 0:
			empty = true
		case n > (1<<48)/d:
			return 0, false
		default:
			n *= d
		}
	}
	if empty {
		return 0, true
	}
	return n, true
}

// BroadcastDim is the length of an axis on which a and b meet under NumPy's rule; false if they cannot.
func BroadcastDim(a, b Dim) (Dim, bool) {
	switch {
	case a == b:
		return a, true
	case a == 1:
		return b, true
	case b == 1:
		return a, true
	case a.Known() && b.Known():
		return 0, false
	case a.Known(): // b must be 1 or a
		return a, true
	case b.Known():
		return b, true
	}
	return Unknown, true
}

// Broadcast is the shape of an elementwise operation on a and b under NumPy's rule.
func Broadcast(a, b Shape) (Shape, error) {
	out := make(Shape, max(len(a), len(b)))
	for i := range out {
		da, db := Dim(1), Dim(1)
		if j := i - len(out) + len(a); j >= 0 {
			da = a[j]
		}
		if j := i - len(out) + len(b); j >= 0 {
			db = b[j]
		}
		d, ok := BroadcastDim(da, db)
		if !ok {
			return nil, fmt.Errorf("shapes %v and %v do not broadcast: axis %d has lengths %v and %v", a, b, i-len(out), da, db)
		}
		out[i] = d
	}
	return out, nil
}
