package compiler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/tensor"
)

// An indexCase is an operation that takes or writes at indices. want is its result where an index that is out of range reads zero
// and writes nothing, from the definition of the operation.
type indexCase struct {
	kind    string
	args    map[string]any // beside data, indices and updates
	data    []int
	indices []int
	vectors []int // into axes of these lengths; nil: all into one of 4
	updates []int // nil: it takes
	want    func(c *indexCase, data, updates []float64, at []int64) []float64
}

// The axis that is pointed into has 4 places, or two have 4 and 3; the indices are six numbers.
var indexCases = []indexCase{
	{kind: "gather", args: with{"axis": int32(0)}, data: []int{4, 5}, indices: []int{6}, want: takenRows},
	{kind: "gather", args: with{"axis": int32(1), "batch_dims": int32(1)}, data: []int{2, 4, 5}, indices: []int{2, 3}, want: takenRows},
	{kind: "gather_along_axis", args: with{"axis": int32(1)}, data: []int{2, 4}, indices: []int{2, 3}, want: takenElements},
	{kind: "gather_along_axis", args: with{"axis": int32(-1)}, data: []int{1, 2, 4}, indices: []int{1, 2, 3}, want: takenElements},
	{kind: "gather_nd", data: []int{4, 5}, indices: []int{6, 1}, want: takenRows},
	{kind: "gather_nd", data: []int{4, 3, 5}, indices: []int{3, 2}, vectors: []int{4, 3}, want: takenRows},
	{kind: "gather_nd", data: []int{4, 3}, indices: []int{3, 2}, vectors: []int{4, 3}, want: takenRows},
	{kind: "gather_nd", data: []int{4, 3, 2}, indices: []int{2, 3}, vectors: []int{4, 3, 2}, want: takenRows},
	{kind: "gather_nd", args: with{"batch_dims": int32(1)}, data: []int{2, 4, 5}, indices: []int{2, 3, 1}, want: takenRows},
	{kind: "scatter", args: with{"axis": int32(0), "mode": "add"}, data: []int{4, 5}, indices: []int{6}, updates: []int{6, 5}, want: writtenRows},
	{kind: "scatter", args: with{"axis": int32(0), "mode": "update"}, data: []int{4, 5}, indices: []int{6}, updates: []int{6, 5}, want: writtenRows},
	{kind: "scatter_along_axis", args: with{"axis": int32(1), "mode": "update"}, data: []int{2, 4}, indices: []int{2, 3}, updates: []int{2, 3}, want: writtenElements},
	{kind: "scatter_along_axis", args: with{"axis": int32(1), "mode": "add"}, data: []int{2, 4}, indices: []int{2, 3}, updates: []int{2, 3}, want: writtenElements},
	{kind: "scatter_nd", args: with{"mode": "update"}, data: []int{4, 5}, indices: []int{6, 1}, updates: []int{6, 5}, want: writtenRows},
	{kind: "scatter_nd", args: with{"mode": "add"}, data: []int{4, 3, 5}, indices: []int{3, 2}, vectors: []int{4, 3}, updates: []int{3, 5}, want: writtenRows},
	{kind: "scatter_nd", args: with{"mode": "update"}, data: []int{4, 3}, indices: []int{3, 2}, vectors: []int{4, 3}, updates: []int{3}, want: writtenRows},
}

// indexSets are six indices each: in range; counted from the end; out of range by one, and by far. Those of vectors are pairs or
// triples, of which one may be out of range.
var indexSets = [][]int64{
	{0, 1, 3, 2, 1, 0},
	{-1, -3, 2, -2, 0, 1},
	{4, 0, 1, 3, 2, 0},
	{0, -5, 1, 0, -4, 1},
	{1000, 1, 0, -1000, 3, 2},
	{1 << 30, 0, -1 << 31, 1, 1<<31 - 1, 2},
	{3, 3, 0, -4, 3, 2},
}

// place is where an index points on an axis of length n, from the end if it is negative; -1: nowhere.
func place(at int64, n int) int {
	if at < 0 {
		at += int64(n)
	}
	if at < 0 || at >= int64(n) {
		return -1
	}
	return int(at)
}

