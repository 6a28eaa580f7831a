package ops

import (
	"math"
	"slices"
	"testing"
)

// TestPhilox takes the known answers that the authors of the generator publish with it (Random123, kat_vectors).
func TestPhilox(t *testing.T) {
	const ones = 0xffffffff
	for _, tc := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := (philox{tc.key}).block(tc.counter); got != tc.want {
			t.Errorf("block %x under %x is %x, expected %x", tc.counter, tc.key, got, tc.want)
		}
	}
	if g := (philox{}); g.word(3) != 0x9b00dbd8 || g.word(4) != g.block([4]uint32{1})[0] {
		t.Error("words are not those of the blocks, in order")
	}
}

// TestRandomValues holds the streams, which must not change, against values that another implementation of
// their description gave, in Python.
func TestRandomValues(t *testing.T) {
	shape := i32(dims(2), 2, 3)
	got := evalOp(t, IOS15, "random_uniform", args{"shape": shape, "low": -1.0, "high": 3.0, "seed": 42})
	wantShape(t, got[0], 2, 3)
	wantFloats(t, got[0], 0, 1.4518394470214844, 0.8743460178375244, -0.7070732116699219, 0.3634459972381592, 2.9508745670318604, 0.30825328826904297)
	got = evalOp(t, IOS15, "random_uniform", args{"shape": i32(dims(1), 3), "seed": -7})
	wantFloats(t, got[0], 0, 0.10975909233093262, 0.7978262901306152, 0.18165624141693115)
	got = evalOp(t, IOS15, "random_uniform", args{"shape": shape, "low": scalarF16(0), "high": scalarF16(1), "seed": 42})
	wantFloats(t, got[0], 0, 0.61279296875, 0.46826171875, 0.07275390625, 0.3408203125, 0.9873046875, 0.32666015625)
	got = evalOp(t, IOS15, "random_bernoulli", args{"shape": shape, "prob": 0.4, "seed": 42})
	wantFloats(t, got[0], 0, 0, 0, 1, 1, 0, 1)
	got = evalOp(t, IOS15, "random_normal", args{"shape": shape, "mean": 10.0, "stddev": 2.0, "seed": 42})
	wantFloats(t, got[0], 1e-6, 8.059620583616136, 10.388038053644141, 7.528759850414352, 13.84785408554352, 9.853637388538504, 10.278274472262826)
	got = evalOp(t, IOS15, "random_normal", args{"shape": i32(dims(1), 3), "mean": 10.0, "stddev": 2.0, "seed": 42}) // a prefix, though odd
	wantFloats(t, got[0], 1e-6, 8.059620583616136, 10.388038053644141, 7.528759850414352)
	got = evalOp(t, IOS15, "random_categorical", args{"x": f32(dims(3), 0, 1, 2), "size": 6, "seed": 42})
	wantFloats(t, got[0], 0, 2, 2, 0, 2, 2, 1)
	probs := f32(dims(3), 0.09003057, 0.24472847, 0.66524096) // their softmax
	got = evalOp(t, IOS15, "random_categorical", args{"x": probs, "mode": "probs", "size": 6, "seed": 42})
	wantFloats(t, got[0], 0, 2, 2, 0, 2, 2, 1)
}

func TestRandomSeeds(t *testing.T) {
	draw := func(a args) []float32 {
		a["shape"] = i32(dims(1), 64)
		return tensorOf(t, evalOp(t, IOS15, "random_uniform", a)[0]).Float32s()
	}
	if !slices.Equal(draw(args{"seed": 1}), draw(args{"seed": 1})) {
		t.Error("one seed gives two streams")
	}
	if slices.Equal(draw(args{"seed": 1}), draw(args{"seed": 2})) {
		t.Error("two seeds give one stream")
	}
	if slices.Equal(draw(args{}), draw(args{})) || slices.Equal(draw(args{"seed": -1}), draw(args{"seed": -1})) {
		t.Error("without a seed, two evaluations give the same numbers")
	}
	for _, kind := range []string{"random_uniform", "random_normal", "random_bernoulli", "random_categorical"} {
		if !Lookup(kind).Impure {
			t.Errorf("%s is not marked impure", kind)
		}
	}
}

