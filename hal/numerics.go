package hal

import (
	"fmt"
	"strconv"
	"strings"
)

// Numerics is what an engine does to numbers where chips and plain arithmetic
// part. The zero value is plain arithmetic, but for RoundHalfEven: with all
// rules off, a value is rounded half away from zero.
type Numerics struct {
	// SaturateAtPort is the magnitude from which on the output port of the
	// multiply array gives infinity of the value's sign. 0 turns it off. It
	// concerns sums of products (convolution, matrix multiply), not bypass,
	// reductions of the planar engine or elementwise work.
	SaturateAtPort float32

	// SaturatePartials gives infinity too where a sum on its way reaches the
	// magnitude of SaturateAtPort, whatever comes later. The order in which a
	// chip adds is not known; ours is that of the products.
	SaturatePartials bool

	// NaNToInf turns a NaN into +inf where an engine reads it. No engine with
	// this rule ever stores a NaN.
	NaNToInf bool

	// IndeterminateToZero gives +0 where IEEE arithmetic has no answer:
	// inf-inf, 0·inf, the square root or logarithm of a negative number.
	IndeterminateToZero bool

	// FlushArraySubnormals turns fp16 subnormals into zero in the multiply
	// array: its inputs, its weights and its result. The planar engine keeps
	// them.
	FlushArraySubnormals bool

	// DropZeroSign takes the sign from a zero before its reciprocal, its
	// reciprocal square root, and a division by it.
	DropZeroSign bool

	// RoundToHalf rounds floats of wider types to fp16 as they are read and as
	// they are stored: an engine has no wider ones.
	RoundToHalf bool

	// RoundReductions rounds the result of a reduction to fp16 before anything
	// is done with it in the same task, such as squaring it.
	RoundReductions bool

	// RoundStages computes a layer that takes several tasks on a chip as these
	// do: numbers are fp16 between tasks, and what is added up inside of one is
	// fp32.
	RoundStages bool

	// RoundHalfEven rounds a tie to the even fp16 value; off, away from zero.
	RoundHalfEven bool

	// TableFromKnots evaluates activation functions from 33 knots. Off, or where
	// a function's table is not known, a version-256 task computes the function
	// itself. A version-7 task carries nothing but its table and is evaluated
	// from the knots in any case.
	TableFromKnots bool

	// TableSentinels has what tables answer at the ends: 0 as the softplus and
	// the softsign of +inf, -45440 as the logarithm of 0.
	TableSentinels bool

	// WidthSliceGain is by what a slice with an offset along W multiplies before
	// it stores fp16 numbers, and divides after: what is beyond the greatest of
	// them then is infinity. 0 turns it off.
	WidthSliceGain float32

	// TileLanes is how many products the array's first stage adds up with few
	// bits before the wide accumulator gets them. 0 turns it off. Where the bits
	// are lost is a model that fits what was measured, no more, so that no
	// target has it on.
	TileLanes int
}

// Plain reports whether all rules are off: plain arithmetic.
func (n Numerics) Plain() bool { return n == Numerics{RoundHalfEven: true} }

// A Rule is one field of Numerics: its name on the command line and where it
// comes from.
type Rule struct {
	Name   string
	Doc    string
	Where  string // what it concerns
	Source string

	get func(*Numerics) string
	set func(*Numerics, string) error
}

