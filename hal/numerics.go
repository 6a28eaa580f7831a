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

	// RoundHalfEven rounds a tie to the even fp16 value; off, away from zero.
	RoundHalfEven bool

	// TableFromKnots evaluates activation functions from 33 knots. Off, or where
	// a function's table is not known, a version-256 task computes the function
	// itself. A version-7 task carries nothing but its table and is evaluated
	// from the knots in any case.
	TableFromKnots bool
}

// A Rule is one field of Numerics: its name on the command line and where it
// comes from.
type Rule struct {
	Name   string
	Doc    string
	Source string

	get func(*Numerics) string
	set func(*Numerics, string) error
}

var rules = []Rule{
	{
		Name:   "saturate-at-port",
		Doc:    "magnitude from which the array's output port gives infinity; 0 is off",
		Source: "guide chapter 3, saturation hazard: 32752 passes a linear layer, 32768 gives infinity; measured on M1, not checkable on files",
		get:    func(n *Numerics) string { return strconv.FormatFloat(float64(n.SaturateAtPort), 'g', -1, 32) },
		set: func(n *Numerics, s string) error {
			v, err := strconv.ParseFloat(s, 32)
			if err != nil || !(v >= 0) {
				return fmt.Errorf("want a number, 0 or more, got %q", s)
			}
			n.SaturateAtPort = float32(v)
			return nil
		},
	},
	flag("nan-to-inf", "an engine reads NaN as +inf",
		"guide chapter 3, edge behaviour; h13 4.7", func(n *Numerics) *bool { return &n.NaNToInf }),
	flag("indeterminate-to-zero", "inf-inf, 0·inf, sqrt and log of a negative number give +0",
		"guide chapter 3, edge behaviour; h13 4.7", func(n *Numerics) *bool { return &n.IndeterminateToZero }),
	flag("flush-array-subnormals", "the multiply array turns fp16 subnormals into zero, the planar engine keeps them",
		"guide chapter 3, edge behaviour; h13 4.7", func(n *Numerics) *bool { return &n.FlushArraySubnormals }),
	flag("round-half-even", "ties go to the even fp16 value; off: away from zero",
		"guide chapter 3: 2049 rounds to 2048 on M1; later chips may differ", func(n *Numerics) *bool { return &n.RoundHalfEven }),
	flag("table-from-knots", "activation functions are evaluated from 33 knots",
		"h13 3.5: worst error of sigmoid 0.0034, as published for the device", func(n *Numerics) *bool { return &n.TableFromKnots }),
}

func flag(name, doc, source string, field func(*Numerics) *bool) Rule {
	return Rule{
		Name: name, Doc: doc, Source: source,
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
func numerics(t tier) (Numerics, float32) {
	plain := Numerics{RoundHalfEven: true}
	m1 := Numerics{
		SaturateAtPort:       32768,
		NaNToInf:             true,
		IndeterminateToZero:  true,
		FlushArraySubnormals: true,
		RoundHalfEven:        true,
		TableFromKnots:       true,
	}
	switch t {
	case a13Tier:
		return m1, 4094
	case a14Tier:
		m1.FlushArraySubnormals = false
		return m1, 4094
	}
	return plain, 0
}

// widthSlice names the bound of width slices beside the rules.
const widthSlice = "width-slice"

// numericsFactOf is how a target's rule is known, or its bound of width slices.
func numericsFactOf(t *Target, rule string) numericsFact {
	switch {
	case t.tier == ownTier:
		return numericsFact{Decoded, "ours"}
	case rule == widthSlice:
		switch {
		case t.tier == a13Tier, t.tier == a14Tier:
			return numericsFact{statusOf(t.Name == "h13" || t.Name == "h14g", Measured, Predicted), "guide 3, saturation hazard; guide 12, divergence axes: M1 and M2 give infinity beyond 4094"}
		case t.tier == a17Tier:
			return numericsFact{statusOf(t.Name == "h17s", Measured, Predicted), "guide 12: the M5 takes a clean route"}
		case t.tier == a15Tier, t.tier == a16Tier, t.tier == a18Tier, t.tier == smallTier:
			return numericsFact{Predicted, "guide 19: clean from A15 on"}
		}
		return numericsFact{Unknown, "no source"}
	case t.tier == a13Tier:
		for _, r := range rules {
			if r.Name == rule {
				return numericsFact{statusOf(t.Name == "h13", Measured, Predicted), r.Source}
			}
		}
	case t.tier == a14Tier && rule != "flush-array-subnormals":
		return numericsFact{Predicted, "guide 12: A14 is the M1's twin on every axis that was measured"}
	case t.tier == a17Tier && rule == "flush-array-subnormals":
		return numericsFact{statusOf(t.Name == "h17s", Measured, Predicted), "guide 3: the M5 keeps them; M2 to M4 were not measured"}
	case t.tier == a17Tier && rule == "round-half-even":
		return numericsFact{Unknown, "guide 3: 2049 becomes 2050 on the M5, 2048 on the M1; why is not settled"}
	}
	return numericsFact{Unknown, "no source"}
}

// ParseNumerics reads a profile: a target's name, then any number of
// rule=value after commas, as in "h13,saturate-at-port=0".
func ParseNumerics(s string) (Numerics, error) {
	name, rest, more := strings.Cut(s, ",")
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
