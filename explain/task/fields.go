package task

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// classFields are the fields of a class for people, by the names that td gives them: kinds and axes always, numbers and flags
// where they are not zero.
func classFields(p td.Params) []string {
	switch p := p.(type) {
	case *td.DeQuant:
		if *p == (td.DeQuant{}) { // no table
			return nil
		}
	case *td.DynamicSlice:
		rest := *p
		rest.Number, rest.Axes = 0, [td.NumAxes]td.Axis{}
		return append([]string{"along " + axisNames(p.Axes[:min(p.Number, td.NumAxes)])}, structFields(reflect.ValueOf(rest))...)
	case *td.Sort:
		return append([]string{p.Direction.String()}, sortingFields(&p.Sorting)...)
	case *td.TopK:
		return append([]string{fmt.Sprintf("%v %d", p.Type, p.K)}, sortingFields(&p.Sorting)...)
	}
	return structFields(reflect.ValueOf(p).Elem())
}

func sortingFields(s *td.Sorting) []string {
	fields := []string{"along " + s.Axis.String()}
	if s.Vectors() {
		fields = append(fields, fmt.Sprintf("vectors along %v by %v", s.VectorAxis, s.Keys[:min(s.NumKeys, td.MaxSortKeys)]))
	}
	return append(fields, "results "+s.Results.String())
}

func axisNames(axes []td.Axis) string {
	var b strings.Builder
	for _, a := range axes {
		b.WriteString(a.String())
	}
	return b.String()
}

// structFields are the fields of a structure and of those embedded in it.
func structFields(v reflect.Value) []string {
	var fields []string
	for i := range v.NumField() {
		name, f := fieldWords(v.Type().Field(i).Name), v.Field(i)
		switch value := f.Interface().(type) {
		case td.Window:
			fields = append(fields, "window "+windowText(&value)+windowDetails(&value))
			continue
		case td.Axes:
			if value != 0 {
				fields = append(fields, name+" "+axesText(value))
			}
			continue
		case [td.NumAxes]td.Axis: // of DynamicSlice, which has shown them
			continue
		case fmt.Stringer:
			fields = append(fields, name+" "+value.String())
			continue
		}
		switch {
		case f.Kind() == reflect.Struct:
			fields = append(fields, structFields(f)...)
		case f.IsZero():
		case f.Kind() == reflect.Bool:
			fields = append(fields, name)
		case f.Kind() == reflect.Float32:
			fields = append(fields, name+" "+report.Short(f.Float()))
		case f.Kind() == reflect.Array:
			fields = append(fields, name+" "+listText(f))
		default:
			fields = append(fields, fmt.Sprintf("%s %v", name, f.Interface()))
		}
	}
	return fields
}

// listText writes the numbers of an array.
func listText(v reflect.Value) string {
	if v.Type().Elem().Kind() == reflect.Int {
		list := make([]int, v.Len())
		for i := range list {
			list[i] = int(v.Index(i).Int())
		}
		return fmt.Sprint(tensor.ShapeOf(list...))
	}
	return fmt.Sprint(v.Interface())
}

// fieldWords writes VectorAxis as "vector axis", and leaves X and K as they are.
func fieldWords(name string) string {
	if len(name) == 1 {
		return name
	}
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
