package hal

import "github.com/espalier-ane/espalier/internal/diag"

// Status is how a value is known.
type Status uint8

// The statuses, the surest last.
const (
	Unknown   Status = iota // no source has it
	Predicted               // follows by a rule from another target's value, or a source says itself that it predicts
	Decoded                 // read from the tables of Apple's compiler, or from files that it wrote
	Measured                // seen on the chip
)

func (s Status) String() string {
	return [...]string{"unknown", "predicted", "decoded", "measured"}[s]
}

// Confidence is that of a finding that goes by a value of this status. A value
// that no source has is taken by a rule.
func (s Status) Confidence() diag.Confidence {
	return [...]diag.Confidence{diag.Predicted, diag.Predicted, diag.Decoded, diag.Measured}[s]
}

// LimitStatus is how one of the target's limits is known, by its name among the
// Values.
func (t *Target) LimitStatus(name string) Status {
	for i := range scalars {
		if scalars[i].name == name {
			_, status, _ := scalars[i].of(t)
			return status
		}
	}
	panic("bug: no limit is called " + name)
}

// RuleStatus is how one of the target's rules of numerics is known, by its name.
func (t *Target) RuleStatus(name string) Status { return numericsFactOf(t, name).status }
