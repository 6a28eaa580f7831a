package anec

import (
	"fmt"
	"reflect"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Fields in words, for people who write network descriptions.

// Default is what a field of a kind holds if nothing is said, as text has it; "" of a token or type that has to be said.
func (f Field) Default(k Kind) string {
	v := reflect.ValueOf(NewParams(k)).Elem().FieldByIndex(f.index)
	if t, ok := v.Interface().(named); ok && !t.Valid() || v.Interface() == tensor.Invalid {
		return ""
	}
	return formatValue(v)
}

// A token has a name: it stands for a number.
type named interface {
	Valid() bool
	String() string
}

// Type says what a field of a kind holds, in words.
func (f Field) Type(k Kind) string {
	return typeWords(reflect.TypeOf(NewParams(k)).Elem().FieldByIndex(f.index).Type)
}

func typeWords(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[td.Axes]():
		return "set of axes"
	case reflect.TypeFor[td.Axis]():
		return "axis"
	case reflect.TypeFor[tensor.DType]():
		return "element type"
	case reflect.TypeFor[Dims]():
		return "extents N, D, C, H, W"
	case reflect.TypeFor[Perm]():
		return "permutation of the axes"
	}
	switch t.Kind() {
	case reflect.Int:
		return "integer"
	case reflect.Bool:
		return "boolean"
	case reflect.Float32:
		return "number"
	case reflect.Uint8:
		return "token"
	case reflect.Array:
		return fmt.Sprintf("%d %ss", t.Len(), typeWords(t.Elem()))
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[td.Axis]() {
			return "list of axes"
		}
		return fmt.Sprintf("list of %ss", typeWords(t.Elem()))
	}
	panic(fmt.Sprintf("bug: a field of %v", t))
}

// Tokens are the names that a token of a field may have; nil if it holds none.
func (f Field) Tokens(k Kind) (names []string) {
	v := reflect.New(reflect.TypeOf(NewParams(k)).Elem().FieldByIndex(f.index).Type).Elem()
	if _, ok := v.Interface().(named); !ok || v.Kind() != reflect.Uint8 || typeWords(v.Type()) != "token" {
		return nil
	}
	for i := range 256 {
		v.SetUint(uint64(i))
		if t := v.Interface().(named); t.Valid() {
			names = append(names, t.String())
		}
	}
	return names
}
