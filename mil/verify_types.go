package mil

import (
	"fmt"

	"github.com/espalier-ane/espalier/tensor"
)

// checkType says what is wrong with a type that is inside depth others; "" if nothing is.
func checkType(t Type, depth int) string {
	const missing = "a type is missing"
	depth++
	if depth > maxNesting {
		return fmt.Sprintf("types are nested more than %d levels deep", maxNesting)
	}
	switch t := t.(type) {
	case *TensorType:
		switch {
		case t == nil:
			return missing
		case t.DType.Kind() == tensor.KindNone:
			return "an element type is missing"
		case t.AnyRank && len(t.Shape) > 0:
			return fmt.Sprintf("the type has the shape %v, yet says that its rank is not known", t.Shape)
		case !sizeFits(t):
			return fmt.Sprintf("%v has too many elements", t)
		case depth+len(t.Shape) > maxNesting:
			return fmt.Sprintf("a tensor of rank %d, %d levels deep in blocks and types: expected %d levels at most, axes too", len(t.Shape), depth, maxNesting)
		}
		return ""
	case *ListType:
		if t == nil {
			return missing
		}
		return checkType(t.Elem, depth)
	case *TupleType:
		if t == nil {
			return missing
		}
		for _, e := range t.Elems {
			if msg := checkType(e, depth); msg != "" {
				return msg
			}
		}
		return ""
	case *DictType:
		if t == nil {
			return missing
		}
		if msg := checkType(t.Key, depth); msg != "" {
			return msg
		}
		return checkType(t.Value, depth)
	case *StateType:
		if t == nil {
			return missing
		}
		return checkType(t.Elem, depth)
	}
	return missing
}

// sizeFits reports whether the lengths that are known multiply to what an array may have.
func sizeFits(t *TensorType) bool {
	var known []int
	for _, d := range t.Shape {
		if d.Known() {
			if d != tensor.Dim(int(d)) {
				return false
			}
			known = append(known, int(d))
		}
	}
	_, ok := tensor.Count(known)
	return ok
}

// checkConstant says what is wrong with a constant; "" if nothing is.
func checkConstant(c *Constant, depth int) string {
	if c == nil {
		return "a constant is missing"
	}
	if msg := checkType(c.Type, depth); msg != "" {
		return msg
	}
	return checkContent(c, depth)
}

// checkContent is checkConstant for a constant whose type is good.
func checkContent(c *Constant, depth int) string {
	depth++
	t, isTensor := c.Type.(*TensorType)
	_, isDict := c.Type.(*DictType)
	switch {
	case !isTensor && (c.Tensor != nil || c.File != nil):
		return fmt.Sprintf("a constant of type %v cannot hold an array", c.Type)
	case (isTensor || isDict) && len(c.Items) > 0 || !isDict && len(c.Entries) > 0:
		return fmt.Sprintf("a constant of type %v holds elements that it cannot have", c.Type)
	case isTensor:
		return checkArray(c, t)
	}
	switch t := c.Type.(type) {
	case *ListType:
		return checkList(c, t, depth)
	case *TupleType:
		return checkTuple(c, t, depth)
	case *DictType:
		for i, e := range c.Entries {
			if msg := checkItem(e.Key, t.Key, depth); msg != "" {
				return fmt.Sprintf("key of entry %d: %s", i, msg)
			}
			if msg := checkItem(e.Value, t.Value, depth); msg != "" {
				return fmt.Sprintf("value of entry %d: %s", i, msg)
			}
		}
		return ""
	}
	return fmt.Sprintf("a constant cannot have type %v", c.Type)
}

func checkArray(c *Constant, t *TensorType) string {
	switch {
	case (c.Tensor == nil) == (c.File == nil):
		return fmt.Sprintf("a constant of type %v must be in the program or in a file, in one of the two", t)
	case t.AnyRank:
		return fmt.Sprintf("a constant cannot have type %v: its rank must be known", t)
	case c.File != nil && c.File.Path == "":
		return "a constant is in a file without a path"
	case c.Tensor != nil && !Compatible(t, TypeOf(c.Tensor)):
		return fmt.Sprintf("a constant of type %v holds an array of type %v", t, TypeOf(c.Tensor))
	}
	return ""
}

func checkList(c *Constant, t *ListType, depth int) string {
	if t.Length.Known() && int(t.Length) != len(c.Items) {
		return fmt.Sprintf("a constant of type %v has length %d", t, len(c.Items))
	}
	for i, item := range c.Items {
		if msg := checkItem(item, t.Elem, depth); msg != "" {
			return fmt.Sprintf("element %d: %s", i, msg)
		}
	}
	return ""
}

// checkTuple accepts a tuple without elements whatever its type: compilers write FlexibleShapeInformation so.
func checkTuple(c *Constant, t *TupleType, depth int) string {
	if len(c.Items) > 0 && len(c.Items) != len(t.Elems) {
		return fmt.Sprintf("a constant of type %v has length %d", t, len(c.Items))
	}
	for i, item := range c.Items {
		if msg := checkItem(item, t.Elems[i], depth); msg != "" {
			return fmt.Sprintf("element %d: %s", i, msg)
		}
	}
	return ""
}

// checkItem checks a constant inside another one, which says what type it has.
func checkItem(c *Constant, want Type, depth int) string {
	if c != nil && c.Type == want {
		return checkContent(c, depth) // the very same type, which the constant around it has seen checked
	}
	if msg := checkConstant(c, depth); msg != "" {
		return msg
	}
	if !Equal(c.Type, want) {
		return fmt.Sprintf("expected type %v, found %v", want, c.Type)
	}
	return ""
}
