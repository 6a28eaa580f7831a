package engine

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The classes by their definitions, in fp64: those that take values from between
// elements.

var samplingGrids = []td.SamplingGrid{
	td.GridAlignedCorners, td.GridUnalignedCorners, td.GridOffsetCorners, td.GridDefault, td.GridStrictAlignedCorners,
}

// gridPoint is the definition of td.SamplingGrid.
func gridPoint(g td.SamplingGrid, i, n, m float64) float64 {
	pos := 0.0
	switch g {
	case td.GridAlignedCorners:
		pos = (n - 1) / 2
		if m > 1 {
			pos = i * (n - 1) / (m - 1)
		}
	case td.GridStrictAlignedCorners:
		if m > 1 {
			pos = i * (n - 1) / (m - 1)
		}
	case td.GridUnalignedCorners:
		pos = (i+0.5)*n/m - 0.5
	case td.GridOffsetCorners:
		pos = (i + 0.5) * max(n-1, 1) / m
	case td.GridDefault:
		pos = i * n / m
	}
	return min(max(pos, 0), n-1)
}

func nearestTo(k td.NearestRounding, v float64) float64 {
	lo, hi := math.Floor(v), math.Ceil(v)
	tie := v-lo == 0.5
	switch {
	case k == td.RoundFloor || tie && k == td.RoundPreferFloor:
		return lo
	case k == td.RoundCeil || tie && k == td.RoundPreferCeil:
		return hi
	case tie && (k == td.RoundToEven) == (math.Mod(lo, 2) == 0):
		return lo
	case tie:
		return hi
	}
	return math.Round(v)
}

func testResize(t *testing.T, r *rand.Rand) {
	p := &td.Resize{Method: pick(r, td.SampleLinear, td.SampleNearest), Grid: pick(r, samplingGrids...), Rounding: td.NearestRounding(r.IntN(6))}
	x := randomDims(r)
	y := x
	y[td.AxisH], y[td.AxisW] = 1+r.IntN(9), 1+r.IntN(12)
	if r.IntN(10) == 0 {
		y[td.AxisW] = 600
	}
	if p.Grid == td.GridDefault || p.Grid == td.GridUnalignedCorners {
		p.Scale = [2]float32{pick[float32](r, 0, 0.5, 2, 1.25), pick[float32](r, 0, 0, 3, 0.75)}
	}
	op := relocated(r, p, y, x)
	whole := rowOf(op).Name == "resize-int"
	b := newBench(t, r, op)
	position := func(e, i int, a td.Axis) float64 {
		n, m := float64(x[a]), float64(y[a])
		if s := float64(p.Scale[e]); s != 0 && p.Grid == td.GridDefault {
			return min(float64(i)/s, n-1)
		} else if s != 0 {
			return min(max((float64(i)+0.5)/s-0.5, 0), n-1)
		}
		return gridPoint(p.Grid, float64(i), n, m)
	}
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		h, w := position(0, i[td.AxisH], td.AxisH), position(1, i[td.AxisW], td.AxisW)
		if p.Method == td.SampleNearest {
			i[td.AxisH], i[td.AxisW] = int(nearestTo(p.Rounding, h)), int(nearestTo(p.Rounding, w))
			return b.get(1, i), 0
		}
		want, terms = b.bilinear(i, h, w, func(at [td.NumAxes]int) float64 {
			at[td.AxisH], at[td.AxisW] = min(at[td.AxisH], x[td.AxisH]-1), min(at[td.AxisW], x[td.AxisW]-1)
			return b.get(1, at)
		})
		if whole {
			want = math.RoundToEven(want)
		}
		return want, terms
	})
}

// bilinear mixes the four elements about a position. It is exact about the order
// of the sum: of integers, a tie shows it.
func (b *bench) bilinear(i [td.NumAxes]int, h, w float64, get func([td.NumAxes]int) float64) (sum, terms float64) {
	h0, w0 := math.Floor(h), math.Floor(w)
	for dh, weightH := range [...]float64{1 - (h - h0), h - h0} {
		for dw, weightW := range [...]float64{1 - (w - w0), w - w0} {
			weight := weightH * weightW
			if weight == 0 {
				continue
			}
			i[td.AxisH], i[td.AxisW] = int(h0)+dh, int(w0)+dw
			v := weight * get(i)
			sum += float64(v)
			terms += math.Abs(v)
		}
	}
	return sum, terms
}

