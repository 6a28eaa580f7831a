package td

import "github.com/espalier-ane/espalier/tensor"

// Tables of functions that are a line between two limits. They are the recorded
// maximum, minimum and leaky ReLU with other numbers: all knots lie at 0, in
// effect, so that the tails are the function.

// ClampTable is x between two numbers, the lesser first.
func ClampTable(least, most uint16) *Table {
	t := lineTable(fp16One, 0)
	t.XLow, t.XHigh, t.YLow, t.YHigh = least, most, least, most
	at0 := min(max(0, tensor.F16(least)), tensor.F16(most))
	return t.sample(0, func(float64) float64 { return float64(at0) })
}

// ClampedReLUTable is x, but slope times x below 0, and at most a number above 0.
func ClampedReLUTable(slope, most uint16) *Table {
	t := LeakyReLUTable(slope)
	t.XHigh, t.YHigh = most, most
	return t
}

// HardSigmoidTable is slope·x + offset between 0 and 1; the slope is above 0. The
// limits are the last numbers beyond which the line would go.
func HardSigmoidTable(slope, offset uint16) *Table {
	t := lineTable(slope, offset)
	a, b := float64(tensor.F16(slope)), float64(tensor.F16(offset))
	line := func(x uint16) float64 { return a*float64(tensor.F16(x)) + b }
	t.XLow, t.XHigh = nearestF16(-b/a), nearestF16((1-b)/a)
	for line(t.XLow) > 0 {
		t.XLow = nextDown(t.XLow)
	}
	for line(t.XHigh) < 1 {
		t.XHigh = nextUp(t.XHigh)
	}
	t.YHigh = fp16One
	return t
}

// ThresholdTable is x from a number on, else 0.
func ThresholdTable(from uint16) *Table {
	t := lineTable(fp16One, 0)
	t.XLow, t.XHigh, t.YHigh = nextDown(from), fp16Inf, fp16Inf
	return t
}

// lineTable is a line without limits.
func lineTable(slope, offset uint16) *Table {
	t := &Table{
		XLow: fp16NegInf, XHigh: fp16Inf, YLow: fp16Zero,
		Left: Tail{slope, offset}, Right: Tail{slope, offset},
		SpacingLog2: allTail, Mode: mode(FormCentred, SignPlain),
	}
	for i := range t.Knots {
		t.Knots[i] = offset
	}
	return t
}

// nextUp and nextDown are the fp16 numbers beside one.
func nextUp(h uint16) uint16 {
	switch {
	case h == fp16Inf:
		return h
	case h&fp16Sign == 0:
		return h + 1
	case h == fp16Sign:
		return fp16Tiny
	}
	return h - 1
}

func nextDown(h uint16) uint16 { return nextUp(h^fp16Sign) ^ fp16Sign }
