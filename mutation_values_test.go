package espalier_test

import (
	"math"
	"math/rand/v2"
	"reflect"
)

// mutateValue changes one thing in a structure: a number, a text, or the order and number of the elements of a list.
func mutateValue(r *rand.Rand, structure any) {
	var changes []func()
	var texts []string
	listChanges(r, reflect.ValueOf(structure), &changes, &texts, 0)
	if len(changes) > 0 {
		changes[r.IntN(len(changes))]()
	}
}

// listChanges lists a change for each part of a structure. What an interface holds is changed as a copy.
func listChanges(r *rand.Rand, v reflect.Value, changes *[]func(), texts *[]string, depth int) {
	if depth > 12 {
		return
	}
	add := func(f func()) {
		if v.CanSet() {
			*changes = append(*changes, f)
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			listChanges(r, v.Elem(), changes, texts, depth+1)
		}
	case reflect.Interface:
		if v.IsNil() || !v.CanSet() {
			return
		}
		held := v.Elem()
		if held.Kind() == reflect.Pointer {
			listChanges(r, held, changes, texts, depth+1)
			return
		}
		var inner []func()
		copied := reflect.New(held.Type()).Elem()
		copied.Set(held)
		listChanges(r, copied, &inner, texts, depth+1)
		for _, change := range inner {
			add(func() { change(); v.Set(copied) })
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				listChanges(r, v.Field(i), changes, texts, depth+1)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 {
			return
		}
		add(func() { mutateList(r, v) })
		if v.Type().Elem().Kind() == reflect.Uint8 || v.Len() > 64 {
			return // bytes are damaged elsewhere
		}
		for i := range v.Len() {
			listChanges(r, v.Index(i), changes, texts, depth+1)
		}
	case reflect.Array:
		for i := range min(v.Len(), 8) {
			listChanges(r, v.Index(i), changes, texts, depth+1)
		}
	case reflect.String:
		*texts = append(*texts, v.String())
		add(func() { v.SetString(pick(r, append(*texts, "", "x"))) })
	case reflect.Bool:
		add(func() { v.SetBool(!v.Bool()) })
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		add(func() { v.SetInt(edge(r, v.Int())) })
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		add(func() { v.SetUint(uint64(edge(r, int64(v.Uint())))) })
	case reflect.Float32, reflect.Float64:
		add(func() { v.SetFloat(pick(r, []float64{0, math.Inf(1), math.NaN(), 1e30, -1})) })
	}
}

// mutateList drops, doubles or exchanges elements.
func mutateList(r *rand.Rand, v reflect.Value) {
	i, j := r.IntN(v.Len()), r.IntN(v.Len())
	fresh := reflect.MakeSlice(v.Type(), 0, v.Len()+1)
	for k := range v.Len() {
		fresh = reflect.Append(fresh, v.Index(k))
	}
	switch r.IntN(3) {
	case 0:
		fresh = reflect.AppendSlice(fresh.Slice3(0, i, i), fresh.Slice(i+1, fresh.Len()))
	case 1:
		fresh = reflect.Append(fresh, v.Index(j))
	case 2:
		reflect.Swapper(fresh.Interface())(i, j)
	}
	v.Set(fresh)
}
