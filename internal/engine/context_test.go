package engine_test

import (
	"context"
	"encoding/binary"
	"strings"
	"sync"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// TestBind lets a program work in memory of the caller, padded as its ports
// are.
func TestBind(t *testing.T) {
	p := load(t, own(t, "relu").file(t), plain)
	c := p.NewContext()
	own, err := c.Surface("x")
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([]byte, len(own)), make([]byte, len(own))
	// Channel 1, row 2, column 3: rows of 64 bytes, planes of 5 rows.
	const at = 5*64 + 2*64 + 2*3
	binary.LittleEndian.PutUint16(x[at:], tensor.ToF16(2.5))
	binary.LittleEndian.PutUint16(x[at+2:], tensor.ToF16(-2.5))
	for name, surface := range map[string][]byte{"x": x, "y": y} {
		if err := c.Bind(name, surface); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.RunAll(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(y); i += 2 {
		want := uint16(0)
		if i == at {
			want = tensor.ToF16(2.5)
		}
		if got := binary.LittleEndian.Uint16(y[i:]); got != want {
			t.Fatalf("halfword at %#x is %#x, want %#x", i, got, want)
		}
	}
	got, err := c.Tensor("y")
	if err != nil {
		t.Fatal(err)
	}
	if v := got.Float32s(); v[1*35+2*7+3] != 2.5 || v[1*35+2*7+4] != 0 {
		t.Errorf("the array has %v and %v there, want 2.5 and 0", v[52], v[53])
	}
}

// TestContextMistakes are what a caller can do wrong.
func TestContextMistakes(t *testing.T) {
	p, other := load(t, own(t, "relu").file(t), plain), load(t, own(t, "subtract a batch").file(t), plain)
	c := p.NewContext()
	for _, test := range []struct {
		what string
		err  error
		msg  string
	}{
		{"another program", other.RunAll(context.Background(), c), "another program"},
		{"no such port", c.Set("z", nil), `no port "z"`},
		{"too few elements", c.Set("x", make([]float32, 3)), "want 105 elements"},
		{"too many elements", c.Get("y", make([]float32, 106)), "want 105 elements"},
		{"a surface too small", c.Bind("x", make([]byte, 64)), "want"},
		{"another shape", c.SetTensor("x", tensor.New(tensor.Float16, 105)), "shape"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.msg) {
			t.Errorf("%s: got %v, want an error with %q", test.what, test.err, test.msg)
		}
	}
}

// TestContextsShareNothing runs one program in several contexts at once.
func TestContextsShareNothing(t *testing.T) {
	o := own(t, "matrix product of two inputs")
	p := load(t, o.file(t), plain)
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			r := newRand(seed)
			c := p.NewContext()
			y := make([]float32, 24)
			for range 50 {
				k, x := grid(r, 96), grid(r, 64)
				for _, err := range []error{c.Set("k", k), c.Set("x", x), p.RunAll(context.Background(), c), c.Get("y", y)} {
					if err != nil {
						t.Error(err)
						return
					}
				}
				for i, want := range o.compute([][]float32{k, x}) {
					if y[i] != tensor.RoundF16(want) {
						t.Errorf("context %d: element %d is %v, want %v", seed, i, y[i], want)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
