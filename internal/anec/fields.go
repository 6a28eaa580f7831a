package anec

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A Field is a field of a kind: its name in Go, and Apple's netplist key, if there
// is one. Its name in text is that of its attribute: see dialect.go.
type Field struct {
	Name, Net string
	Inferred  bool // no source has the key
	index     []int
}

// Fields returns the fields of a kind, in order.
func Fields(k Kind) []Field { return fieldsOf(reflect.TypeOf(NewParams(k)).Elem(), nil) }

func fieldsOf(t reflect.Type, at []int) (fields []Field) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), at...), i)
		if f.Anonymous {
			fields = append(fields, fieldsOf(f.Type, index)...)
			continue
		}
		net, inferred := strings.CutSuffix(f.Tag.Get("net"), "?")
		fields = append(fields, Field{Name: f.Name, Net: net, Inferred: inferred, index: index})
	}
	return fields
}

// parseParam sets the field with a name.
func parseParam(p Params, name, text string) error {
	f, ok := fieldNamed(p.Info().Kind, name)
	if !ok {
		return fmt.Errorf("%v has no field %s", p.Info().Kind, name)
	}
	if err := parseValue(reflect.ValueOf(p).Elem().FieldByIndex(f.index), text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func fieldNamed(k Kind, name string) (Field, bool) {
	for _, f := range Fields(k) {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

func formatValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case td.Axes:
		if x == 0 {
			return "none"
		}
		return axesString(x)
	case float32:
		return formatFloat(x)
	case fmt.Stringer:
		if v.Kind() == reflect.Uint8 { // tokens, axes and element types
			return x.String()
		}
	}
	if k := v.Kind(); k == reflect.Slice || k == reflect.Array {
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = formatValue(v.Index(i))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return fmt.Sprint(v.Interface())
}

func formatFloat(f float32) string { return strconv.FormatFloat(float64(f), 'g', -1, 32) }

func parseFloat(s string) (float32, error) {
	f, err := strconv.ParseFloat(s, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return float32(f), nil
}

// maxList bounds the lists in text.
const maxList = 1 << 12

func parseValue(v reflect.Value, s string) error {
	switch v.Interface().(type) {
	case td.Axes:
		var axes td.Axes
		for _, r := range strings.TrimPrefix(s, "none") {
			a := strings.IndexRune("NDCHW", r)
			if a < 0 {
				return fmt.Errorf("%q is not a set of axes", s)
			}
			axes |= td.AxesOf(td.Axis(a))
		}
		v.SetUint(uint64(axes))
		return nil
	case tensor.DType:
		d, err := tensor.ParseDType(s)
		v.SetUint(uint64(d))
		return err
	}
	switch v.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("%q is not an integer", s)
		}
		v.SetInt(int64(n))
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		v.SetBool(b)
	case reflect.Float32:
		f, err := parseFloat(s)
		if err != nil {
			return err
		}
		v.SetFloat(float64(f))
	case reflect.Uint8:
		return parseToken(v, s)
	case reflect.Slice, reflect.Array:
		return parseList(v, s)
	default:
		panic(fmt.Sprintf("bug: a field of %v", v.Type()))
	}
	return nil
}

// parseToken finds the number of a token by its name.
func parseToken(v reflect.Value, s string) error {
	try := reflect.New(v.Type()).Elem()
	for i := range 256 {
		try.SetUint(uint64(i))
		if try.Interface().(fmt.Stringer).String() == s {
			v.Set(try)
			return nil
		}
	}
	return fmt.Errorf("%q is not known", s)
}

// listParts are the parts of "[a, b]".
func listParts(s string) ([]string, error) {
	inner, opened := strings.CutPrefix(s, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !opened || !closed {
		return nil, fmt.Errorf("%q is not a list", s)
	}
	if strings.TrimSpace(inner) == "" {
		return nil, nil
	}
	parts := strings.Split(inner, ",")
	for i, part := range parts {
		parts[i] = strings.TrimSpace(part)
	}
	return parts, nil
}

func parseList(v reflect.Value, s string) error {
	parts, err := listParts(s)
	if err != nil {
		return err
	}
	if v.Kind() == reflect.Slice {
		if len(parts) > maxList {
			return fmt.Errorf("a list of %d", len(parts))
		}
		v.Set(reflect.Zero(v.Type()))
		if len(parts) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), len(parts), len(parts)))
		}
	}
	if len(parts) != v.Len() {
		return fmt.Errorf("%d numbers, want %d", len(parts), v.Len())
	}
	for i, part := range parts {
		if err := parseValue(v.Index(i), part); err != nil {
			return err
		}
	}
	return nil
}
