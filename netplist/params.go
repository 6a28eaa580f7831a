package netplist

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A unit's parameters go by the fields of its kind in internal/anec: the key is that of the tag `net`, the form that of the field's
// type. Where a key has another form, codecs has it; where lists want or mean something else than the graph, rules has it. A field
// without a key is written as Espalier and its name.

// A paramReader reads the parameters of one unit.
type paramReader struct {
	unit    *Unit
	kind    anec.Kind
	t       *taker // of Params
	bottoms []*anec.Value
}

// read fills the fields of a kind. What is left in r.t nobody knew.
func (r *paramReader) read(p anec.Params) *Error {
	kind := r.kind.String()
	for key, values := range fixed[kind] {
		if slices.ContainsFunc(anec.Fields(r.kind), func(f anec.Field) bool { return f.Net == key }) {
			continue
		}
		r.t.key(key, func(v any) *Error {
			for _, w := range values {
				if v == w {
					return nil
				}
			}
			return errorf(InvalidParamSyntax, "found %s; what that means no source says", describe(v))
		})
	}
	switch p := p.(type) {
	case *anec.Neuron:
		r.neuron(p)
		return r.t.err
	case *anec.GOC:
		r.goc(p)
		return r.t.err
	}
	for _, f := range anec.Fields(r.kind) {
		name := kind + "." + f.Name
		v := reflect.ValueOf(p).Elem().FieldByName(f.Name)
		row := rules[name]
		if row.usual != nil {
			v.Set(reflect.ValueOf(row.usual))
		}
		found := r.field(name, f, v)
		if found = r.t.key(ours+f.Name, func(x any) *Error { return setPlain(v, x) }) || found; !found && row.need && r.t.err == nil {
			r.t.err = r.code(errorf(InvalidParamSyntax, "it is not there, and the unit needs it").at("", "", keyOf(name, f)))
		}
		if r.t.err != nil {
			return r.code(r.t.err)
		}
	}
	return nil
}

// code gives an InputView the parser's own words.
func (r *paramReader) code(err *Error) *Error {
	if c, ok := map[string]Code{
		"Dimension": InvalidInputViewDimension, "Offset": InvalidInputViewOffset, "Size": InvalidInputViewSize, "Step": InvalidInputViewStep,
	}[err.Key]; ok && r.kind == anec.KindInputView {
		err.Code = c
	}
	return err
}

func keyOf(name string, f anec.Field) string {
	if key, ok := keys[name]; ok {
		return key
	}
	return f.Net
}

// field reads a field by its key and reports whether that is there.
func (r *paramReader) field(name string, f anec.Field, v reflect.Value) bool {
	key := keyOf(name, f)
	if c, ok := codecOf(name, key); ok {
		return c.read(r, key, v)
	}
	if key == "" {
		return false
	}
	if group := expand(key); group != nil {
		found := false
		for i, k := range group {
			found = r.t.key(k, func(x any) *Error { return setPlain(v.Index(i), x) }) || found
		}
		return found
	}
	return r.t.key(key, func(x any) *Error {
		if rules[name].bits {
			return setBits(v, x)
		}
		return setPlain(v, x)
	})
}

// expand takes a pattern of keys apart: Pad{Top,Left} is PadTop and PadLeft.
func expand(key string) []string {
	head, rest, ok := strings.Cut(key, "{")
	if !ok {
		return nil
	}
	words, tail, _ := strings.Cut(rest, "}")
	list := strings.Split(words, ",")
	for i, w := range list {
		list[i] = head + w + tail
	}
	return list
}

// setBits sets a float of the bits of an fp16.
func setBits(v reflect.Value, x any) *Error {
	n, ok := x.(int64)
	if !ok || n < 0 || n > 0xffff {
		return wrong(x, "the bits of an fp16, as an integer")
	}
	v.SetFloat(float64(tensor.F16(uint16(n))))
	return nil
}

