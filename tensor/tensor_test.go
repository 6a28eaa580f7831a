package tensor

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func seq(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

func must(t *testing.T) func(*Tensor, error) *Tensor {
	return func(x *Tensor, err error) *Tensor {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// Views of every element type agree with views of int64: the bits of the width are what is kept.
func TestViewsWorkForEveryElementType(t *testing.T) {
	ok := must(t)
	views := map[string]func(*Tensor) *Tensor{
		"transpose": func(x *Tensor) *Tensor { return ok(x.Transpose(2, 0, 1)) },
		"slice":     func(x *Tensor) *Tensor { return ok(x.Slice(1, 2, 2, -2)) },
		"reshape of a slice": func(x *Tensor) *Tensor {
			return ok(ok(x.Slice(2, 1, 3, 1)).Reshape(9, 2))
		},
		"broadcast": func(x *Tensor) *Tensor { return ok(ok(x.Slice(0, 1, 1, 1)).BroadcastTo(3, 2, 3, 5)) },
	}
	for _, d := range DTypes() {
		for name, view := range views {
			base := FromInt64s(Int64, seq(2*3*5), 2, 3, 5)
			want := view(base).Int64s()
			var x *Tensor
			if d == String {
				vals := make([]string, 30)
				for i := range vals {
					vals[i] = strings.Repeat("x", i)
				}
				got := view(Of(vals, 2, 3, 5)).Strings()
				for i := range got {
					if len(got[i]) != int(want[i]) {
						t.Fatalf("%v %s: element %d has %d bytes, expected %d", d, name, i, len(got[i]), want[i])
					}
				}
				continue
			}
			x = FromInt64s(d, seq(30), 2, 3, 5)
			dense := x.Int64s()
			v := view(x)
			for label, got := range map[string][]int64{"view": v.Int64s(), "clone": v.Clone().Int64s()} {
				for i := range want {
					if got[i] != dense[want[i]] {
						t.Fatalf("%v %s of a %s: element %d is %d, expected %d", d, label, name, i, got[i], dense[want[i]])
					}
				}
			}
			if b := v.Bytes(); len(b) != (v.Len()*d.Bits()+7)/8 {
				t.Fatalf("%v %s: %d bytes", d, name, len(b))
			}
		}
	}
}

func TestViewErrors(t *testing.T) {
	x := New(Float32, 2, 3)
	for name, f := range map[string]func() (*Tensor, error){
		"reshape to another size": func() (*Tensor, error) { return x.Reshape(4) },
		"reshape overflow":        func() (*Tensor, error) { return x.Reshape(1<<40, 1<<40) },
		"repeated axis":           func() (*Tensor, error) { return x.Transpose(0, 0) },
		"short permutation":       func() (*Tensor, error) { return x.Transpose(0) },
		"slice past the end":      func() (*Tensor, error) { return x.Slice(1, 1, 3, 1) },
		"slice before the start":  func() (*Tensor, error) { return x.Slice(1, 0, 2, -1) },
		"slice that overflows":    func() (*Tensor, error) { return x.Slice(1, 0, 1<<33+1, 1<<31) },
		"slice backwards too far": func() (*Tensor, error) { return x.Slice(1, 1, 1<<33+1, -1<<31) },
		"slice by the least step": func() (*Tensor, error) { return x.Slice(1, 1, 2, math.MinInt) },
		"slice without end":       func() (*Tensor, error) { return x.Slice(1, 0, 1<<62, 0) },
		"slice of no axis":        func() (*Tensor, error) { return x.Slice(2, 0, 1, 1) },
		"broadcast of 3 to 4":     func() (*Tensor, error) { return x.BroadcastTo(2, 4) },
		"too few bytes":           func() (*Tensor, error) { return FromBytes(Float16, []int{4}, make([]byte, 7)) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestEmptyAndScalar(t *testing.T) {
	e := New(Float32, 0, 3)
	if e.Len() != 0 || len(e.Float32s()) != 0 || len(must(t)(e.Transpose(1, 0)).Clone().Bytes()) != 0 {
		t.Error("an empty tensor has elements")
	}
	s := Scalar(float32(7))
	if s.Rank() != 0 || s.Len() != 1 || s.Float32s()[0] != 7 || s.Clone().Float32s()[0] != 7 {
		t.Error("a scalar does not hold its value")
	}
}

func TestSubByteElementsStraddleBytes(t *testing.T) {
	// 3-bit 1,2,3,4,5 as a little-endian bit stream: 001 010 011 100 101 from bit 0 up.
	want := []byte{0b11010001, 0b01011000}
	x := FromInt64s(UInt3, []int64{1, 2, 3, 4, 5}, 5)
	if !slices.Equal(x.Bytes(), want) {
		t.Errorf("packed %08b, expected %08b", x.Bytes(), want)
	}
	y, err := FromBytes(Int4, []int{3}, []byte{0x8f, 0x07})
	if err != nil {
		t.Fatal(err)
	}
	if got := y.Int64s(); !slices.Equal(got, []int64{-1, -8, 7}) {
		t.Errorf("int4 decodes to %v", got)
	}
}

func TestConversions(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tc := range []struct {
		name string
		from *Tensor
		to   DType
		want []int64
	}{
		{"floats are cut towards zero", Of([]float32{1.9, -1.9, 0.5}, 3), Int32, []int64{1, -1, 0}},
		{"NaN and infinities have a value", Of([]float32{nan, inf, -inf}, 3), Int64, []int64{0, math.MaxInt64, math.MinInt64}},
		{"integers wrap", Of([]int32{300, -1}, 2), UInt8, []int64{44, 255}},
		{"bool is not zero", Of([]float32{0, 0.25, -1}, 3), Bool, []int64{0, 1, 1}},
		{"halves are exact", FromFloat32s(Float16, []float32{2048, -3}, 2), Int16, []int64{2048, -3}},
		{"large integers survive float64", Of([]float64{1<<53 - 1}, 1), Int64, []int64{1<<53 - 1}},
	} {
		got, err := tc.from.Convert(tc.to)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Int64s(), tc.want) {
			t.Errorf("%s: %v, expected %v", tc.name, got.Int64s(), tc.want)
		}
	}
	if _, err := Scalar("x").Convert(Float32); err == nil {
		t.Error("a string became a number")
	}
}

func TestCopyFromWritesThroughViews(t *testing.T) {
	for _, d := range []DType{Float32, UInt3, UInt8} {
		x := New(d, 4, 4)
		mid := must(t)(must(t)(x.Slice(0, 1, 2, 1)).Slice(1, 1, 2, 1))
		if err := mid.CopyFrom(FromInt64s(d, []int64{1, 2, 3, 4}, 2, 2)); err != nil {
			t.Fatal(err)
		}
		want := []int64{0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0}
		if got := x.Int64s(); !slices.Equal(got, want) {
			t.Errorf("%v: %v", d, got)
		}
	}
}

func TestShapes(t *testing.T) {
	s0 := Symbol(0)
	for _, tc := range []struct {
		a, b Shape
		want string // "" if they do not broadcast
	}{
		{ShapeOf(2, 3), ShapeOf(3), "[2, 3]"},
		{ShapeOf(2, 1), ShapeOf(1, 3), "[2, 3]"},
		{Shape{s0, 3}, Shape{s0, 1}, "[s0, 3]"},
		{Shape{s0}, Shape{Symbol(1)}, "[?]"},
		{Shape{s0}, ShapeOf(4), "[4]"},
		{Shape{s0}, ShapeOf(1), "[s0]"},
		{ShapeOf(2), ShapeOf(3), ""},
		{ShapeOf(0), ShapeOf(1), "[0]"},
		{nil, ShapeOf(3), "[3]"},
	} {
		got, err := Broadcast(tc.a, tc.b)
		if tc.want == "" {
			if err == nil {
				t.Errorf("%v and %v broadcast to %v", tc.a, tc.b, got)
			}
			continue
		}
		if err != nil || got.String() != tc.want {
			t.Errorf("%v and %v broadcast to %v, %v; expected %s", tc.a, tc.b, got, err, tc.want)
		}
	}
	for _, dims := range [][]int{{1 << 30, 1 << 30}, {-1}, {0, -1}, {1 << 62, 4}} {
		if n, ok := Count(dims); ok {
			t.Errorf("Count(%v) = %d", dims, n)
		}
	}
	if n, ok := Count([]int{1 << 40, 0, 1 << 40}); ok && n != 0 {
		t.Errorf("an empty shape has %d elements", n)
	}
}

func TestDTypeNames(t *testing.T) {
	for _, d := range DTypes() {
		got, err := ParseDType(d.String())
		if err != nil || got != d {
			t.Errorf("%v parses to %v, %v", d, got, err)
		}
	}
	if _, err := ParseDType("fp12"); err == nil {
		t.Error("fp12 is a type")
	}
}

// A strided tensor is a view: elements are where the strides say, and writing reaches them.
func TestStrided(t *testing.T) {
	memory := make([]byte, 20)
	for i := range memory {
		memory[i] = byte(i)
	}
	x, err := Strided(UInt16, []int{2, 3}, []int{10, 2}, memory)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(x.Int64s()); got != "[256 770 1284 2826 3340 3854]" || x.Contiguous() {
		t.Errorf("got %v", got)
	}
	if err := x.CopyFrom(New(UInt16, 2, 3)); err != nil {
		t.Fatal(err)
	}
	if want := []byte{0, 0, 0, 0, 0, 0, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 16, 17, 18, 19}; !bytes.Equal(memory, want) {
		t.Errorf("the memory is %v, want %v", memory, want)
	}
	part, err := x.Slice(0, 1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if from := part.From(); len(from) != 10 || &from[0] != &memory[10] {
		t.Errorf("the second row begins %d bytes before the end", len(from))
	}
	for name, c := range map[string]struct {
		d              DType
		shape, strides []int
	}{
		"beyond":        {UInt16, []int{2, 3}, []int{16, 2}},
		"far beyond":    {UInt16, []int{2, 3}, []int{1 << 62, 2}},
		"within":        {UInt16, []int{2, 3}, []int{7, 2}},
		"backwards":     {UInt16, []int{2, 3}, []int{-10, 2}},
		"axes":          {UInt16, []int{2, 3}, []int{2}},
		"less than one": {Int4, []int{2}, []int{1}},
		"overflow":      {UInt8, []int{1 << 40, 1 << 40}, []int{1, 1}},
	} {
		if x, err := Strided(c.d, c.shape, c.strides, memory); err == nil {
			t.Errorf("%s: %v is let pass", name, x)
		}
	}
}