func randomSampling(r *rand.Rand) td.Sampling {
	return td.Sampling{
		Method:     pick(r, td.SampleLinear, td.SampleNearest),
		Coordinate: pick(r, td.CoordNonNormalized, td.CoordNormalizedSymmetric, td.CoordNormalizedUnit),
		Padding:    pick(r, td.PadZero, td.PadReplication, td.PadSymmetric, td.PadReflective, td.PadBackground),
		Background: 2, AlignCorners: r.IntN(2) == 0,
	}
}

// sample is the value of x at a coordinate.
func (b *bench) sample(s *td.Sampling, i [td.NumAxes]int, h, w float64) (want, terms float64) {
	x := b.op.Operands[1].Dims
	position := func(v float64, a td.Axis) float64 {
		n := float64(x[a])
		switch {
		case s.Coordinate == td.CoordNonNormalized:
			return v
		case s.Coordinate == td.CoordNormalizedSymmetric && s.AlignCorners:
			return (v + 1) / 2 * (n - 1)
		case s.Coordinate == td.CoordNormalizedSymmetric:
			return (float64((v+1)*n) - 1) / 2
		case s.AlignCorners:
			return v * (n - 1)
		}
		return float64(v*n) - 0.5
	}
	h, w = position(h, td.AxisH), position(w, td.AxisW)
	get := func(at [td.NumAxes]int) float64 { return b.outsideOf(s.Padding, s.Background, at) }
	if s.Method == td.SampleNearest {
		i[td.AxisH], i[td.AxisW] = int(math.Floor(h+0.5)), int(math.Floor(w+0.5))
		return get(i), 0
	}
	return b.bilinear(i, h, w, get)
}

// sampledOp makes an operation on floats.
func sampledOp(r *rand.Rand, p td.Params, y, x [td.NumAxes]int, second td.Operand) *td.Op {
	op := &td.Op{Params: p, Operands: []td.Operand{
		operand256(pick(r, floatTypes...), y[:]...), operand256(pick(r, sourceTypes...), x[:]...), second,
	}}
	epilogues(r, op, false)
	return op
}

func testResample(t *testing.T, r *rand.Rand) {
	p := &td.Resample{Sampling: randomSampling(r)}
	x := [td.NumAxes]int{1 + r.IntN(2), 1 + r.IntN(2), pick(r, 1, 3, 40), 1 + r.IntN(6), 1 + r.IntN(6)}
	y := x
	y[td.AxisH], y[td.AxisW] = 1+r.IntN(5), pick(r, 0, 1, 5, 7)
	at := [td.NumAxes]int{pick(r, 1, x[td.AxisN]), 1, 2, y[td.AxisH], y[td.AxisW]}
	both := r.IntN(3) > 0
	if !both {
		y[td.AxisH], at[td.AxisC], at[td.AxisH] = x[td.AxisH], 1, pick(r, 1, x[td.AxisH])
	}
	op := sampledOp(r, p, y, x, operand256(pick(r, tensor.Float32, tensor.Float16, tensor.Int8, tensor.UInt16), at[:]...))
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		c := [td.NumAxes]int{i[td.AxisN], 0, 0, i[td.AxisH], i[td.AxisW]}
		across := b.get(2, c)
		if both {
			c[td.AxisC] = 1
			return b.sample(&p.Sampling, i, b.get(2, c), across)
		}
		// A row as if it were all of x: the row itself is exact.
		plain := p.Sampling
		plain.Coordinate = td.CoordNonNormalized
		h := float64(i[td.AxisH])
		n := float64(x[td.AxisW])
		switch {
		case p.Coordinate == td.CoordNormalizedSymmetric && p.AlignCorners:
			across = (across + 1) / 2 * (n - 1)
		case p.Coordinate == td.CoordNormalizedSymmetric:
			across = (float64((across+1)*n) - 1) / 2
		case p.Coordinate == td.CoordNormalizedUnit && p.AlignCorners:
			across *= n - 1
		case p.Coordinate == td.CoordNormalizedUnit:
			across = float64(across*n) - 0.5
		}
		return b.sample(&plain, i, h, across)
	})
}

