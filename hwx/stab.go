package hwx

import (
	"fmt"
	"strconv"
	"strings"
)

// A Shape is the stab that describes a port in the symbol table (h13 1.7, seed
// listings 23.5 and 23.6): arrays of arrays, outermost first, whose index types
// carry the stride in bytes and the axis.
//
//	image:t11=ar1;0;1;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;1;15=s2w:5
type Shape struct {
	Name    string
	Number  int // of the type; each of its axes has one, too
	Axes    []Axis
	Element Element
}

// An Axis is one term of a Shape.
type Axis struct {
	Extent uint64
	Number int
	Stride uint64 // bytes
	Letter byte   // n, c, h or w
}

// shapeNumbers is how many type numbers a port takes up: its own and one for
// each of its four axes.
const shapeNumbers = 5

// String is the stab.
func (s Shape) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:t%d=", s.Name, s.Number)
	for _, a := range s.Axes {
		fmt.Fprintf(&b, "ar1;0;%d;%d=s%d%c:", a.Extent, a.Number, a.Stride, a.Letter)
	}
	fmt.Fprintf(&b, "%d", uint32(s.Element))
	return b.String()
}

// shapeOf makes the stab of a port whose numbers begin with first.
func shapeOf(name string, first int, element Element, extents [4]uint32, strides [4]uint64) Shape {
	s := Shape{Name: name, Number: first, Element: element}
	for i, letter := range []byte("nchw") {
		s.Axes = append(s.Axes, Axis{uint64(extents[i]), first + 1 + i, strides[i], letter})
	}
	return s
}

// ParseShape reads the stab of a port. Formatting what it returns gives the
// stab.
func ParseShape(stab string) (Shape, error) {
	bad := func(at int, want string) (Shape, error) {
		return Shape{}, fmt.Errorf("shape %q: at %q: want %s", stab, stab[at:], want)
	}
	// A name may hold colons; the type cannot hold a colon before a `t`.
	colon := strings.LastIndex(stab, ":t")
	if colon < 0 {
		return bad(0, "`:t` before the type")
	}
	s := Shape{Name: stab[:colon]}
	rest := stab[colon+2:]
	at := func() int { return len(stab) - len(rest) }

	number, ok := cutNumber(&rest)
	if !ok || !cut(&rest, "=") || number > maxTypeNumber {
		return bad(at(), "the number of the type and `=`")
	}
	s.Number = int(number)
	for cut(&rest, "ar1;0;") {
		var a Axis
		if a.Extent, ok = cutNumber(&rest); !ok || !cut(&rest, ";") {
			return bad(at(), "an extent and `;`")
		}
		if number, ok = cutNumber(&rest); !ok || !cut(&rest, "=s") || number > maxTypeNumber {
			return bad(at(), "the number of an index type and `=s`")
		}
		a.Number = int(number)
		if a.Stride, ok = cutNumber(&rest); !ok || rest == "" || rest[0] < 'a' || rest[0] > 'z' {
			return bad(at(), "a stride and the letter of its axis")
		}
		a.Letter, rest = rest[0], rest[1:]
		if !cut(&rest, ":") {
			return bad(at(), "`:`")
		}
		s.Axes = append(s.Axes, a)
	}
	number, ok = cutNumber(&rest)
	if !ok || rest != "" || number > maxTypeNumber {
		return bad(at(), "`ar1;0;` or the number of the element type")
	}
	s.Element = Element(number)
	return s, nil
}

const maxTypeNumber = 1<<31 - 1

func cut(s *string, prefix string) bool {
	rest, ok := strings.CutPrefix(*s, prefix)
	*s = rest
	return ok
}

// cutNumber takes a decimal number, written without needless zeros.
func cutNumber(s *string) (uint64, bool) {
	n := 0
	for n < len(*s) && (*s)[n] >= '0' && (*s)[n] <= '9' {
		n++
	}
	v, err := strconv.ParseUint((*s)[:n], 10, 64)
	if err != nil || n > 1 && (*s)[0] == '0' {
		return 0, false
	}
	*s = (*s)[n:]
	return v, true
}

// ParseElementType reads an entry of the element-type catalogue in the symbol
// table: name, number and range.
func ParseElementType(stab string) (ElementType, error) {
	name, rest, ok := strings.Cut(stab, ":t")
	number, ok2 := cutNumber(&rest)
	if !ok || !ok2 || !cut(&rest, "=") || number > maxTypeNumber {
		return ElementType{}, fmt.Errorf("element type %q: want a name, `:t`, a number, `=` and a range", stab)
	}
	t := ElementType{Number: Element(number), Name: name, Range: rest}
	if known, ok := t.Number.Type(); ok && known.Stab() == stab {
		return known, nil
	}
	t.Confidence = Unknown
	return t, nil
}

// Shapes lists the shapes in the symbol table.
func (f *File) Shapes() ([]Shape, error) {
	var shapes []Shape
	for i, sym := range f.Symbols {
		if sym.Type != SymbolShape {
			continue
		}
		s, err := ParseShape(f.SymbolName(sym))
		if err != nil {
			return nil, damage(f.symbolOffset(i), "%v", err)
		}
		shapes = append(shapes, s)
	}
	return shapes, nil
}

// Catalogue lists the element types in the symbol table.
func (f *File) Catalogue() ([]ElementType, error) {
	var list []ElementType
	for i, sym := range f.Symbols {
		if sym.Type != SymbolElement {
			continue
		}
		t, err := ParseElementType(f.SymbolName(sym))
		if err != nil {
			return nil, damage(f.symbolOffset(i), "%v", err)
		}
		list = append(list, t)
	}
	return list, nil
}