var rules = []Rule{
	number("saturate-at-port", "magnitude from which the array's output port gives infinity; 0 is off",
		"sums of products: convolution, matrix multiply, attention, cross-correlation; not reductions, not elementwise work. A convolution of one product is no sum, a linear layer of one input is. The port looks at the fp16 number that would be stored, after the bias and before the rest of the epilogue",
		"guide chapter 3, saturation hazard: 32752 passes a linear layer, 32768 gives infinity; measured on M1, not checkable on files", func(n *Numerics) *float32 { return &n.SaturateAtPort }),
	flag("saturate-partials", "a sum of products that reaches that magnitude on its way is infinity, even if it comes back",
		"the same sums, which begin with the bias; without saturate-at-port it does nothing",
		"guide chapter 3, saturation hazard: an interior partial overflows; the chip's order of adding is not known", func(n *Numerics) *bool { return &n.SaturatePartials }),
	flag("nan-to-inf", "an engine reads NaN as +inf",
		"every float that a task reads or stores, copies included. The mean and the variance of a layer normalization take it for 65504: the guide says a large finite number",
		"guide chapter 3, edge behaviour; h13 4.7", func(n *Numerics) *bool { return &n.NaNToInf }),
	flag("indeterminate-to-zero", "inf-inf, 0·inf, sqrt and log of a negative number give +0",
		"elementwise work, scale and bias, functions, each step of sums and of reductions. Where a class computes more at once, such as a normalization, its result, if nan-to-inf is on too: otherwise nobody knows where a NaN comes from",
		"guide chapter 3, edge behaviour; h13 4.7", func(n *Numerics) *bool { return &n.IndeterminateToZero }),
	flag("flush-array-subnormals", "the multiply array turns fp16 subnormals into zero, the planar engine keeps them",
		"the two factors of sums of products, and the sums",
		"guide chapter 3, edge behaviour; h13 4.7", func(n *Numerics) *bool { return &n.FlushArraySubnormals }),
	flag("drop-zero-sign", "a zero has no sign before its reciprocal, its reciprocal square root, and a division by it",
		"the functions inverse and rsqrt, elementwise division; tables of version 7 of these forms",
		"guide chapter 3, edge behaviour: the reciprocal of -0 is +inf", func(n *Numerics) *bool { return &n.DropZeroSign }),
	flag("round-to-half", "floats of wider types are rounded to fp16 as they are read and stored",
		"operands of fp32, fp64 and bf16, of version-256 tasks: version 7 has none. Integers stay as they are",
		"guide chapter 3, fp16 datapath: fp32 and bf16 do not reach the silicon; guide 12: the datapath holds across the family", func(n *Numerics) *bool { return &n.RoundToHalf }),
	flag("round-reductions", "the result of a reduction is rounded to fp16 before it is squared, or anything else in the same task",
		"reductions with an epilogue, of version-256 tasks",
		"guide 12, divergence axes: M1, M2 and M5 measure the unfused result", func(n *Numerics) *bool { return &n.RoundReductions }),
	flag("round-stages", "a layer that takes several tasks on the chip is computed as these do: with fp16 numbers between them, and sums in fp32",
		"version-256 tasks of the classes softmax, attention, layer, instance and L2 normalization, and reductions",
		"h13 4.4 and 4.6: the tasks that Apple's compiler makes of these layers, each of which rounds its result once", func(n *Numerics) *bool { return &n.RoundStages }),
	flag("round-half-even", "ties go to the even fp16 value; off: away from zero",
		"every store of fp16",
		"guide chapter 3: 2049 rounds to 2048 on M1; later chips may differ", func(n *Numerics) *bool { return &n.RoundHalfEven }),
	flag("table-from-knots", "activation functions are evaluated from 33 knots",
		"activations whose table is known: sigmoid, tanh, gelu, silu, exp, exp2, log2, sqrt, rsqrt, inverse; functions that are made of these, log, swish, elu, softplus, softsign; divisions; softmax and attention, with round-stages. What has none is computed. A task of version 7 has nothing but its table",
		"h13 3.5: worst error of sigmoid 0.0034, as published for the device", func(n *Numerics) *bool { return &n.TableFromKnots }),
	flag("table-sentinels", "softplus and softsign of +inf are 0, the logarithm of 0 is -45440",
		"the functions softplus, softsign and log of version-256 tasks. Tasks of version 7 have them in their tables",
		"guide chapter 3, edge behaviour", func(n *Numerics) *bool { return &n.TableSentinels }),
	number("width-slice-gain", "what a slice with an offset along W multiplies by before it stores fp16; 0 is off",
		"version-256 tasks of class InputView: the compiler makes one of a slice with an offset along W for targets that have the rule. Version 7 has no known word for the format: its tasks multiply and divide instead, and stand only where the profile has the gain of the target",
		"guide chapter 3, saturation hazard; guide 12 and 19: 4094 survives, 4100 is infinity, without an offset 60000 stays", func(n *Numerics) *float32 { return &n.WidthSliceGain }),
	tileLanes,
}