func testAffineTransform(t *testing.T, r *rand.Rand) {
	p := &td.AffineTransform{Sampling: randomSampling(r)}
	p.Method = td.SampleLinear // a tie of the nearest would depend on the last bit
	x := [td.NumAxes]int{1 + r.IntN(2), 1 + r.IntN(2), 1 + r.IntN(3), 1 + r.IntN(6), 1 + r.IntN(6)}
	y := x
	y[td.AxisH], y[td.AxisW] = 1+r.IntN(5), pick(r, 0, 1, 5, 7)
	op := sampledOp(r, p, y, x, operand256(pick(r, tensor.Float32, tensor.Float16), pick(r, 1, x[td.AxisN]), 1, 1, 2, 3))
	b := newBench(t, r, op)
	coordinate := func(i int, a td.Axis) float64 {
		n, v := float64(y[a]), float64(i)
		switch {
		case p.Coordinate == td.CoordNonNormalized:
			return v
		case p.Coordinate == td.CoordNormalizedUnit && !p.AlignCorners:
			return (v + 0.5) / n
		case p.Coordinate == td.CoordNormalizedUnit && n == 1:
			return 0.5
		case p.Coordinate == td.CoordNormalizedUnit:
			return v / (n - 1)
		case !p.AlignCorners:
			return (2*v+1)/n - 1
		case n == 1:
			return 0
		}
		return 2*v/(n-1) - 1
	}
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		across, down := coordinate(i[td.AxisW], td.AxisW), coordinate(i[td.AxisH], td.AxisH)
		row := func(h int) float64 {
			at := func(w int) float64 { return b.get(2, [td.NumAxes]int{i[td.AxisN], 0, 0, h, w}) }
			return float64(at(0)*across) + float64(at(1)*down) + at(2)
		}
		return b.sample(&p.Sampling, i, row(1), row(0))
	})
}

func testCropResize(t *testing.T, r *rand.Rand) {
	p := &td.CropResize{
		Sampling: randomSampling(r), Grid: pick(r, samplingGrids...), Scale: pick[float32](r, 1, 1, 2, 0.5),
		Boxes: pick(r, td.BoxCornersHeightFirst, td.BoxCornersWidthFirst, td.BoxCenterHeightFirst, td.BoxCenterWidthFirst),
	}
	p.Coordinate = pick(r, td.CoordNonNormalized, td.CoordNormalizedUnit)
	x := [td.NumAxes]int{1 + r.IntN(3), 1 + r.IntN(2), 1 + r.IntN(3), 1 + r.IntN(6), 1 + r.IntN(6)}
	numbers := pick(r, 4, 5)
	y := x
	if numbers == 5 || x[td.AxisN] == 1 {
		y[td.AxisN] = extent(r)
	}
	y[td.AxisH], y[td.AxisW] = 1+r.IntN(4), 1+r.IntN(4)
	op := sampledOp(r, p, y, x, operand256(pick(r, tensor.Float32, tensor.Float16, tensor.UInt16), y[td.AxisN], 1, numbers, 1, 1))
	b := newBench(t, r, op)
	b.check(t, boundOf(op), func(i [td.NumAxes]int) (want, terms float64) {
		number := func(k int) float64 {
			return b.get(2, [td.NumAxes]int{td.AxisN: i[td.AxisN], td.AxisC: numbers - 4 + k})
		}
		hFirst, wFirst, hLast, wLast := number(0), number(1), number(2), number(3)
		if p.Boxes == td.BoxCornersWidthFirst || p.Boxes == td.BoxCenterWidthFirst {
			hFirst, wFirst, hLast, wLast = wFirst, hFirst, wLast, hLast
		}
		if p.Boxes == td.BoxCenterHeightFirst || p.Boxes == td.BoxCenterWidthFirst {
			hFirst, hLast = hFirst-hLast/2, hFirst+hLast/2
			wFirst, wLast = wFirst-wLast/2, wFirst+wLast/2
		}
		position := func(first, last float64, a td.Axis) float64 {
			scale := float64(p.Scale)
			if p.Coordinate == td.CoordNormalizedUnit {
				scale *= float64(x[a] - 1)
			}
			first, last = first*scale, last*scale
			along := gridPoint(p.Grid, float64(i[a]), math.Abs(last-first)+1, float64(y[a]))
			if last < first {
				along = -along
			}
			return float64(float32(first + along))
		}
		h, w := position(hFirst, hLast, td.AxisH), position(wFirst, wLast, td.AxisW)
		if numbers == 5 {
			i[td.AxisN] = min(max(int(b.get(2, [td.NumAxes]int{td.AxisN: i[td.AxisN]})), 0), x[td.AxisN]-1)
		}
		if x[td.AxisN] == 1 {
			i[td.AxisN] = 0
		}
		outside := h < 0 || w < 0 || h > float64(x[td.AxisH]-1) || w > float64(x[td.AxisW]-1)
		switch {
		case outside && p.Padding == td.PadBackground:
			return float64(p.Background), 0
		case outside && p.Padding == td.PadZero:
			return 0, 0
		}
		plain := p.Sampling
		plain.Coordinate = td.CoordNonNormalized
		return b.sample(&plain, i, h, w)
	})
}

