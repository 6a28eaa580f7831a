package coreml

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Every program is what Google's protobuf library makes of it: testdata/dump.py wrote programs.sum, and
// prints the dump to compare with when a sum differs.
func TestProgramsAgainstProtobuf(t *testing.T) {
	data, err := os.ReadFile("testdata/programs.sum")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(data)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	for _, dir := range modelDirs(t) {
		name := filepath.Base(dir)
		var d dumper
		d.model(t, open(t, filepath.Join(dir, "model.mlpackage")))
		sum := sha256.Sum256([]byte(d.String()))
		if got := hex.EncodeToString(sum[:]); got != sums[name] {
			t.Errorf("%s: the programs differ: got sum %s, want %s, of\n%.2000s", name, got, sums[name], d.String())
		}
	}
}

// dumper writes programs as testdata/dump.py does.
type dumper struct{ strings.Builder }

func (d *dumper) model(t *testing.T, m *Model) {
	for _, s := range m.Stages {
		d.model(t, s.Model)
	}
	if m.Type != MLProgram {
		return
	}
	p, err := m.Program()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(d, "program(%s)[%s]\n", p.Version, dumpAttributes(p.Attributes))
	for _, f := range p.Functions {
		fmt.Fprintf(d, "%s<%s>(%s)[%s]\n", f.Name, f.Opset, dumpNamed(f.Inputs), dumpAttributes(f.Attributes))
		d.block(f.Body, " ")
	}
}

func (d *dumper) block(b *mil.Block, indent string) {
	fmt.Fprintf(d, "%sblock(%s)[%s]\n", indent, dumpNamed(b.Inputs), dumpAttributes(b.Attributes))
	for _, op := range b.Operations {
		inputs := dumpList(";", op.Inputs, func(in mil.Input) string {
			return in.Param + "=" + dumpList(",", in.Args, func(a mil.Arg) string {
				if a.Value != nil {
					return a.Value.Name
				}
				return dumpValue(a.Const)
			})
		})
		fmt.Fprintf(d, "%s %s(%s)->(%s)[%s]\n", indent, op.Kind, inputs, dumpNamed(op.Outputs), dumpAttributes(op.Attributes))
		for _, nested := range op.Blocks {
			d.block(nested, indent+"  ")
		}
	}
	fmt.Fprintf(d, "%sgives(%s)\n", indent, dumpList(",", b.Outputs, func(v *mil.Value) string { return v.Name }))
}

func dumpList[T any](separator string, list []T, dump func(T) string) string {
	var parts []string
	for _, v := range list {
		parts = append(parts, dump(v))
	}
	return strings.Join(parts, separator)
}

func dumpNamed(list []*mil.Value) string {
	return dumpList(",", list, func(v *mil.Value) string { return v.Name + ":" + dumpType(v.Type) })
}

func dumpAttributes(list mil.Attributes) string {
	return dumpList(";", list, func(a mil.Attribute) string { return a.Name + "=" + dumpValue(a.Value) })
}

func dumpType(t mil.Type) string {
	switch t := t.(type) {
	case *mil.TensorType:
		var code int64
		for c, dtype := range dataTypes {
			if dtype == t.DType {
				code = c
			}
		}
		if t.AnyRank {
			return fmt.Sprintf("T%d[*]", code)
		}
		return fmt.Sprintf("T%d[%s]", code, dumpList(",", t.Shape, tensor.Dim.String))
	case *mil.ListType:
		return fmt.Sprintf("L(%s,%v)", dumpType(t.Elem), t.Length)
	case *mil.TupleType:
		return "U(" + dumpList(",", t.Elems, dumpType) + ")"
	case *mil.DictType:
		return "D(" + dumpType(t.Key) + "," + dumpType(t.Value) + ")"
	case *mil.StateType:
		return "S(" + dumpType(t.Elem) + ")"
	}
	return "?"
}

func dumpValue(c *mil.Constant) string {
	s := dumpType(c.Type) + "="
	if c.File != nil {
		return s + fmt.Sprintf("%s@%d", c.File.Path, c.File.Offset)
	}
	switch c.Type.(type) {
	case *mil.ListType, *mil.TupleType:
		return s + "[" + dumpList(",", c.Items, dumpValue) + "]"
	case *mil.DictType:
		return s + "{" + dumpList(",", c.Entries, func(e mil.Entry) string { return dumpValue(e.Key) + ":" + dumpValue(e.Value) }) + "}"
	}
	if c.Tensor.DType() == tensor.String {
		return s + hex.EncodeToString([]byte(strings.Join(c.Tensor.Strings(), "\x00")))
	}
	return s + hex.EncodeToString(c.Tensor.Bytes())
}