// TestRandomDistributions compares means and variances of many draws with those of the distributions, within
// five standard errors.
func TestRandomDistributions(t *testing.T) {
	const n = 100_000
	for _, tc := range []struct {
		kind           string
		args           args
		mean, variance float64
	}{
		{"random_uniform", args{"low": 2.0, "high": 5.0}, 3.5, 9. / 12},
		{"random_uniform", args{"low": scalarF16(0), "high": scalarF16(1)}, 0.5 - 0x1p-12, 1. / 12},
		{"random_normal", args{"mean": -1.0, "stddev": 3.0}, -1, 9},
		{"random_bernoulli", args{"prob": 0.3}, 0.3, 0.21},
		{"random_bernoulli", args{}, 0.5, 0.25},
	} {
		tc.args["shape"], tc.args["seed"] = i32(dims(1), n), 3
		vals := tensorOf(t, evalOp(t, IOS15, tc.kind, tc.args)[0]).Float64s()
		var sum, squares float64
		for _, v := range vals {
			sum += v
			squares += (v - tc.mean) * (v - tc.mean)
		}
		if mean := sum / n; math.Abs(mean-tc.mean) > 5*math.Sqrt(tc.variance/n) {
			t.Errorf("%s: the mean is %v, expected %v", tc.kind, mean, tc.mean)
		}
		if variance := squares / n; math.Abs(variance/tc.variance-1) > 0.03 {
			t.Errorf("%s: the variance is %v, expected %v", tc.kind, variance, tc.variance)
		}
		if tc.kind == "random_uniform" && (slices.Max(vals) >= tc.mean+0.5*math.Sqrt(12*tc.variance)+0x1p-12 || slices.Min(vals) < tc.mean-0.51*math.Sqrt(12*tc.variance)) {
			t.Errorf("%s: the range is %v to %v", tc.kind, slices.Min(vals), slices.Max(vals))
		}
	}
	logits := f32(dims(2, 3), 0, math.Log(2), math.Log(7), 0, 0, math.Inf(-1))
	vals := tensorOf(t, evalOp(t, IOS15, "random_categorical", args{"x": logits, "size": n, "seed": 3})[0]).Float64s()
	for row, probs := range [][3]float64{{0.1, 0.2, 0.7}, {0.5, 0.5, 0}} {
		var counts [3]float64
		for _, v := range vals[row*n : (row+1)*n] {
			counts[int(v)]++
		}
		for class, p := range probs {
			if math.Abs(counts[class]/n-p) > 5*math.Sqrt(p*(1-p)/n) {
				t.Errorf("distribution %d: class %d was drawn %v times of %d, expected a part of %v", row, class, counts[class], n, p)
			}
		}
	}
}