// largeSamplingOps are such operations of more than one tile.
func largeSamplingOps() []*td.Op {
	f16, f32 := tensor.Float16, tensor.Float32
	half := operand256
	big := half(f16, 1, 1, 24, 30, 40)
	sampling := td.Sampling{Padding: td.PadReflective}
	ops := []*td.Op{
		{Params: &td.Padding{Before: [5]int{0, 0, 0, 1, 2}, After: [5]int{0, 0, 0, 1, 2}, Mode: td.PadReflective}, Operands: []td.Operand{half(f16, 1, 1, 24, 32, 44), big}},
		{Params: &td.Padding{Before: [5]int{0, 0, 0, 1, 2}, After: [5]int{0, 0, 0, 1, 2}, Mode: td.PadBackground}, Operands: []td.Operand{half(f32, 1, 1, 24, 32, 44), big}},
		{Params: &td.Tile{Reps: [5]int{1, 1, 2, 1, 3}}, Operands: []td.Operand{half(f16, 1, 1, 48, 30, 120), big}},
		{Params: &td.DynamicSlice{Number: 1, Axes: [5]td.Axis{td.AxisH}, Padding: td.PadReplication}, Operands: []td.Operand{
			half(f16, 1, 1, 24, 20, 40), big, half(tensor.Int32, 1, 1, 1, 1, 1)}},
		{Params: &td.Resize{Grid: td.GridDefault, Method: td.SampleNearest}, Operands: []td.Operand{half(f16, 1, 1, 24, 60, 80), big}},
		{Params: &td.Resize{Grid: td.GridDefault}, Operands: []td.Operand{half(f16, 1, 1, 24, 60, 80), big}},
		{Params: &td.Resize{Grid: td.GridDefault}, Operands: []td.Operand{half(tensor.Int32, 1, 1, 24, 60, 80), half(tensor.Int8, 1, 1, 24, 30, 40)}},
		{Params: &td.Resample{Sampling: sampling}, Operands: []td.Operand{half(f16, 1, 1, 24, 60, 80), big, half(f16, 1, 1, 2, 60, 80)}},
		{Params: &td.AffineTransform{Sampling: sampling}, Operands: []td.Operand{half(f16, 1, 1, 24, 60, 80), big, half(f16, 1, 1, 1, 2, 3)}},
		{Params: &td.CropResize{Sampling: sampling, Grid: td.GridDefault, Boxes: td.BoxCornersHeightFirst, Scale: 1}, Operands: []td.Operand{
			half(f16, 9, 1, 24, 20, 20), big, half(f16, 9, 1, 4, 1, 1)}},
	}
	for _, c := range rearrangements {
		deep, wide := []int{1, 1, 96, 15, 20}, []int{1, 1, 24, 30, 40}
		if c.outer == td.AxisN {
			deep = []int{4, 1, 24, 15, 20}
		}
		y, x := deep, wide
		if c.scatter {
			y, x = wide, deep
		}
		ops = append(ops, &td.Op{Params: c.params(td.Factors{X: 2, Y: 2, Z: 1}), Operands: []td.Operand{half(f16, y...), half(f16, x...)}})
	}
	return ops
}