// places are where the indices, or vectors of them, point; those of a second batch point into the rows of the second.
func (c *indexCase) places(at []int64) (list []int) {
	lengths := c.vectors
	if lengths == nil {
		lengths = []int{4}
	}
	batches := 1
	if c.args["batch_dims"] != nil {
		batches = 2
	}
	rows := 1
	for _, n := range lengths {
		rows *= n
	}
	for i := 0; i < len(at); i += len(lengths) {
		row := 0
		for k, n := range lengths {
			p := place(at[i+k], n)
			if p < 0 {
				row = -1
				break
			}
			row = row*n + p
		}
		if row >= 0 {
			row += i / (len(at) / batches) * rows
		}
		list = append(list, row)
	}
	return list
}

func takenRows(c *indexCase, data, _ []float64, at []int64) (want []float64) {
	places := c.places(at)
	rows := 4
	if c.vectors != nil {
		rows = 1
		for _, n := range c.vectors {
			rows *= n
		}
	}
	if c.args["batch_dims"] != nil {
		rows *= 2
	}
	width := len(data) / rows
	for _, p := range places {
		row := make([]float64, width)
		if p >= 0 {
			copy(row, data[p*width:])
		}
		want = append(want, row...)
	}
	return want
}

func takenElements(_ *indexCase, data, _ []float64, at []int64) (want []float64) {
	for i, index := range at { // two rows of three, of two of four
		v := 0.0
		if p := place(index, 4); p >= 0 {
			v = data[i/3*4+p]
		}
		want = append(want, v)
	}
	return want
}

func (c *indexCase) write(old *float64, update float64) {
	if c.args["mode"] == "add" {
		update += *old
	}
	*old = update
}

func writtenRows(c *indexCase, data, updates []float64, at []int64) []float64 {
	want := slices.Clone(data)
	places := c.places(at)
	width := len(updates) / len(places)
	for i, p := range places {
		for k := 0; k < width && p >= 0; k++ {
			c.write(&want[p*width+k], updates[i*width+k])
		}
	}
	return want
}

func writtenElements(c *indexCase, data, updates []float64, at []int64) []float64 {
	want := slices.Clone(data)
	for i, index := range at {
		if p := place(index, 4); p >= 0 {
			c.write(&want[i/3*4+p], updates[i])
		}
	}
	return want
}

// outOfRange reports whether validate_indices refuses indices.
func (c *indexCase) outOfRange(at []int64) bool {
	lengths := c.vectors
	if lengths == nil {
		lengths = []int{4}
	}
	for i, index := range at {
		if index < 0 || index >= int64(lengths[i%len(lengths)]) {
			return true
		}
	}
	return false
}

// program is the case by itself, with the indices as an input or a constant.
func (c *indexCase) program(target string, at []int64, live bool, extra with) *program {
	p := &program{target: target, values: map[ref]*tensor.Tensor{}}
	add := func(id ref, t *tensor.Tensor) ref {
		p.inputs = append(p.inputs, source{id, t})
		p.values[id] = t
		return id
	}
	args := with{}
	for _, from := range []with{c.args, extra} {
		for name, a := range from {
			args[name] = a
		}
	}
	data := numbered(c.data, 1)
	first := "x"
	out := slices.Clone(c.data)
	if c.updates != nil {
		first = "data"
		args["updates"] = add(3, numbered(c.updates, 100))
	}
	args[first] = add(1, data)
	indices := tensor.FromInt64s(tensor.Int32, at, c.indices...)
	if live {
		args["indices"] = add(2, indices)
	} else {
		args["indices"] = indices
	}
	if c.updates == nil {
		updates, zeros := []float64(nil), make([]int64, len(at))
		n := len(c.want(c, data.Float64s(), updates, zeros))
		switch c.kind {
		case "gather_along_axis":
			out = c.indices
		default: // a row for each index, or vector of them
			out = slices.Clone(c.indices)
			if c.kind == "gather_nd" {
				out = out[:len(out)-1]
			}
			count, _ := tensor.Count(out)
			if n > count {
				out = append(out, n/count)
			}
		}
	}
	p.values[4] = tensor.New(tensor.Float16, out...)
	p.steps = []*step{{kind: c.kind, args: args, outs: []ref{4}}}
	p.outputs = []ref{4}
	return p
}

