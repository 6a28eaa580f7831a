package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/espalier-ane/espalier/tensor"
)

// parseJSON reads arrays from JSON: nested lists of numbers, booleans or strings are one array, an object
// has arrays by name.
func parseJSON(data []byte) (named []tensor.Named, single *tensor.Tensor, err error) {
	if err := checkJSON(data); err != nil {
		return nil, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		single, err = decodeArray(d)
		return nil, single, err
	}
	named = []tensor.Named{}
	d.Token() // the brace
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		name := key.(string) // what else a decoder gives here is an error
		if seen[name] {
			return nil, nil, fmt.Errorf("array %q is there twice", name)
		}
		seen[name] = true
		t, err := decodeArray(d)
		if err != nil {
			return nil, nil, fmt.Errorf("array %q: %w", name, err)
		}
		named = append(named, tensor.Named{Name: name, Tensor: t})
	}
	return named, nil, nil
}

// checkJSON refuses what is no JSON, with its place.
func checkJSON(data []byte) error {
	err := json.Unmarshal(data, new(json.RawMessage))
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err
	}
	// A decoder tells an end that comes too soon from what is wrong.
	if end := json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage)); errors.Is(end, io.EOF) || errors.Is(end, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text is cut off")
	}
	at := max(syntax.Offset-1, 0) // the last byte read is the wrong one
	before := data[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	text := fmt.Sprintf("line %d, column %d: %v", line, column, syntax)
	if c := data[at]; c == 'N' || c == 'I' {
		text += `; JSON has no such number: write "NaN", "Infinity" or "-Infinity", with the quotes`
	}
	return errors.New(text)
}

func decodeArray(d *json.Decoder) (*tensor.Tensor, error) {
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var b arrayBuilder
	if err := b.add(v, 0); err != nil {
		return nil, err
	}
	return b.array()
}

// arrayBuilder makes an array of nested lists. The shape is that of the first elements, all others
// must agree.
type arrayBuilder struct {
	shape  []int
	closed bool // the shape is complete: the first leaf has been seen, or an empty list
	leaves []any
}

func (b *arrayBuilder) add(v any, depth int) error {
	list, ok := v.([]any)
	if !ok {
		if b.closed = b.closed || depth == len(b.shape); depth != len(b.shape) {
			return b.ragged(depth)
		}
		b.leaves = append(b.leaves, v)
		return nil
	}
	switch {
	case !b.closed && depth == len(b.shape):
		b.shape = append(b.shape, len(list))
		b.closed = len(list) == 0
	case depth >= len(b.shape) || b.shape[depth] != len(list):
		return b.ragged(depth)
	}
	for _, e := range list {
		if err := b.add(e, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (b *arrayBuilder) ragged(depth int) error {
	return fmt.Errorf("the lists do not form an array: those at depth %d have different lengths", depth)
}

func (b *arrayBuilder) array() (*tensor.Tensor, error) {
	var numbers, whole, bools, texts int
	for _, v := range b.leaves {
		switch v := v.(type) {
		case json.Number:
			numbers++
			if _, err := strconv.ParseInt(string(v), 10, 64); err == nil {
				whole++
			}
		case bool:
			bools++
		case string:
			if _, ok := specialNumbers[v]; ok {
				numbers++ // unless there is text beside it
			}
			texts++
		default:
			return nil, fmt.Errorf("found %s in an array, expected numbers, booleans or strings", jsonKind(v))
		}
	}
	n := len(b.leaves)
	switch {
	case bools == n && n > 0:
		return collect[bool](b, func(v any) (bool, error) { return v.(bool), nil })
	case whole == n && n > 0:
		return collect[int64](b, func(v any) (int64, error) { return v.(json.Number).Int64() })
	case numbers == n:
		return collect[float64](b, parseNumber)
	case texts == n:
		return collect[string](b, func(v any) (string, error) { return v.(string), nil })
	}
	return nil, errors.New("an array holds numbers, booleans or strings, found a mixture")
}

func collect[T tensor.Number | ~string](b *arrayBuilder, convert func(any) (T, error)) (*tensor.Tensor, error) {
	vals := make([]T, len(b.leaves))
	for i, v := range b.leaves {
		var err error
		if vals[i], err = convert(v); err != nil {
			return nil, err
		}
	}
	return tensor.Of(vals, b.shape...), nil
}

// specialNumbers are the floats that JSON has no numbers for.
var specialNumbers = map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}

func parseNumber(v any) (float64, error) {
	if text, ok := v.(string); ok {
		return specialNumbers[text], nil
	}
	f, err := v.(json.Number).Float64()
	if err != nil {
		return 0, fmt.Errorf("%v is too large", v)
	}
	return f, nil
}

func jsonKind(v any) string {
	if v == nil {
		return "null"
	}
	return "an object"
}
