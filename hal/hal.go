// Package hal has the targets: what a chip, or our own engine, is made of and
// how it computes. It is data only. Code asks a field of the target and never
// its name.
//
// The tables, each row with its source:
//
//	targets.go      the targets of Apple's compilers, and ours
//	limits_table.go what layers may be in size, by tier
//	capability.go   what a target has, by byte
//	floor.go        from which family on an operation is native
//	compression.go  which compressed weights stream
//	ways.go         how its compiler goes about its work
//	residency.go    how its compiler keeps values on chip
//	driver.go       what the host's side of it keeps count of
//	numerics.go     how it computes
//	cost.go         how fast it is
//	format.go       which pictures it reads
//	alias.go        how a name finds its target
//	chips.go        the names that people and devices use, and what sources make of them
//	devices.go      which chip a device has
//	conflict.go     where sources disagree
//
// Values gives all that is known of one target, with sources.
package hal

import "fmt"

// A Target is one silicon profile, or our own engine.
type Target struct {
	Name    string   // as written on the command line: lower case
	Aliases []string // names of chips, parts and families that are taken for it: chips.go
	Family  Family   // the generation that gates operations
	Silicon string   // what it is

	Cores        int // compute cores as the compiler counts them, per die; other than the number that Apple advertises
	CycleDivisor int // of the compiler's cost model
	Clock        Clock

	// CPUSubtype stands in the header of a container for this target. 0: no
	// source has it.
	CPUSubtype uint32

	// TaskVersion is the version of its task descriptors, a td.Version. 0: no
	// source has it.
	TaskVersion uint16

	// Encoders are the encodings that tasks for the target may have, in the
	// order in which the compiler asks them: the native one first, where its
	// registers are known, and ours last, which takes what the other does not.
	Encoders []string

	// Form2020 asks for words as Apple's compiler of 2020 wrote them, v4.2.1, not as those of 2026 do. The chip computes the same. No
	// row has it: As2020 sets it.
	Form2020 bool

	Sizes        Sizes
	Limits       Limits
	Capabilities map[Capability]bool
	Ways         Ways
	Residency    Residency
	Driver       Driver
	Numerics     Numerics
	Cost         *Cost // nil where the cost model has no anchors

	// WidthSlice is the largest magnitude that survives a slice with an offset
	// along W; what is beyond becomes infinity. 0: everything survives.
	WidthSlice float32

	Weights Weights
	Formats Formats

	tier tier
	row  *row
}

// Clock is in Hz; 0 where no source has it.
type Clock struct {
	Min, Max  float64
	Operating float64 // what the cost model takes: 0.8 of the most
}

// Family is the index of a generation. An operation is available from a family
// on.
type Family int8

// The families, by the compiler's own names. They are not the names of phone
// chips: A13 is the H13 engine, which the M1 has (guide 24 and 34).
const (
	A11Legacy Family = iota
	A12
	A13
	A14
	A15
	A16
	A17
	A18

	Virtual Family = 127 // our own engine: past every gate
)

// Sizes are the dimensions of an engine. Sizes in memory are bytes.
type Sizes struct {
	Engines        int // compute engines, each with its own kernel stream
	MaxLanes       int // most output channels that one engine computes side by side
	KernelChannels int // kernel streams that one task can load

	OnChip      int // on-chip memory that tasks share; 0: none, scratch only
	OnChipAlign int // granule of addresses and strides in on-chip memory

	RowAlign  int // rows of a surface begin on multiples of this
	PageSize  int // surfaces and segments begin on multiples of this
	TileSize  int // kernel streams begin on multiples of this
	TaskAlign int // tasks begin on multiples of this in the text
}

// As2020 is the target with the words of Apple's compiler of 2020, where it has words of its own.
func (t *Target) As2020() *Target {
	if !t.HasNativeEncoding() {
		return t
	}
	old := *t
	old.Form2020 = true
	return &old
}

// Targets returns the rows, `virtual` first. They are shared: do not write to
// them.
func Targets() []*Target {
	rows := make([]*Target, len(targets))
	for i := range targets {
		rows[i] = &targets[i]
	}
	return rows
}

// BySubtype finds the target whose containers have the CPU subtype. Dies of one
// generation share it: the base target stands for them.
func BySubtype(subtype uint32) (*Target, error) {
	for i := range targets {
		if subtype != 0 && targets[i].CPUSubtype == subtype {
			return &targets[i], nil
		}
	}
	return nil, fmt.Errorf("hal: no target has CPU subtype %#x", subtype)
}

// Base returns the base chips of the generations that run models: those of H13 to
// H18, which are the M1 to the M6.
func Base() []*Target {
	var base []*Target
	for _, t := range Targets() {
		if t.row.isGeneration() && t.Family >= A13 && t.Family != Virtual {
			base = append(base, rowNamed(t.row.chip))
		}
	}
	return base
}

// rowNamed is the target of that very name.
func rowNamed(name string) *Target {
	for i := range targets {
		if targets[i].Name == name {
			return &targets[i]
		}
	}
	panic("bug: no target is called " + name)
}

// Stands returns the base chip that a bare name stands for, which is ours for a
// generation: h13g for h13. It is nil for all other targets.
func (t *Target) Stands() *Target {
	if !t.row.isGeneration() || t.Family == Virtual {
		return nil
	}
	return rowNamed(t.row.chip)
}

// Like returns the row that the whole of this one is predicted from, since no
// source has its table: their limits, gates and encoders are the same. It is nil
// for all other targets.
func (t *Target) Like() *Target {
	if t.row.like == "" {
		return nil
	}
	return rowNamed(t.row.like)
}

// Same reports whether programs for the one are programs for the other: they are
// the same target, or a generation and the base chip that it stands for.
func (t *Target) Same(other *Target) bool { return t == other || t.on(other.Name) || other.on(t.Name) }

// String is the family as the compiler spells it.
func (f Family) String() string {
	if f == Virtual {
		return "virtual"
	}
	if f < 0 || int(f) >= len(familyNames) {
		return fmt.Sprintf("Family(%d)", int8(f))
	}
	return familyNames[f]
}

var familyNames = []string{"A11Legacy", "A12", "A13", "A14", "A15", "A16", "A17", "A18"}