// Modes of which it is not known what they mean are refused by name.
func TestUnknownSampling(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	image := func() td.Operand { return operand256(tensor.Float16, 1, 1, 1, 2, 2) }
	for _, c := range []struct {
		op   *td.Op
		want string
	}{
		{&td.Op{Params: &td.Resize{Grid: td.GridOffsetDefault}, Operands: []td.Operand{image(), image()}}, "what sampling grid OffsetDefault means"},
		{&td.Op{Params: &td.Resize{Grid: td.GridOffsetDefaultWithNominalScale, Method: td.SampleNearest}, Operands: []td.Operand{image(), image()}}, "what sampling grid OffsetDefaultWithNominalScale means"},
		{&td.Op{Params: &td.Resample{Sampling: td.Sampling{Coordinate: td.CoordNormalizedReflect, Padding: td.PadZero}},
			Operands: []td.Operand{image(), image(), operand256(tensor.Float16, 1, 1, 2, 2, 2)}}, "what coordinate mode NormalizedReflect means"},
		{&td.Op{Params: &td.CropResize{Sampling: td.Sampling{Coordinate: td.CoordNormalizedSymmetric, Padding: td.PadZero}, Boxes: td.BoxCenterHeightFirst},
			Operands: []td.Operand{image(), image(), operand256(tensor.Float16, 1, 1, 4, 1, 1)}}, "what coordinate mode NormalizedSymmetric means for a box"},
		{&td.Op{Params: &td.Tile{Reps: [5]int{1, 1, 1, 1, 1}}, Operands: []td.Operand{operand256(tensor.Int4, 1, 1, 1, 2, 2), image()}}, "cannot be written"},
	} {
		if _, err := newBench(t, r, c.op).program(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.op.Class(), err, c.want)
		}
	}
}

// Places that come from data may be any number: they are outside, and nothing is
// read there.
func TestSamplingHostileData(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	wild := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e30, 1 << 31, 0.5}
	floats := func(c, h, w int) td.Operand { return operand256(tensor.Float32, 1, 1, c, h, w) }
	for _, mode := range paddingModes {
		s := td.Sampling{Padding: mode, Background: 7}
		for _, c := range []struct {
			params td.Params
			second td.Operand
		}{
			{&td.Resample{Sampling: s}, floats(2, 4, 4)},
			{&td.AffineTransform{Sampling: s}, floats(1, 2, 3)},
			{&td.CropResize{Sampling: s, Grid: td.GridOffsetCorners, Boxes: td.BoxCenterHeightFirst, Scale: 1}, floats(5, 1, 1)},
		} {
			for range 20 {
				b := newBench(t, r, &td.Op{Params: c.params, Operands: []td.Operand{floats(2, 4, 4), floats(2, 3, 5), c.second}})
				each(c.second.Dims, func(i [td.NumAxes]int) { b.put(2, i, pick(r, wild...)) })
				b.run(t)
			}
		}
		for _, start := range []int64{math.MinInt64, math.MinInt64 + 1, -4, 4, math.MaxInt64} {
			p := &td.DynamicSlice{Number: 1, Axes: [td.NumAxes]td.Axis{td.AxisW}, Padding: mode, Background: 7}
			b := newBench(t, r, &td.Op{Params: p, Operands: []td.Operand{floats(2, 4, 3), floats(2, 4, 4), operand256(tensor.Int64, 1, 1, 1, 1, 1)}})
			binary.LittleEndian.PutUint64(b.memories[2][b.op.Operands[2].Offset:], uint64(start))
			b.run(t)
			if got := b.get(0, [td.NumAxes]int{}); mode == td.PadBackground && got != 7 {
				t.Errorf("a slice from %d on begins with %v", start, got)
			}
		}
	}
	// A position that is not a number is the background.
	b := newBench(t, r, &td.Op{Params: &td.Resample{Sampling: td.Sampling{Padding: td.PadBackground, Background: 7}},
		Operands: []td.Operand{floats(1, 1, 1), floats(1, 3, 5), floats(2, 1, 1)}})
	b.put(2, [td.NumAxes]int{}, math.NaN())
	b.run(t)
	if got := b.get(0, [td.NumAxes]int{}); got != 7 {
		t.Errorf("at NaN is %v", got)
	}
}
