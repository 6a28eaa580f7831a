package compiler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
)

// A segment of which several passes refuse several layers says so of all of them at once.
func TestRefusalsAreTold(t *testing.T) {
	const graph = `graph g
input %x : fp16[1,2,4,2,2]
input %p : fp16[1,1,1,4,4]
%a = anec.layer_norm(%x) {axes = CHW, groups = 2} : fp16[1,2,4,2,2]
%b = anec.layer_norm(%a) {axes = CHW, groups = 4} : fp16[1,2,4,2,2]
%c = anec.average_pool(%p) {kernel_sizes = [4, 4], explicit_padding = [1, 2, 1, 2], padding_mode = Reflective, exclude_pad = true} : fp16[1,1,1,4,4]
%d = anec.relu(%p) : fp16[1,1,1,4,4]
output %b
output %c
output %d
`
	s := &segment.Segment{Name: "net", Target: virtual(t), Graph: parseGraph(t, graph)}
	var told []string
	for _, e := range layerErrors((&Job{}).makeLegal(t.Context(), s)) {
		told = append(told, e.Layer)
	}
	slices.Sort(told)
	if got := strings.Join(told, " "); got != "a b c" {
		t.Errorf("refused are %q, want a, b and c", got)
	}
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

// Operations whose layers are refused go to the host, with the refusal as the reason, and the rest is cut anew around them.
func TestSettle(t *testing.T) {
	program, err := mil.ParseText("main", []byte(attentionBetween), nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Examine(program.Functions[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	p, err := e.placeUntilTaken(virtual(t), anec.Converted, func(p *Placement) error {
		tried++
		for _, o := range p.Ops {
			if o.Backend == OnEngine && o.Op.Name() == "s" {
				return fmt.Errorf("segment: %w", &anec.LayerError{Layer: "l", Origin: []string{"s"}, Err: errors.New("no such task")})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range p.Ops {
		got = append(got, fmt.Sprintf("%s %v %s", o.Op.Name(), o.Backend, o.Reason()))
	}
	want := []string{"a engine ", "b engine ", "s host no such task", "y engine "}
	if !slices.Equal(got, want) || tried != 2 || len(p.Parts) != 3 {
		t.Errorf("after %d trials, in %d parts: %q, want %q in 3", tried, len(p.Parts), got, want)
	}
	if _, err := e.placeUntilTaken(virtual(t), anec.Converted, func(*Placement) error { return errAbsentWeights }); err != errAbsentWeights {
		t.Errorf("an error that is about no layer is the error: got %v", err)
	}
}