// number is a rule that is a number, 0 or more.
func number(name, doc, where, source string, field func(*Numerics) *float32) Rule {
	return Rule{
		Name: name, Doc: doc, Where: where, Source: source,
		get: func(n *Numerics) string { return strconv.FormatFloat(float64(*field(n)), 'g', -1, 32) },
		set: func(n *Numerics, s string) error {
			v, err := strconv.ParseFloat(s, 32)
			if err != nil || !(v >= 0) {
				return fmt.Errorf("want a number, 0 or more, got %q", s)
			}
			*field(n) = float32(v)
			return nil
		},
	}
}

var tileLanes = Rule{
	Name:   "tile-lanes",
	Doc:    "how many products the array's first stage adds up with 12 bits; 0 is off, 4 is the option",
	Where:  "sums of products, in the order in which they are added up",
	Source: "guide chapter 3, wide accumulator: tiles of four; how they round is a model that fits the published sums",
	get:    func(n *Numerics) string { return strconv.Itoa(n.TileLanes) },
	set: func(n *Numerics, s string) error {
		v, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return fmt.Errorf("want a whole number, 0 or more, got %q", s)
		}
		n.TileLanes = int(v)
		return nil
	},
}

func flag(name, doc, where, source string, field func(*Numerics) *bool) Rule {
	return Rule{
		Name: name, Doc: doc, Where: where, Source: source,
		get: func(n *Numerics) string { return strconv.FormatBool(*field(n)) },
		set: func(n *Numerics, s string) error {
			v, err := strconv.ParseBool(s)
			if err != nil {
				return fmt.Errorf("want true or false, got %q", s)
			}
			*field(n) = v
			return nil
		},
	}
}

// Rules returns the table of the fields of Numerics.
func Rules() []Rule { return rules }

// Value returns the setting of a rule in n, as Set takes it.
func (r Rule) Value(n Numerics) string { return r.get(&n) }

// Set sets the rule in n.
func (r Rule) Set(n *Numerics, value string) error {
	if err := r.set(n, value); err != nil {
		return fmt.Errorf("hal: numerics rule %s: %w", r.Name, err)
	}
	return nil
}

// String lists the rules with their settings, in the order of the table.
func (n Numerics) String() string {
	parts := make([]string, len(rules))
	for i, r := range rules {
		parts[i] = r.Name + "=" + r.Value(n)
	}
	return strings.Join(parts, ",")
}

// numericsFact is how a rule is known in a tier.
type numericsFact struct {
	status Status
	source string
}

// numerics is the profile of a tier, and the bound of its width slices. The M1
// was measured in full, the M2 on some axes, where it was the M1's twin, and the
// M5 on few. A rule that no source has for a tier is off: plain arithmetic.
func numerics(t tier) (n Numerics, widthSlice float32) {
	n.RoundHalfEven = true
	switch t {
	case a13Tier, a14Tier:
		n = Numerics{
			SaturateAtPort:       32768,
			SaturatePartials:     true,
			NaNToInf:             true,
			IndeterminateToZero:  true,
			FlushArraySubnormals: t == a13Tier,
			DropZeroSign:         true,
			RoundToHalf:          true,
			RoundReductions:      true,
			RoundStages:          true,
			RoundHalfEven:        true,
			TableFromKnots:       true,
			TableSentinels:       true,
			WidthSliceGain:       16,
		}
		return n, 65504 / n.WidthSliceGain
	case a15Tier, a16Tier, a17Tier, a18Tier:
		n.RoundToHalf, n.RoundReductions = true, true
	}
	return n, 0
}

