package compiler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/mil"
)

// place decides where the operations of a function run on a target, as the gates say it. Refused are operations, by name, that a
// pass did not take, with its reasons.
func place(f *mil.Function, shapes map[string][]int, t *hal.Target, refused map[string]string) (*Placement, error) {
	e, err := Examine(f, shapes)
	if err != nil {
		return nil, err
	}
	return e.place(t, refused), nil
}

const attentionBetween = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 2, 8, 4]> q, tensor<fp16, [1, 2, 8, 4]> k) {
        tensor<fp16, [1, 2, 8, 4]> a = relu(x = q)[name = string("a")];
        tensor<fp16, [1, 2, 8, 4]> b = tanh(x = k)[name = string("b")];
        tensor<fp16, [1, 2, 8, 4]> s = scaled_dot_product_attention(query = a, key = b, value = b)[name = string("s")];
        tensor<fp16, [1, 2, 8, 4]> y = relu(x = s)[name = string("y")];
    } -> (y);
}
`

// Table 22.3, barrier: where the target's compiler makes attention a program of its own, it cuts a segment in three.
func TestAttentionCuts(t *testing.T) {
	program, err := mil.ParseText("main", []byte(attentionBetween), nil)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"virtual": "engine: a b s y",
		"h13":     "engine: a b; engine: s; engine: y",
		"h17":     "engine: a b; engine: s; engine: y",
	} {
		p, err := place(program.Functions[0], nil, lookup(t, target), nil)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, part := range p.Parts {
			text := part.Backend.String() + ":"
			for _, o := range part.Ops {
				text += fmt.Sprint(" ", o.Op.Name())
			}
			parts = append(parts, text)
		}
		if got := strings.Join(parts, "; "); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}