// TestRandomCertain has cases in which chance has no say; by hand, some from coremltools' unit tests.
func TestRandomCertain(t *testing.T) {
	shape := i32(dims(3), 2, 1, 2)
	wantFloats(t, evalOp(t, IOS15, "random_bernoulli", args{"shape": shape, "prob": 1.0})[0], 0, 1, 1, 1, 1)
	wantFloats(t, evalOp(t, IOS15, "random_bernoulli", args{"shape": shape, "prob": 0.0})[0], 0, 0, 0, 0, 0)
	wantFloats(t, evalOp(t, IOS15, "random_normal", args{"shape": shape, "mean": 1.0, "stddev": 0.0})[0], 0, 1, 1, 1, 1)
	wantFloats(t, evalOp(t, IOS15, "random_uniform", args{"shape": shape, "low": 1.0, "high": 1.0})[0], 0, 1, 1, 1, 1)
	wantFloats(t, evalOp(t, IOS15, "random_categorical", args{"x": f32(dims(1), 1), "size": 4})[0], 0, 0, 0, 0, 0)
	wantFloats(t, evalOp(t, IOS15, "random_categorical", args{"x": f32(dims(2, 4), 0, 0, 600, 0, math.Inf(1), 0, 0, 0), "size": 2})[0], 0, 2, 2, 0, 0)
	wantFloats(t, evalOp(t, IOS15, "random_categorical", args{"x": f32(dims(3), 0, 5, 0), "mode": "probs"})[0], 0, 1)
	wantShape(t, evalOp(t, IOS15, "random_normal", args{"shape": i32(dims(2), 0, 3)})[0], 0, 3)
	wantShape(t, evalOp(t, IOS15, "random_normal", args{"shape": fixed(i32(dims(0)))}, onlyKnownShapes())[0])

	// In fp16 the largest value below 1001 is 1000.5: 1001 itself must not come out.
	vals := tensorOf(t, evalOp(t, IOS15, "random_uniform", args{"shape": i32(dims(1), 100), "low": scalarF16(1000), "high": scalarF16(1001), "seed": 1})[0]).Float32s()
	if slices.Max(vals) != 1000.5 || slices.Min(vals) != 1000 {
		t.Errorf("the range is %v to %v, expected 1000 to 1000.5", slices.Min(vals), slices.Max(vals))
	}
	types := inferOp(t, IOS15, "random_uniform", args{"shape": i32(dims(1), 1), "high": scalarF16(1)})
	if types[0] != "tensor<fp16, [?]>" {
		t.Errorf("type is %s, expected that of high", types[0])
	}
}

func TestRandomErrors(t *testing.T) {
	shape := i32(dims(1), 2)
	wantErr(t, IOS15, "random_bernoulli", args{"shape": shape, "prob": 1.5}, "prob is 1.5, expected 0 to 1")
	wantErr(t, IOS15, "random_bernoulli", args{"shape": shape, "prob": math.NaN()}, "prob is NaN")
	wantErr(t, IOS15, "random_normal", args{"shape": i32(dims(2), 2, -1)}, "shape is [2 -1]: no tensor can have it")
	wantErr(t, IOS15, "random_normal", args{"shape": i32(dims(1, 2), 2, 1)}, "shape has shape [1, 2], expected a vector")
	wantErr(t, IOS15, "random_normal", args{"shape": shape, "stddev": math.Inf(1)}, "stddev is +Inf, expected a finite number")
	wantErr(t, IOS15, "random_uniform", args{"shape": i32(dims(3), 1<<30, 1<<30, 1<<30)}, "no tensor can have it")
	wantErr(t, IOS15, "random_uniform", args{"shape": shape, "low": scalarF16(0), "high": scalarF32(1)}, "parameter high is fp32, but must have the element type of low")
	wantErr(t, IOS15, "random_categorical", args{"x": scalarF32(1)}, "expected a last axis of classes")
	wantErr(t, IOS15, "random_categorical", args{"x": f32(dims(2, 0))}, "expected a last axis of classes")
	wantErr(t, IOS15, "random_categorical", args{"x": f32(dims(2)), "mode": "softmax"}, `mode is "softmax"`)
	wantErr(t, IOS15, "random_categorical", args{"x": f32(dims(2)), "size": 0}, "size is 0")
	wantErr(t, IOS15, "random_categorical", args{"x": f32(dims(2), math.NaN(), 0)}, "distribution 0: class 0 has NaN")
	wantErr(t, IOS15, "random_categorical", args{"x": f32(dims(2, 2), 1, 0, 1, -1), "mode": "probs"}, "distribution 1: class 1 has -1")
	wantErr(t, IOS15, "random_categorical", args{"x": f32(dims(2)), "mode": "probs"}, "no class has a probability above 0")
	wantErr(t, IOS15, "random_categorical", args{"x": f32(dims(2), math.Inf(-1))}, "no class has a probability above 0")
}