func numbered(shape []int, from float32) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	values := make([]float32, n)
	for i := range values {
		values[i] = from + float32(i)
	}
	return tensor.FromFloat32s(tensor.Float16, values, shape...)
}

// results takes the program to its first output: on the evaluator, and compiled. virtual has all of it on the engine, if onEngine.
func (p *program) results(ctx context.Context, onEngine bool) (host, engine *tensor.Tensor, hostErr, engineErr error) {
	built, err := p.build()
	if err != nil {
		return nil, nil, err, err
	}
	if all, err := p.evaluate(ctx, built, ops.Virtual); err != nil {
		hostErr = err
	} else {
		host = all[0].outputs[0]
	}
	r, err := p.compile(ctx, built, 0)
	if err != nil {
		return host, nil, hostErr, err
	}
	if onEngine && p.target == "virtual" && r.Host != nil {
		return host, nil, hostErr, errors.New("it runs on the host")
	}
	all, err := p.run(ctx, r)
	if err != nil {
		return host, nil, hostErr, err
	}
	return host, all[0].outputs[0], hostErr, nil
}

// One rule holds for indices that are out of range, on the host and on the engine of every target, whether they are live or
// constant: with validate_indices an IndexError, without it zero is read and nothing written. A negative index counts from the end,
// unless indices are validated: then it is out of range (coremltools, iOS17 scatter_gather).
func TestIndicesOutOfRange(t *testing.T) {
	targets := hal.Targets()
	for i := range indexCases {
		c := &indexCases[i]
		for n, at := range indexSets {
			for _, live := range []bool{true, false} {
				for _, validate := range []bool{true, false} {
					names := []string{"virtual", targets[1+(n+i)%(len(targets)-1)].Name} // each in turn
					if live && !validate && n == 3 {
						names = nil
						for _, target := range targets {
							names = append(names, target.Name)
						}
					}
					for _, target := range names {
						p := c.program(target, at, live, with{"validate_indices": validate})
						if err := c.holds(t.Context(), p, at, validate); err != nil {
							t.Errorf("%s: live %v, validate_indices %v, indices %v: %v\n%v", target, live, validate, at, err, p)
						}
					}
				}
			}
		}
	}
}

func (c *indexCase) holds(ctx context.Context, p *program, at []int64, validate bool) error {
	host, engine, hostErr, engineErr := p.results(ctx, !validate && len(p.inputs) > 1 && p.values[2] != nil)
	if validate && c.outOfRange(at) {
		for unit, err := range map[string]error{"host": hostErr, "engine": engineErr} {
			if index, ok := errors.AsType[*ops.IndexError](err); !ok {
				return fmt.Errorf("the %s gives the error %v, expected an IndexError", unit, err)
			} else if index.Index != at[index.Element] {
				return fmt.Errorf("the %s says %v", unit, index)
			}
		}
		return nil
	}
	if err := errors.Join(hostErr, engineErr); err != nil {
		return err
	}
	data, updates := numbered(c.data, 1).Float64s(), []float64(nil)
	if c.updates != nil {
		updates = numbered(c.updates, 100).Float64s()
	}
	want := c.want(c, data, updates, at)
	for unit, got := range map[string]*tensor.Tensor{"host": host, "engine": engine} {
		if !slices.Equal(got.Float64s(), want) {
			return fmt.Errorf("the %s gives %v, expected %v", unit, got.Float64s(), want)
		}
	}
	return nil
}

// Before iOS17 nothing is validated when a program runs: live indices that are out of range follow the same rule.
func TestOldIndicesOutOfRange(t *testing.T) {
	for i := range indexCases {
		c := &indexCases[i]
		for _, at := range indexSets {
			p := c.program("virtual", at, true, nil)
			p.opset = "CoreML6"
			if err := c.holds(t.Context(), p, at, false); err != nil {
				t.Errorf("indices %v: %v\n%v", at, err, p)
			}
		}
	}
}
