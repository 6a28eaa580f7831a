package netplist

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"howett.net/plist"
)

// A Dict is a dictionary of a list. Its values are string, bool, int64, float64, []byte, time.Time, []any and Dict; uint64 where an
// integer is beyond int64.
type Dict map[string]any

// normal makes of a value of the library one of a Dict.
func normal(v any) (any, error) {
	switch v := v.(type) {
	case string, bool, int64, float64, []byte, time.Time:
		return v, nil
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v), nil
		}
		return v, nil
	case float32:
		return float64(v), nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var err error
			if list[i], err = normal(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		d := make(Dict, len(v))
		for k, x := range v {
			var err error
			if d[k], err = normal(x); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
		}
		return d, nil
	case plist.UID:
		return nil, fmt.Errorf("a unique identifier, which no network description has")
	}
	return nil, fmt.Errorf("a value of no known type")
}

// describe says what a value is, in an error.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		if len(v) > 60 {
			v = v[:60] + "…"
		}
		return fmt.Sprintf("the string %q", v)
	case bool:
		return fmt.Sprintf("%v", v)
	case int64, uint64:
		return fmt.Sprintf("the integer %d", v)
	case float64:
		return fmt.Sprintf("the real %g", v)
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	case Dict:
		return fmt.Sprintf("a dictionary of %d", len(v))
	case []byte:
		return fmt.Sprintf("data of %d bytes", len(v))
	case time.Time:
		return "a date"
	}
	return fmt.Sprintf("a %T", v)
}

func wrong(v any, want string) *Error {
	return errorf(InvalidParamSyntax, "found %s, want %s", describe(v), want)
}

func asString(v any) (string, *Error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	return "", wrong(v, "a string")
}

// maxInt bounds the numbers of a list, so that sums and products of two cannot overflow.
const maxInt = 1<<31 - 1

func asInt(v any) (int, *Error) {
	n, ok := v.(int64)
	if !ok {
		return 0, wrong(v, "an integer")
	}
	if n < -maxInt || n > maxInt {
		return 0, wrong(v, "one below 2^31")
	}
	return int(n), nil
}

func asBool(v any) (bool, *Error) {
	switch v {
	case true, int64(1):
		return true, nil
	case false, int64(0):
		return false, nil
	}
	return false, wrong(v, "true or false")
}

func asFloat(v any) (float32, *Error) {
	switch v := v.(type) {
	case float64:
		return float32(v), nil
	case int64:
		return float32(v), nil
	}
	return 0, wrong(v, "a number")
}

func asList(v any) ([]any, *Error) {
	if l, ok := v.([]any); ok {
		return l, nil
	}
	return nil, wrong(v, "an array")
}

func asDict(v any) (Dict, *Error) {
	if d, ok := v.(Dict); ok {
		return d, nil
	}
	return nil, wrong(v, "a dictionary")
}

// asStrings takes an array of strings, or one string by itself.
func asStrings(v any) ([]string, *Error) {
	if s, ok := v.(string); ok {
		return []string{s}, nil
	}
	list, err := asList(v)
	if err != nil {
		return nil, wrong(v, "a string or an array of strings")
	}
	words := make([]string, len(list))
	for i, x := range list {
		if words[i], err = asString(x); err != nil {
			return nil, err
		}
	}
	return words, nil
}

func anyOf[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

func ints(list []int) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = int64(v)
	}
	return out
}

// A taker takes keys out of a dictionary and keeps the first error; what is left is what nobody knew.
type taker struct {
	left   Dict
	listed map[string]bool // what lists have named so far
	err    *Error
}

func take(d Dict) *taker {
	t := &taker{left: make(Dict, len(d)), listed: map[string]bool{}}
	for k, v := range d {
		t.left[k] = v
	}
	return t
}

// key hands a value to a function, if there is one.
func (t *taker) key(name string, f func(any) *Error) bool {
	v, ok := t.left[name]
	if !ok {
		return false
	}
	delete(t.left, name)
	if err := f(v); err != nil && t.err == nil {
		t.err = err.at("", "", name)
	}
	return true
}

// into makes of a conversion one that stores.
func into[T any](to *T, convert func(any) (T, *Error)) func(any) *Error {
	return func(v any) *Error {
		x, err := convert(v)
		if err == nil {
			*to = x
		}
		return err
	}
}

// rest returns what is left, nil if that is nothing.
func (t *taker) rest() Dict {
	if len(t.left) == 0 {
		return nil
	}
	return t.left
}

// keys returns the keys in order.
func (d Dict) keys() []string {
	keys := make([]string, 0, len(d))
	for k := range d {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// ours is the prefix of keys and words that no list of Apple's has.
const ours = "Espalier"

func isOurs(key string) bool { return strings.HasPrefix(key, ours) }
