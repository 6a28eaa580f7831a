package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Error is what is wrong with an operation of a program.
type Error struct {
	Function string
	Op       *mil.Operation
	Err      error
}

func (e *Error) Error() string {
	at := ""
	if p := e.Op.Pos.String(); p != "" {
		at = " (" + p + ")"
	}
	return fmt.Sprintf("function %s: %s %q%s: %v", e.Function, e.Op.Kind, e.Op.Name(), at, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// scope gives what is known of the arguments of an operation.
type scope interface {
	value(*mil.Value) (argument, error)
	constant(*mil.Constant) (argument, error)
}

// bind checks an operation against its signature and makes a Call of it.
func bind(op *mil.Operation, o Opset, s scope) (*Call, error) {
	def, v, err := version(op.Kind, o)
	if err != nil {
		return nil, err
	}
	c := &Call{Op: op, Def: def, Opset: o, version: v, args: make(map[string][]argument, len(v.Params))}
	if len(op.Blocks) != def.Blocks {
		return nil, fmt.Errorf("expected %d nested blocks, found %d", def.Blocks, len(op.Blocks))
	}
	for _, in := range op.Inputs {
		p := v.Param(in.Param)
		if p == nil {
			return nil, fmt.Errorf("unknown parameter %q%s", in.Param, didYouMean(in.Param, paramNames(v)))
		}
		for _, a := range in.Args {
			arg, err := resolve(s, a)
			if err != nil {
				return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
			}
			c.args[p.Name] = append(c.args[p.Name], arg)
		}
	}
	// The constexpr operations of iOS16 keep their parameters in attributes.
	for _, at := range op.Attributes {
		if p := v.Param(at.Name); p != nil && !c.Has(p.Name) {
			arg, err := s.constant(at.Value)
			if err != nil {
				return nil, fmt.Errorf("attribute %s: %w", p.Name, err)
			}
			c.args[p.Name] = []argument{arg}
		}
	}
	return c, c.checkSignature()
}

func resolve(s scope, a mil.Arg) (argument, error) {
	if a.Value != nil {
		return s.value(a.Value)
	}
	return s.constant(a.Const)
}

// version finds an operation in the catalogue, as it is in an opset.
func version(kind string, o Opset) (*Def, *Version, error) {
	def := Lookup(kind)
	if def == nil {
		return nil, nil, unknownOperation(kind)
	}
	v := def.At(o)
	if v == nil {
		return nil, nil, fmt.Errorf("the operation is not in opset %v: it comes with %v", o, def.Versions[0].Since)
	}
	return def, v, nil
}

func unknownOperation(kind string) error {
	if complexHelpers[kind] {
		return fmt.Errorf("%s is a helper of coremltools' converter that never reaches a file: it has no meaning at run time", kind)
	}
	names := make([]string, len(sorted))
	for i, d := range sorted {
		names[i] = d.Name
	}
	return fmt.Errorf("unknown operation %q%s", kind, didYouMean(kind, names))
}

func paramNames(v *Version) []string {
	names := make([]string, len(v.Params))
	for i := range v.Params {
		names[i] = v.Params[i].Name
	}
	return names
}

// checkSignature holds the arguments of a call against its signature and fills in defaults.
func (c *Call) checkSignature() error {
	domains := map[string]string{} // domain → the parameter that settled it
	for i := range c.version.Params {
		p := &c.version.Params[i]
		args := c.args[p.Name]
		if len(args) == 0 {
			if !p.Optional {
				return fmt.Errorf("parameter %s is missing", p.Name)
			}
			if p.Default != nil {
				t := defaultTensor(p.Default, p.Types)
				c.args[p.Name] = []argument{{typ: mil.TypeOf(t), val: hold(t), fixed: true}}
			}
			continue
		}
		if len(args) > 1 && p.Kind != ManyTensors && p.Kind != AnyValues {
			return fmt.Errorf("parameter %s takes one argument, found %d", p.Name, len(args))
		}
		for j := range args {
			if err := c.checkArgument(p, &args[j]); err != nil {
				return err
			}
			t, ok := args[j].typ.(*mil.TensorType)
			if !ok || p.Domain == "" {
				continue
			}
			if first, seen := domains[p.Domain]; !seen {
				domains[p.Domain] = p.Name
			} else if want := c.Type(first).DType; want != t.DType {
				return fmt.Errorf("parameter %s is %v, but must have the element type of %s, %v", p.Name, t, first, want)
			}
		}
	}
	return nil
}

func (c *Call) checkArgument(p *Param, a *argument) error {
	elem := a.typ
	switch t := a.typ.(type) {
	case *mil.ListType:
		if p.Kind != OneList && p.Kind != AnyValues {
			return fmt.Errorf("parameter %s is %v, expected a tensor", p.Name, t)
		}
		elem = t.Elem
	case *mil.StateType:
		if p.Kind != OneState && p.Kind != AnyValues {
			return fmt.Errorf("parameter %s is %v, expected a tensor", p.Name, t)
		}
		elem = t.Elem
	case *mil.TensorType:
		if p.Kind == OneList || p.Kind == OneState {
			return fmt.Errorf("parameter %s is %v, expected a %s", p.Name, t, map[ParamKind]string{OneList: "list", OneState: "state"}[p.Kind])
		}
	default:
		if p.Kind != AnyValues {
			return fmt.Errorf("parameter %s is %v, expected a tensor", p.Name, a.typ)
		}
	}
	if t, ok := elem.(*mil.TensorType); ok && !p.Types.Has(t.DType) {
		return fmt.Errorf("parameter %s is %v, expected %v", p.Name, a.typ, p.Types)
	}
	if p.Const && !a.fixed {
		return fmt.Errorf("parameter %s must be constant", p.Name)
	}
	return nil
}

// defaultTensor makes a tensor of a signature's default, of the first type that the parameter allows.
func defaultTensor(def any, types TypeSet) *tensor.Tensor {
	switch v := def.(type) {
	case bool:
		return tensor.Scalar(v)
	case int:
		for _, d := range tensor.DTypes() {
			if types.Has(d) && d.IsInteger() {
				return tensor.FromInt64s(d, []int64{int64(v)})
			}
		}
		return tensor.Scalar(int32(v))
	case []int:
		vals := make([]int32, len(v))
		for i := range v {
			vals[i] = int32(v[i])
		}
		return tensor.Of(vals, len(v))
	case float32:
		return tensor.Scalar(v)
	case float64:
		return tensor.Scalar(float32(v))
	case string:
		return tensor.Scalar(v)
	}
	panic(fmt.Sprintf("bug: default of type %T", def))
}

// constantValue is the value of a constant, as the evaluator holds it.
func constantValue(k *mil.Constant) (Value, error) {
	if k.Items != nil || isListOfTensors(k.Type) {
		return constantList(k)
	}
	t, err := k.Load()
	if err != nil {
		return nil, err
	}
	return hold(t), nil
}

func isListOfTensors(t mil.Type) bool { _, ok := t.(*mil.ListType); return ok }

// constantList holds a list or tuple of arrays.
func constantList(k *mil.Constant) (Value, error) {
	l := &List{}
	for _, item := range k.Items {
		t, err := item.Load()
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, hold(t))
	}
	return l, nil
}

// hold converts a tensor to the element type in which the evaluator keeps it.
func hold(t *tensor.Tensor) *tensor.Tensor {
	d := held(t.DType())
	if d == t.DType() {
		return t
	}
	return tensor.Of(t.Float32s(), t.Shape()...)
}

// complexHelpers are the operations of coremltools' complex dialect, which its converter lowers before a
// program is saved.
var complexHelpers = map[string]bool{
	"complex": true, "complex_real": true, "complex_imag": true, "complex_fft": true, "complex_fftn": true,
	"complex_ifft": true, "complex_ifftn": true, "complex_rfft": true, "complex_rfftn": true,
	"complex_irfft": true, "complex_irfftn": true, "complex_shape": true, "complex_abs": true,
	"complex_stft": true,
}
