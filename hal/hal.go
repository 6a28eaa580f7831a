// Package hal has the targets: what a chip, or our own engine, is made of and
// how it computes. It is data only. Code asks a field of the target and never
// its name.
//
// The rows hold what the formats and the engine need. Gates, limits and costs
// come with the compiler.
package hal

import (
	"fmt"
	"slices"
	"strings"
)

// A Target is one silicon profile, or our own engine.
type Target struct {
	Name    string   // as written on the command line: lower case
	Aliases []string // other names of the same row, lower case
	Family  Family   // the generation that gates operations

	// CPUSubtype stands in the header of a container for this target.
	CPUSubtype uint32

	// TaskVersion is the version of its task descriptors, a td.Version.
	TaskVersion uint16

	Sizes        Sizes
	Limits       Limits
	Capabilities map[Capability]bool
	Numerics     Numerics
}

// Family is the index of a generation. An operation is available from a family
// on.
type Family int8

// The families that have a row here.
const (
	A13     Family = 2   // H13 and the M1: guide chapters 24 and 34
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

// targets is the table. Sources: h13 is the fact sheet checked on real
// programs, guide the chapters of the ane-guide.
var targets = []Target{
	{
		Name:        "virtual",
		Family:      Virtual,
		CPUSubtype:  0x100, // ours: no chip has it
		TaskVersion: 256,
		Sizes: Sizes{
			Engines:     1,
			MaxLanes:    1,
			RowAlign:    1, // dense rows
			OnChipAlign: 1,
			PageSize:    0x4000,
			TileSize:    0x40,
			TaskAlign:   0x100,
		},
		Numerics: Numerics{RoundHalfEven: true},
	},
	{
		Name:        "h13",
		Aliases:     []string{"m1"},
		Family:      A13,
		CPUSubtype:  4, // h13 1.1
		TaskVersion: 7, // h13 2; the guide says version 10, which no real file shows
		Sizes: Sizes{
			Engines:        16,      // h13 3.3; the guide counts 4 physical cores
			MaxLanes:       32,      // h13 3.3
			KernelChannels: 16,      // h13 2.9
			OnChip:         2 << 20, // h13 2.5; guide 21, field 0x1b8
			OnChipAlign:    16,      // h13 2.5; guide 21, field 0x1c0
			RowAlign:       64,      // h13 3.1
			PageSize:       0x4000,  // h13 1.3; guide 21
			TileSize:       0x40,    // h13 3.3
			TaskAlign:      0x100,   // h13 2.1
		},
		Numerics: Numerics{
			SaturateAtPort:       32768,
			NaNToInf:             true,
			IndeterminateToZero:  true,
			FlushArraySubnormals: true,
			RoundHalfEven:        true,
			TableFromKnots:       true,
		},
	},
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

// Lookup finds a target by its name or an alias, whatever the case.
func Lookup(name string) (*Target, error) {
	lower := strings.ToLower(name)
	for i := range targets {
		if t := &targets[i]; t.Name == lower || slices.Contains(t.Aliases, lower) {
			return t, nil
		}
	}
	var known []string
	for _, t := range targets {
		known = append(known, t.Name)
	}
	return nil, fmt.Errorf("hal: no target %q; known are %s", name, strings.Join(known, ", "))
}

// BySubtype finds the target whose containers have the CPU subtype.
func BySubtype(subtype uint32) (*Target, error) {
	for i := range targets {
		if targets[i].CPUSubtype == subtype {
			return &targets[i], nil
		}
	}
	return nil, fmt.Errorf("hal: no target has CPU subtype %#x", subtype)
}
