package hal

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
