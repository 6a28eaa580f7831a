package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/mil"
)

// census counts the weights of a model: what lies in weight files, by element type, and the parameters that
// it stands for. An array that several operations share counts once.
type census struct {
	arrays map[place]*mil.TensorType // in files
	// parameters has the elements of dense weights by what they are made of. Of a compressed weight, its
	// dense form counts, not its indices and scales.
	parameters  map[string]int
	parts       map[string]bool // those that are parts of compressed weights
	compression map[string]int  // operations by kind
}

// place is where in the weight files an array is.
type place struct {
	path   string
	offset uint64
}

func newCensus() *census {
	return &census{map[place]*mil.TensorType{}, map[string]int{}, map[string]bool{}, map[string]int{}}
}

// add counts an operation. Operations come in program order, so that the parts of a compressed weight come
// before the operation that puts them together.
func (c *census) add(op *mil.Operation) {
	compressed := strings.HasPrefix(op.Kind, "constexpr_")
	if compressed {
		c.compression[op.Kind]++
	}
	var key string // of the weight: the first array that it is made of
	use := func(k *mil.Constant) {
		if k == nil || k.File == nil {
			return
		}
		p := place{k.File.Path, k.File.Offset}
		if t, ok := k.Type.(*mil.TensorType); ok {
			c.arrays[p] = t
		}
		if key == "" {
			key = p.String()
		}
	}
	for _, a := range op.Attributes {
		use(a.Value)
	}
	for _, in := range op.Inputs {
		for _, arg := range in.Args {
			if arg.Value == nil {
				use(arg.Const)
				continue
			}
			if compressed {
				part := c.keyOf(arg.Value)
				c.parts[part] = part != ""
				if key == "" {
					key = part
				}
			}
		}
	}
	if key == "" || len(op.Outputs) == 0 || op.Kind != "const" && !compressed {
		return
	}
	if t, ok := op.Outputs[0].Type.(*mil.TensorType); ok {
		if n, ok := t.Shape.Count(); ok {
			c.parameters[op.Kind+" "+key] = n
		}
	}
}

// keyOf finds the entry of parameters that a value stands for; "" if it has none.
func (c *census) keyOf(v *mil.Value) string {
	if v.Def == nil {
		return ""
	}
	if k := v.Const(); k != nil && k.File != nil {
		return "const " + place{k.File.Path, k.File.Offset}.String()
	}
	if strings.HasPrefix(v.Def.Kind, "constexpr_") {
		for _, in := range v.Def.Inputs {
			for _, arg := range in.Args {
				switch {
				case arg.Const != nil && arg.Const.File != nil:
					return v.Def.Kind + " " + place{arg.Const.File.Path, arg.Const.File.Offset}.String()
				case arg.Value != nil:
					if key := c.keyOf(arg.Value); key != "" {
						return v.Def.Kind + " " + key
					}
				}
			}
		}
	}
	return ""
}

func (p place) String() string { return fmt.Sprintf("%s@%d", p.path, p.offset) }

// fill completes a report.
func (c *census) fill(r *Report) {
	for key, n := range c.parameters {
		if !c.parts[key] {
			r.Weights.Parameters += n
		}
	}
	types := map[string]*WeightType{}
	for _, t := range c.arrays {
		n, ok := t.Shape.Count()
		if !ok {
			continue
		}
		name := t.DType.String()
		if types[name] == nil {
			types[name] = &WeightType{DType: name}
		}
		size, _ := t.DType.ByteLen(n)
		types[name].Arrays++
		types[name].Elements += n
		types[name].Bytes += int64(size)
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		r.Weights.Types = append(r.Weights.Types, *types[name])
	}
	for _, kind := range slices.Sorted(maps.Keys(c.compression)) {
		r.Compression = append(r.Compression, OperationCount{Kind: kind, Count: c.compression[kind]})
	}
}