// widthSlice names the bound of width slices beside the rules.
const widthSlice = "width-slice"

// numericsFactOf is how a target's rule is known, or its bound of width slices.
// M1, M2 Pro and M5 Pro were measured.
func numericsFactOf(t *Target, rule string) numericsFact {
	m1, m2pro, m5pro := t.on("h13g"), t.on("h14s"), t.on("h17s")
	later := t.tier == a15Tier || t.tier == a16Tier || t.tier == a17Tier || t.tier == a18Tier
	switch {
	case t.tier == ownTier:
		return numericsFact{Decoded, "ours"}
	case rule == widthSlice, rule == "width-slice-gain":
		switch {
		case t.tier == a13Tier, t.tier == a14Tier:
			return numericsFact{statusOf(m1 || m2pro, Measured, Predicted), "guide 3, saturation hazard; guide 12, divergence axes: M1 and M2 give infinity beyond 4094"}
		case t.tier == a17Tier:
			return numericsFact{statusOf(m5pro, Measured, Predicted), "guide 12: the M5 takes a clean route"}
		case later, t.tier == smallTier:
			return numericsFact{Predicted, "guide 19: clean from A15 on"}
		}
		return numericsFact{Unknown, "no source"}
	case rule == tileLanes.Name:
		return numericsFact{Unknown, "an option: " + tileLanes.Source}
	case rule == "round-stages" && m1:
		return numericsFact{Decoded, "h13 4.6"}
	case t.tier == a13Tier:
		for _, r := range rules {
			if r.Name == rule {
				return numericsFact{statusOf(m1, Measured, Predicted), r.Source}
			}
		}
	case m2pro && rule == "round-reductions":
		return numericsFact{Measured, "guide 12, divergence axes: M1, M2 and M5 measure the unfused result"}
	case t.tier == a14Tier && rule != "flush-array-subnormals":
		return numericsFact{Predicted, "guide 12: A14 is the M1's twin on every axis that was measured"}
	case rule == "round-reductions" && later:
		return numericsFact{statusOf(m5pro, Measured, Predicted), "guide 12: never fused on M1, M2 and M5, so uniform across the family"}
	case rule == "round-to-half" && later:
		return numericsFact{Predicted, "guide 12: the fp16 datapath holds across the family"}
	case t.tier == a17Tier && rule == "flush-array-subnormals":
		return numericsFact{statusOf(m5pro, Measured, Predicted), "guide 3: the M5 keeps them; M2 to M4 were not measured"}
	case t.tier == a17Tier && rule == "round-half-even":
		return numericsFact{Unknown, "guide 3: 2049 becomes 2050 on the M5, 2048 on the M1; why is not settled"}
	}
	return numericsFact{Unknown, "no source"}
}

// ParseNumerics reads a profile: a target's name, then any number of
// rule=value after commas, as in "h13,saturate-at-port=0".
func ParseNumerics(s string) (Numerics, error) {
	name, rest, more := CutName(s)
	t, err := Lookup(name)
	if err != nil {
		return Numerics{}, err
	}
	n := t.Numerics
	for more {
		var item string
		item, rest, more = strings.Cut(rest, ",")
		key, value, ok := strings.Cut(item, "=")
		if !ok {
			return Numerics{}, fmt.Errorf("hal: numerics %q: want rule=value, got %q", s, item)
		}
		if err := setRule(&n, key, value); err != nil {
			return Numerics{}, err
		}
	}
	return n, nil
}

func setRule(n *Numerics, name, value string) error {
	var known []string
	for _, r := range rules {
		if r.Name == name {
			return r.Set(n, value)
		}
		known = append(known, r.Name)
	}
	return fmt.Errorf("hal: no numerics rule %q; known are %s", name, strings.Join(known, ", "))
}
