package anec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/espalier-ane/espalier/internal/diag"
)

// In text a layer is an operation of the compiler's dialect: anec.convolution, anec.add. Most kinds are one operation, of the name
// in their row. Of some the value of a field makes several, which have it in their name.
//
// Names that the guide has are its (chapters 4, 13, 22, 24, 26, 35; hal.Floors has the list). Others are those of the kinds.

// A Dialect is how layers of a kind are called in text.
type Dialect struct {
	Name string

	// Field names a field whose value may stand in the name of the operation instead: Names has the operations by the values.
	Field string
	Names map[string]string
}

const dialectPrefix = "anec."

// operationOf is the name of a layer in text, and the field that it speaks for; "" if there is none.
func operationOf(p Params) (name, field string) {
	d := &p.Info().Dialect
	if d.Field != "" {
		f, _ := fieldNamed(p.Info().Kind, d.Field)
		if name, ok := d.Names[formatValue(reflect.ValueOf(p).Elem().FieldByIndex(f.index))]; ok {
			return dialectPrefix + name, d.Field
		}
	}
	return dialectPrefix + d.Name, ""
}

// paramsNamed are the fields of an operation of the dialect; false if there is none of the name.
func paramsNamed(operation string) (Params, bool) {
	name, ok := strings.CutPrefix(operation, dialectPrefix)
	if !ok {
		return nil, false
	}
	for _, k := range Kinds() {
		d := &k.Info().Dialect
		if d.Name == name {
			return NewParams(k), true
		}
		for value, named := range d.Names {
			if named == name {
				p := NewParams(k)
				if err := parseParam(p, d.Field, value); err != nil {
					panic("bug: " + err.Error())
				}
				return p, true
			}
		}
	}
	return nil, false
}

// An attribute is what a field is in text. Two fields of one name are what lies before and after, axis by axis:
//
//	PadBefore=[d,h,w] PadAfter=[D,H,W]   explicit_padding = [d, D, h, H, w, W]
//
// Of one along D, H and W the depth is left out where it has its usual value:
//
//	Kernel=[1,3,3]                       kernel_sizes = [3, 3]
type attribute struct {
	name    string
	fields  []Field // one or two
	spatial bool    // along D, H and W
}

// attributes are those of a kind, in the order of the fields. A tag anec:"name" gives a field another name than its own, and
// anec:"name,spatial" says that it is spatial.
func attributes(k Kind) (list []attribute) {
	t := reflect.TypeOf(NewParams(k)).Elem()
	for _, f := range Fields(k) {
		name, form, _ := strings.Cut(t.FieldByIndex(f.index).Tag.Get("anec"), ",")
		if name == "" {
			name = snakeCase(f.Name)
		}
		if n := len(list); n > 0 && list[n-1].name == name {
			list[n-1].fields = append(list[n-1].fields, f)
			continue
		}
		list = append(list, attribute{name, []Field{f}, form == "spatial"})
	}
	return list
}

// snakeCase spells SubtractMax as subtract_max.
func snakeCase(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// formatAttributes writes the fields that differ from those of NewParams as "name = value", but for one that the operation's name
// speaks for.
func formatAttributes(p Params, spoken string) (list []string) {
	have, usual := reflect.ValueOf(p).Elem(), reflect.ValueOf(NewParams(p.Info().Kind)).Elem()
	for _, a := range attributes(p.Info().Kind) {
		if a.fields[0].Name == spoken {
			continue
		}
		value, other := a.format(have, usual)
		if value != other {
			list = append(list, a.name+" = "+value)
		}
	}
	return list
}

// format is the value of an attribute, and what is usual in the same form.
func (a *attribute) format(have, usual reflect.Value) (value, other string) {
	first := a.fields[0].index
	if len(a.fields) == 1 && !a.spatial {
		return spaced(formatValue(have.FieldByIndex(first))), spaced(formatValue(usual.FieldByIndex(first)))
	}
	var is, was []string
	for i := range have.FieldByIndex(first).Len() {
		for _, f := range a.fields {
			is = append(is, formatValue(have.FieldByIndex(f.index).Index(i)))
			was = append(was, formatValue(usual.FieldByIndex(f.index).Index(i)))
		}
	}
	if n := len(a.fields); a.spatial && slices.Equal(is[:n], was[:n]) {
		is, was = is[n:], was[n:]
	}
	return "[" + strings.Join(is, ", ") + "]", "[" + strings.Join(was, ", ") + "]"
}

// spaced has a space after each comma of a list.
func spaced(list string) string { return strings.ReplaceAll(list, ",", ", ") }

// parseAttribute sets the fields of an attribute.
func parseAttribute(p Params, name, text string) error {
	list := attributes(p.Info().Kind)
	at := slices.IndexFunc(list, func(a attribute) bool { return a.name == name })
	if at < 0 {
		operation, _ := operationOf(p)
		return fmt.Errorf("%s has no attribute %s%s", operation, name, among(list))
	}
	a, into := &list[at], reflect.ValueOf(p).Elem()
	if err := a.parse(into, text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func among(list []attribute) string {
	var names []string
	for _, a := range list {
		names = append(names, a.name)
	}
	if names == nil {
		return ""
	}
	return ": want " + strings.Join(names, ", ")
}

func (a *attribute) parse(into reflect.Value, text string) error {
	first := into.FieldByIndex(a.fields[0].index)
	if len(a.fields) == 1 && !a.spatial {
		return parseValue(first, text)
	}
	parts, err := listParts(text)
	if err != nil {
		return err
	}
	n, all := len(a.fields), len(a.fields)*first.Len()
	skip := 0
	if a.spatial && len(parts) == all-n {
		skip = n
	}
	if len(parts)+skip != all {
		if a.spatial {
			return fmt.Errorf("%d numbers, want %d, or %d with the depth", len(parts), all-n, all)
		}
		return fmt.Errorf("%d numbers, want %d", len(parts), all)
	}
	for i, part := range parts {
		i += skip
		if err := parseValue(into.FieldByIndex(a.fields[i%n].index).Index(i/n), part); err != nil {
			return err
		}
	}
	return nil
}

// nearOperation is what may have been meant by the name of an operation that is not there.
func nearOperation(name string) string {
	best, near := "", 1+len(name)/3
	try := func(n string) {
		if d := diag.Distance(name, dialectPrefix+n); d < near {
			best, near = dialectPrefix+n, d
		}
	}
	for _, k := range Kinds() {
		d := &k.Info().Dialect
		try(d.Name)
		for _, n := range slices.Sorted(maps.Values(d.Names)) {
			try(n)
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": is it %q?", best)
}
