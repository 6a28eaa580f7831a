package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
)

// stateTypes are the element types that may be written to a state.
const stateTypes = B | Float | I8 | I16 | I32 | U8 | U16

var stateOps = []Def{
	{
		Name:     "read_state",
		Doc:      "the value that a state has now",
		Versions: since(IOS18, In("input", AnyType).Of(OneState)),
		Impure:   true,
		Infer: func(c *Call) ([]mil.Type, error) {
			t, err := stateElem(c, "input")
			return []mil.Type{t}, err
		},
		Eval: func(c *Call) error {
			c.Return(0, c.Value("input").(*State).Read())
			return nil
		},
		Lower: lowerReadState,
	},
	{
		Name:     "write_state",
		Doc:      "gives a state a new value; it has no result",
		Versions: since(IOS18, In("input", AnyType).Of(OneState), In("data", stateTypes)),
		Impure:   true,
		Views:    true,
		Infer: func(c *Call) ([]mil.Type, error) {
			return nil, checkStateWrite(c, "input", "data")
		},
		Eval: func(c *Call) error {
			c.Value("input").(*State).Write(c.Tensor("data"))
			return nil
		},
		Lower: lowerWriteState,
	},
	{
		Name:     "coreml_update_state",
		Doc:      "gives a state a new value, which is also the result; in files it is a write_state and a read_state",
		Versions: since(IOS18, In("state", AnyType).Of(OneState), In("value", stateTypes).As("T")),
		Impure:   true,
		Infer: func(c *Call) ([]mil.Type, error) {
			return []mil.Type{c.Type("value")}, checkStateWrite(c, "state", "value")
		},
		Eval: func(c *Call) error {
			v := c.Tensor("value")
			c.Value("state").(*State).Write(v)
			c.Return(0, v)
			return nil
		},
		Lower: lowerUpdateState,
	},
}

// stateElem is the type of a state's value.
func stateElem(c *Call, name string) (*mil.TensorType, error) {
	t := c.AnyType(name, 0).(*mil.StateType)
	elem, ok := t.Elem.(*mil.TensorType)
	if !ok {
		return nil, fmt.Errorf("parameter %s is %v, expected a state that holds a tensor", name, t)
	}
	return elem, nil
}

func checkStateWrite(c *Call, state, value string) error {
	elem, err := stateElem(c, state)
	if err != nil {
		return err
	}
	if !mil.Compatible(elem, c.Type(value)) {
		return fmt.Errorf("parameter %s is %v, but the state holds %v", value, c.Type(value), elem)
	}
	return nil
}
