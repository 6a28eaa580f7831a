package espalier

import (
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/ops"
)

// Numerics is a numerics profile by its name: what happens to a floating-point value between operations.
// Beside those below, a profile is the name of a target, "h13", perhaps with some of its rules changed:
// "h13,saturate-at-port=0". The zero value is the profile of the target at hand.
type Numerics string

// The profiles that are no chip's.
const (
	Virtual Numerics = "virtual" // a value is rounded to its declared type when it is stored
	FP32    Numerics = "fp32"    // every floating-point value is kept in fp32
)

// ErrNumerics is wrapped by the error about a profile that is known, but not for the model at hand.
var ErrNumerics = errors.New("the numerics profile is not for this model")

// ParseNumerics finds a numerics profile by name.
func ParseNumerics(name string) (Numerics, error) {
	n := Numerics(name)
	if n == FP32 {
		return n, nil
	}
	target, _, _ := hal.CutName(name)
	if _, err := hal.Lookup(target); err != nil {
		return "", fmt.Errorf("unknown numerics profile %q: expected %s, %s: %w", name, FP32, engineProfiles, err)
	}
	_, err := hal.ParseNumerics(name)
	return n, err
}

// engineProfiles says what the rules of an engine begin with.
const engineProfiles = "virtual, h13 or another target"

// String is the profile's name.
func (n Numerics) String() string { return string(n.orDefault()) }

func (n Numerics) orDefault() Numerics {
	if n == "" {
		return Virtual
	}
	return n
}

// profile is what a Config asks for: without Numerics, that of the target.
func (c Config) profile() (Numerics, error) {
	if c.Numerics != "" || c.Target == "" {
		return c.Numerics.orDefault(), nil
	}
	t, err := hal.Lookup(c.Target)
	if err != nil {
		return "", err
	}
	return Numerics(t.Name), nil
}

// engineProfile is what a Config asks for, which must be that of an engine.
func (c Config) engineProfile() (Numerics, error) {
	n, err := c.profile()
	if err == nil {
		_, err = n.engine()
	}
	return n, err
}

// same reports whether two profiles of an engine have the same rules.
func (n Numerics) same(o Numerics) bool {
	a, errA := n.engine()
	b, errB := o.engine()
	return errA == nil && errB == nil && a == b
}

// host is the profile as the host evaluator has it.
func (n Numerics) host() (ops.Numerics, error) {
	switch n.orDefault() {
	case Virtual:
		return ops.Virtual, nil
	case FP32:
		return ops.FP32, nil
	}
	if _, err := ParseNumerics(n.String()); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%w: %s is that of an engine, and this model runs on the host: expected %s or %s", ErrNumerics, n, Virtual, FP32)
}

// engine is the profile as the engine has it.
func (n Numerics) engine() (hal.Numerics, error) {
	if n == FP32 {
		return hal.Numerics{}, fmt.Errorf("%w: %s is the host's, and a container runs on the engine: expected %s", ErrNumerics, n, engineProfiles)
	}
	if _, err := ParseNumerics(n.String()); err != nil {
		return hal.Numerics{}, err
	}
	return hal.ParseNumerics(n.String())
}
