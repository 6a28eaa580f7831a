package ops

import (
	"strings"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Def is an operation of the catalogue.
type Def struct {
	Name     string
	Doc      string    // what it computes, one line, for docs/ops.md
	Versions []Version // oldest first; each holds until the next one
	Infer    InferFunc // unless the version has its own
	Eval     EvalFunc  // unless the version has its own
	Lower    LowerFunc // nil: it has no native form, and HostOnly says why
	HostOnly string
	// Blocks is how many nested blocks the operation has.
	Blocks int
	// Impure operations read or change something beside their arguments (states, random numbers): they are
	// neither folded nor removed.
	Impure bool
	// Views operations take tensors as they lie, in their declared type where the evaluator would hold a wider one, and give
	// parts of them.
	Views bool
	// FromTypes operations look at the types of their arguments alone.
	FromTypes bool
}

// Version is an operation's signature from one opset on.
type Version struct {
	Since  Opset
	Params []Param
	Infer  InferFunc // nil: the Def's
	Eval   EvalFunc  // nil: the Def's
}

// InferFunc is a type rule: the types of the outputs for the arguments of a call. Parameters that the
// signature calls required are bound, constant ones have values, and element types are as the signature allows.
type InferFunc func(*Call) ([]mil.Type, error)

// EvalFunc computes a call whose arguments all have values and hands the results to Call.Return.
type EvalFunc func(*Call) error

// Param is a parameter of an operation.
type Param struct {
	Name     string
	Kind     ParamKind
	Types    TypeSet // element types; of a list or state, those of its elements
	Domain   string  // parameters with the same domain have the same element type
	Const    bool    // the argument must be known when the program is compiled
	Optional bool
	Default  any // bool, int, float32, string or a slice of these; nil: no value, or one that depends on other arguments
}

// ParamKind says what a parameter takes.
type ParamKind uint8

// The kinds of parameter.
const (
	OneTensor   ParamKind = iota // a tensor
	ManyTensors                  // one tensor or several, as (a, b, c)
	OneList                      // a list
	OneState                     // a state
	AnyValues                    // one value or several of any type: loop variables
)

// In is a required argument that may be computed at run time.
func In(name string, types TypeSet) Param { return Param{Name: name, Types: types} }

// Const is a required argument that must be constant.
func Const(name string, types TypeSet) Param { return Param{Name: name, Types: types, Const: true} }

// Opt is an argument that may be left out and may be computed at run time.
func Opt(name string, types TypeSet, def any) Param {
	return Param{Name: name, Types: types, Optional: true, Default: def}
}

// OptConst is an argument that may be left out and must be constant.
func OptConst(name string, types TypeSet, def any) Param {
	return Param{Name: name, Types: types, Optional: true, Const: true, Default: def}
}

// Many is a required argument that may be several tensors.
func Many(name string, types TypeSet) Param {
	return Param{Name: name, Types: types, Kind: ManyTensors}
}

// As ties the parameter's element type to those of the other parameters of a domain.
func (p Param) As(domain string) Param { p.Domain = domain; return p }

// Of changes what the parameter takes.
func (p Param) Of(k ParamKind) Param { p.Kind = k; return p }

// TypeSet is a set of element types.
type TypeSet uint32

// Types makes a set.
func Types(ds ...tensor.DType) TypeSet {
	var s TypeSet
	for _, d := range ds {
		s |= 1 << d
	}
	return s
}

// The sets that many signatures use.
const (
	F16     TypeSet = 1 << tensor.Float16
	F32     TypeSet = 1 << tensor.Float32
	I32     TypeSet = 1 << tensor.Int32
	I16     TypeSet = 1 << tensor.Int16
	I8      TypeSet = 1 << tensor.Int8
	U32     TypeSet = 1 << tensor.UInt32
	U16     TypeSet = 1 << tensor.UInt16
	U8      TypeSet = 1 << tensor.UInt8
	B       TypeSet = 1 << tensor.Bool
	Str     TypeSet = 1 << tensor.String
	Float           = F16 | F32
	Number          = Float | I32
	AnyType TypeSet = 1<<32 - 1
)

// Has reports whether d is in the set.
func (s TypeSet) Has(d tensor.DType) bool { return s>>d&1 != 0 }

// String lists the set: "fp16, fp32 or int32".
func (s TypeSet) String() string {
	if s == AnyType {
		return "any type"
	}
	var names []string
	for _, d := range tensor.DTypes() {
		if s.Has(d) {
			names = append(names, d.String())
		}
	}
	if len(names) > 1 {
		names[len(names)-2] += " or " + names[len(names)-1]
		names = names[:len(names)-1]
	}
	return strings.Join(names, ", ")
}

// Lookup finds an operation; nil if the catalogue has none of that name.
func Lookup(name string) *Def { return byName[name] }

// All returns the catalogue, in the order of the names.
func All() []*Def { return sorted }

// At returns the version of the operation that holds in an opset; nil if the opset does not have it yet.
func (d *Def) At(o Opset) *Version {
	var v *Version
	for i := range d.Versions {
		if d.Versions[i].Since <= o {
			v = &d.Versions[i]
		}
	}
	return v
}

// Param finds a parameter by name; nil if there is none.
func (v *Version) Param(name string) *Param {
	for i := range v.Params {
		if v.Params[i].Name == name {
			return &v.Params[i]
		}
	}
	return nil
}

// since is a shorthand for an operation with one signature.
func since(o Opset, params ...Param) []Version { return []Version{{Since: o, Params: params}} }