// setPlain sets a field by its type.
func setPlain(v reflect.Value, x any) *Error {
	switch v.Addr().Interface().(type) {
	case *td.Axis:
		a, err := asAxis(x)
		v.SetUint(uint64(a))
		return err
	case *td.Axes:
		words, err := asStrings(x)
		var axes td.Axes
		for i := 0; err == nil && i < len(words); i++ {
			var a td.Axis
			if a, err = asAxis(words[i]); err == nil {
				axes |= td.AxesOf(a)
			}
		}
		v.SetUint(uint64(axes))
		return err
	case *tensor.DType:
		d, err := asType(x)
		v.SetUint(uint64(d))
		return err
	}
	switch v.Kind() {
	case reflect.Int:
		n, err := asInt(x)
		v.SetInt(int64(n))
		return err
	case reflect.Bool:
		b, err := asBool(x)
		v.SetBool(b)
		return err
	case reflect.Float32:
		f, err := asFloat(x)
		v.SetFloat(float64(f))
		return err
	case reflect.Uint8:
		return setToken(v, x)
	case reflect.Slice, reflect.Array:
		list, err := asList(x)
		if s, ok := x.(string); ok && v.Kind() == reflect.Slice { // one axis by itself
			list, err = []any{s}, nil
		}
		if err != nil {
			return err
		}
		if len(list) > maxList {
			return wrong(x, fmt.Sprintf("at most %d", maxList))
		}
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		}
		if v.Len() != len(list) {
			return wrong(x, fmt.Sprintf("%d elements", v.Len()))
		}
		for i := range list {
			if err := setPlain(v.Index(i), list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	panic(fmt.Sprintf("bug: a field of %v", v.Type()))
}

// maxList bounds the lists among parameters.
const maxList = 1 << 12

// A word is a token of the graph: a number with a name.
type word interface {
	String() string
	Valid() bool
}

// unnumbered are the types of tokens whose words are Apple's and whose numbers are not known.
var unnumbered = map[string]bool{"Decomposition": true, "RasterizerMode": true}

// wordOf is the word of a token in a list. Numbers from 64 on are ours, and so are their words.
func wordOf(v reflect.Value) string {
	name := v.Interface().(word).String()
	if v.Uint() >= 64 && !unnumbered[v.Type().Name()] {
		return ours + name
	}
	return name
}

func setToken(v reflect.Value, x any) *Error {
	try := reflect.New(v.Type()).Elem()
	var all []string
	for i := range 256 {
		try.SetUint(uint64(i))
		if !try.Interface().(word).Valid() {
			continue
		}
		w := wordOf(try)
		if x == w {
			v.Set(try)
			return nil
		}
		if !isOurs(w) {
			all = append(all, w)
		}
	}
	return wrong(x, "one of "+strings.Join(all, ", "))
}

// plain is the value of a field in a list, by its type.
func plain(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case td.Axis:
		return axisNames[x]
	case td.Axes:
		var list []any
		for a := range td.Axis(td.NumAxes) {
			if x.Has(a) {
				list = append(list, axisNames[a])
			}
		}
		if len(list) == 1 {
			return list[0]
		}
		return list
	case tensor.DType:
		return typeName(x)
	}
	switch v.Kind() {
	case reflect.Int:
		return v.Int()
	case reflect.Bool:
		return v.Bool()
	case reflect.Float32:
		return v.Float()
	case reflect.Uint8:
		return wordOf(v)
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	}
	panic(fmt.Sprintf("bug: a field of %v", v.Type()))
}

// A paramWriter writes the parameters of one unit.
type paramWriter struct {
	unit    *Unit
	kind    anec.Kind
	bottoms []*anec.Value
	strange []string // keys of ours
}

func (w *paramWriter) set(key string, v any) {
	if w.unit.Params == nil {
		w.unit.Params = Dict{}
	}
	w.unit.Params[key] = v
}

func (w *paramWriter) setOurs(name string, v any) {
	w.set(ours+name, v)
	w.strange = append(w.strange, ours+name)
}

// setBits writes the bits of an fp16, and the number itself where it is none.
func (w *paramWriter) setBits(key, name string, f float32) {
	bits := tensor.ToF16(f)
	w.set(key, int64(bits))
	if tensor.F16(bits) != f && f == f {
		w.setOurs(name, float64(f))
	}
}

// write writes the fields that are not as a list means them anyway.
func (w *paramWriter) write(p anec.Params) {
	switch p := p.(type) {
	case *anec.Neuron:
		w.neuron(p)
		return
	case *anec.GOC:
		var scale *anec.Constant
		if len(w.bottoms) > 1 && w.bottoms[1] != nil {
			scale = w.bottoms[1].Const
		}
		w.goc(p, scale)
		return
	}
	kind := w.kind.String()
	have, usual := reflect.ValueOf(p).Elem(), reflect.ValueOf(anec.NewParams(w.kind)).Elem()
	for _, f := range anec.Fields(w.kind) {
		name := kind + "." + f.Name
		row, v, u := rules[name], have.FieldByName(f.Name), usual.FieldByName(f.Name)
		if row.usual != nil {
			u = reflect.ValueOf(row.usual)
		}
		if !row.need && !row.write && same(v, u) {
			continue
		}
		w.field(name, f, v)
	}
}

// same compares fields; an empty list is as good as none.
func same(v, u reflect.Value) bool {
	if v.Kind() == reflect.Slice && v.Len() == 0 && u.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(v.Interface(), u.Interface())
}

func (w *paramWriter) field(name string, f anec.Field, v reflect.Value) {
	key := keyOf(name, f)
	if c, ok := codecOf(name, key); ok {
		c.write(w, key, v)
		return
	}
	if group := expand(key); group != nil {
		for i, k := range group {
			w.set(k, plain(v.Index(i)))
		}
		return
	}
	switch {
	case key == "":
		w.setOurs(f.Name, plain(v))
	case rules[name].bits:
		w.setBits(key, f.Name, float32(v.Float()))
	default:
		w.set(key, plain(v))
	}
}
