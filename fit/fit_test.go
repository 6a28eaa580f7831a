package fit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

func gauss(x float64) float64 { return math.Exp(-x * x) }

// The Gaussian bump, which no named activation is.
func TestBump(t *testing.T) {
	r, err := Table(gauss, Domain{-4, 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Scale != 1 || r.Offset != 0 || r.Table.Form() != td.FormCentred || r.Table.SpacingLog2 != 2 || r.First != 0 || r.Last != 32 {
		t.Errorf("it lies at %v*x + %v, form %d, spacing %d, knots %d to %d", r.Scale, r.Offset, r.Table.Form(), r.Table.SpacingLog2, r.First, r.Last)
	}
	// A line between two points of a curve is off by up to h²·f''/8, here 2/128; the best lines by about half of that.
	if r.Fitted.Max > 0.011 || r.Fitted.RMS > 0.0017 || r.Rounded.Max > 0.0115 || r.Rounded.RMS > 0.0017 {
		t.Errorf("errors %+v and %+v", r.Fitted, r.Rounded)
	}
	if math.Abs(r.Rounded.At) > 0.01 { // at the top, where the curve bends most
		t.Errorf("the worst is at %v", r.Rounded.At)
	}
	for _, x := range []float64{-65504, -5, 5, 65504, math.Inf(1)} {
		if y := r.At(x); math.Abs(y) > 1e-3 {
			t.Errorf("%v at %v, want about 0", y, x)
		}
	}
}

// No other knots have a smaller sum of squares: to move any of them makes it larger.
func TestLeastSquares(t *testing.T) {
	for _, d := range []Domain{{-4, 4}, {-3, 3}, {0, 5}, {-1, 2.7}} {
		r, err := Table(func(x float64) float64 { return math.Sin(2*x) + x*x/8 }, d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		squares := func() (sum float64) {
			n := (r.Last - r.First) * perSegment
			for i := range n + 1 {
				x := d.Min + (d.Max-d.Min)*float64(i)/float64(n)
				e := r.line(x) - r.function(x)
				sum += e * e
			}
			return sum
		}
		best := squares()
		for i := r.First; i <= r.Last; i++ {
			for _, by := range []float64{-1e-4, 1e-4} {
				r.Knots[i] += by
				if s := squares(); s <= best {
					t.Errorf("%v: knot %d moved by %g: %v, was %v", d, i, by, s, best)
				}
				r.Knots[i] -= by
			}
		}
	}
}

// Lines through 33 given values a power of two apart are the table itself.
func TestThrough(t *testing.T) {
	values := make([]float64, td.NumKnots)
	for i := range values {
		values[i] = float64((i*7)%11)/8 - 0.5
	}
	d := Domain{-2, 2}
	r, err := Table(Through(values, d), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		if got := float64(tensor.F16(r.Table.Knots[i])); got != v {
			t.Errorf("knot %d is %v, want %v", i, got, v)
		}
	}
	if r.Rounded.Max > 0x1p-11 {
		t.Errorf("error %+v", r.Rounded)
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		d             Domain
		o             Options
		scale, offset float64
		form          td.TableForm
		spacing       uint16
		first, last   int
	}{
		{Domain{-4, 4}, Options{}, 1, 0, td.FormCentred, 2, 0, 32},
		{Domain{-3, 3}, Options{}, 1, 0, td.FormCentred, 2, 4, 28},
		{Domain{-3, 5}, Options{}, 1, 0, td.FormCentred, 1, 10, 26},
		{Domain{0, 4}, Options{}, 1, 0, td.FormOrigin, 3, 0, 32},
		{Domain{0, 4}, Options{Left: Line}, 1, 0, td.FormCentred, 2, 16, 32},
		{Domain{-32, 32}, Options{}, 0.5, 0, td.FormCentred, 0, 0, 32},
		{Domain{5, 7}, Options{}, 16, -96, td.FormCentred, 0, 0, 32},
		{Domain{1000, 1016}, Options{}, 2, -2016, td.FormCentred, 0, 0, 32},
	} {
		r, err := Table(func(x float64) float64 { return x / 100 }, c.d, c.o)
		if err != nil {
			t.Errorf("%v: %v", c.d, err)
			continue
		}
		if r.Scale != c.scale || r.Offset != c.offset || r.Table.Form() != c.form || r.Table.SpacingLog2 != c.spacing || r.First != c.first || r.Last != c.last {
			t.Errorf("%v: %v*x + %v, form %d, spacing %d, knots %d to %d", c.d, r.Scale, r.Offset, r.Table.Form(), r.Table.SpacingLog2, r.First, r.Last)
		}
		if a, b := r.X(r.First), r.X(r.Last); a > c.d.Min || b < c.d.Max {
			t.Errorf("%v: knots from %v to %v", c.d, a, b)
		}
	}
}

// A line that goes on is that of the function.
func TestLines(t *testing.T) {
	for _, d := range []Domain{{-5.3, 9.1}, {-4, 0}} {
		r, err := Table(func(x float64) float64 { return x/2 - 1 }, d, Options{Line, Line})
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Basis()
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []float64{-20000, -300, -16, 0, 3, 16, 300, 20000} {
			want := x/2 - 1
			if got := r.At(x); math.Abs(got-want) > 0.002*math.Abs(want)+0.01 {
				t.Errorf("%v: the table at %v: %v, want %v", d, x, got, want)
			}
			if got := b.At(x); math.Abs(got-want) > 0.002*math.Abs(want)+0.01 {
				t.Errorf("%v: the basis at %v: %v, want %v", d, x, got, want)
			}
		}
	}
}

// A basis has the values of the table: at all fp16 numbers the same but for one unit in the last place, at knots the
// same. Rectifiers that have no upper limit do not.
func TestBasisOfBump(t *testing.T) {
	r, err := Table(gauss, Domain{-4, 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Basis()
	if err != nil {
		t.Fatal(err)
	}
	if b.Differs > 600 || b.Error.Max > 0.0115 {
		t.Errorf("%d of 63488 differ, by %g at most; error %+v", b.Differs, b.Most, b.Error)
	}
	for h := 0; h < 0x7c00; h += 4 { // among them all knots
		for _, sign := range []float64{1, -1} {
			x := sign * float64(tensor.F16(uint16(h)))
			got, want := b.At(x), r.At(x)
			if next := float64(tensor.F16(half(math.Abs(want)) + 1)); math.Abs(got-want) > next-math.Abs(want) {
				t.Fatalf("at %v: %v, the table has %v", x, got, want)
			}
			if x == math.Trunc(4*x)/4 && got != want {
				t.Fatalf("at the knot %v: %v, the table has %v", x, got, want)
			}
		}
	}
	plain := plainRectifiers(r)
	if most := math.Abs(plain(3.494140625) - r.At(3.494140625)); most < 1e-3 {
		t.Errorf("rectifiers without a limit are off by %g only", most)
	}
	if y := plain(65504); math.Abs(y) < 1 {
		t.Errorf("far out, rectifiers without a limit give %v", y)
	}
}

// plainRectifiers is y[0] + Σ c·max(x - knot, 0) with all numbers in fp16: what a Basis would be without limits.
func plainRectifiers(r *Result) func(float64) float64 {
	knot := func(i int) float64 { return float64(tensor.F16(r.Table.Knots[i])) }
	var bends [td.NumKnots]float64
	slope := 0.0
	for i := range bends {
		next := 0.0
		if i < segments {
			next = (knot(i+1) - knot(i)) * 4
		}
		bends[i], slope = rounded(next-slope), next
	}
	return func(x float64) float64 {
		y := knot(0)
		for i, c := range bends {
			y += c * max(rounded(x-r.X(i)), 0)
		}
		return rounded(y)
	}
}

func TestBasisOfConstant(t *testing.T) {
	r, err := Table(func(float64) float64 { return 0.5 }, Domain{-4, 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := r.Basis(); err != nil || b.At(3) != 0.5 || len(b.Out) != 1 {
		t.Errorf("%v, %+v", err, b)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		f    func(float64) float64
		d    Domain
		want string
	}{
		{math.Log, Domain{0, 1}, "the function is -Inf at 0"},
		{math.Sqrt, Domain{-1, 1}, "the function is NaN at -1"},
		{math.Exp, Domain{0, 16}, "fp16 holds numbers up to 65504"},
		{gauss, Domain{1, 1}, "the lesser first"},
		{gauss, Domain{1, math.NaN()}, "the lesser first"},
		{gauss, Domain{-1e6, 0}, "from -65504 to 65504"},
		{gauss, Domain{1000, 1000.0001}, "too narrow"},
		{func(x float64) float64 { return 1 / (x - 0.5) }, Domain{0, 1}, "at 0.5"},
	} {
		if _, err := Table(c.f, c.d, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.d, err, c.want)
		}
	}
	steep, err := Table(func(x float64) float64 { return math.Copysign(50000, x+0.125) }, Domain{-4, 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := steep.Basis(); err == nil || !strings.Contains(err.Error(), "the curve changes by") {
		t.Errorf("a rise of more than 100000: %v", err)
	}
}

func TestSVG(t *testing.T) {
	r, err := Table(gauss, Domain{-3.3, 4}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.SVG(&out); err != nil {
		t.Fatal(err)
	}
	paths, circles := 0, 0
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			switch e.Name.Local {
			case "path":
				paths++
			case "circle":
				circles++
			}
		}
	}
	if paths != 3+2*5 || circles < 30 || strings.Contains(out.String(), "NaN") {
		t.Errorf("%d paths, %d knots", paths, circles)
	}
}
