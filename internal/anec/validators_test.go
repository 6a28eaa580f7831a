package anec

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/tensor"
)

// A validatorCase is a layer and what the targets say to it.
type validatorCase struct {
	name  string
	layer *Layer
	on    string // names of targets
	want  string // the text; "" accepts
}

// validatorCases are those of all kinds, from the files of the kinds.
var validatorCases []validatorCase

func addCases(cases ...validatorCase) struct{} {
	validatorCases = append(validatorCases, cases...)
	return struct{}{}
}

// layerOf makes a layer outside any graph, with the tops that its kind infers. One
// that the shape rule does not take has no top: validators see those too.
func layerOf(p Params, bottoms ...*Value) *Layer {
	l := &Layer{Name: "l", Params: p, Bottoms: bottoms}
	types, _ := l.TopTypes()
	for _, t := range types {
		l.Tops = append(l.Tops, &Value{Name: "y", Type: t, Def: l})
	}
	return l
}

// as is a layer with another type of its first top.
func (l *Layer) as(t Type) *Layer {
	l.Tops = []*Value{{Name: "y", Type: t, Def: l}}
	return l
}

// halfs is an fp16 surface.
func halfs(dims ...int) *Value { return surface(tensor.Float16, dims...) }

func surface(d tensor.DType, dims ...int) *Value {
	return &Value{Name: "x", Type: TypeOf(d, dims...)}
}

// weights is an fp16 constant; its elements have no memory.
func weights(dims ...int) *Value {
	v := halfs(dims...)
	v.Name, v.Const = "w", &Constant{DType: tensor.Float16, Dims: v.Type.Dims}
	return v
}

func TestValidators(t *testing.T) {
	for _, c := range validatorCases {
		for _, name := range strings.Fields(c.on) {
			target, err := hal.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			r := Validate(c.layer, target)
			if r != nil {
				got = r.Text
				if r.ID == "" || r.Remedy == "" || r.Source == "" || r.Limit == "" || r.Found == "" {
					t.Errorf("%v, %s on %s: a reject with an empty field: %+v", c.layer.Kind(), c.name, name, *r)
				}
				if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(string(r.ID)) {
					t.Errorf("%v, %s: ID %q is none", c.layer.Kind(), c.name, r.ID)
				}
			}
			if got != c.want {
				t.Errorf("%v, %s on %s:\n got %q\nwant %q", c.layer.Kind(), c.name, name, got, c.want)
			}
		}
		if r := Validate(c.layer, virtualTarget(t)); r != nil {
			t.Errorf("%v, %s: virtual rejects with %q", c.layer.Kind(), c.name, r.Text)
		}
	}
}

// TestValidatorsAreTried wants of each validator a layer that it takes and one that
// it rejects itself.
func TestValidatorsAreTried(t *testing.T) {
	var accepted, rejected [numKinds]bool
	for _, c := range validatorCases {
		switch {
		case c.want == "":
			accepted[c.layer.Kind()] = true
		case !strings.HasPrefix(c.want, "Tensor dimensions"): // that is for all kinds
			rejected[c.layer.Kind()] = true
		}
	}
	for _, c := range slices.Concat(moveGates, rawMoveGates) {
		name, _, _ := strings.Cut(c.layer, " ")
		kind, _ := KindOf(name)
		accepted[kind] = accepted[kind] || c.want == ""
		rejected[kind] = rejected[kind] || c.want != ""
	}
	for _, k := range Kinds() {
		if k.Info().Check != nil && (!accepted[k] || !rejected[k]) {
			t.Errorf("%v: accepted %v, rejected %v", k, accepted[k], rejected[k])
		}
	}
}

func virtualTarget(t *testing.T) *hal.Target {
	target, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// The shared check, on targets whose extents differ. Weights are no surfaces.
var _ = addCases(
	validatorCase{"extents at the limit", layerOf(&Neuron{Type: 1}, halfs(1, 1, 65536, 16384, 16384)), "h13 h14 h15 h16", ""},
	validatorCase{"width past the limit", layerOf(&Neuron{Type: 1}, halfs(1, 1, 3, 8, 16385)), "h13 h14g h15 m11",
		"Tensor dimensions N1D1C3H8W16385 are not within supported range, N[1-65536]D[1-16384]C[1-65536]H[1-16384]W[1-16384]"},
	validatorCase{"width past that limit on later families", layerOf(&Neuron{Type: 1}, halfs(1, 1, 3, 8, 16385)), "h16 h17s h18", ""},
	validatorCase{"depth before A13", layerOf(&Neuron{Type: 1}, halfs(1, 2, 3, 8, 8)), "h11 h12",
		"Tensor dimensions N1D2C3H8W8 are not within supported range, N[1-4096]D[1-1]C[1-65536]H[1-16384]W[1-16384]"},
	validatorCase{"no elements", layerOf(&Neuron{Type: 1}, halfs(1, 1, 0, 8, 8)), "h13",
		"Tensor dimensions N1D1C0H8W8 are not within supported range, N[1-65536]D[1-16384]C[1-65536]H[1-16384]W[1-16384]"},
	validatorCase{"weights are no surface", layerOf(&Linear{Axis: W}, halfs(1, 1, 1, 1, 8), weights(1, 1, 1, 16384, 8)), "h11 h13", ""},
)
