package hal

// A row is what one target is, beside what its tier shares.
type row struct {
	name    string
	base    bool // the base target of its generation
	tier    tier
	family  Family
	cores   int
	subtype uint32
	version uint16
	silicon string

	familyStatus Status
	coresStatus  Status
}

// Where the columns of the rows come from.
const (
	nameSource    = "guide 34, full set"
	familySource  = "guide 24 and 34, capability tiers; guide 35 maps hardware versions otherwise: see the conflicts"
	coresSource   = "guide 34, full set: HAL field 0x238 num_nes, by suffix: none 4, g 8, s 16, c 32, d 64"
	subtypeSource = "guide 35, cross-compiled programs; coreml_to_ane_hwx, subtype table; H13: h13 1.1; H13g: seed program-format"
	versionSource = "coreml_to_ane_hwx, table of versions by subtype, dumped from the compiler; H13: h13 2"
)

// rows is the table: ours, then Apple's by generation. The silicon is as the
// guide's chapter 34 has it.
var rows = []row{
	{"virtual", true, ownTier, Virtual, 1, 0x100, 256, "our own engine", Decoded, Decoded},

	{"h11", true, olderTier, A11Legacy, 4, 1, 5, "legacy, before A13", Decoded, Predicted},
	{"h12", true, olderTier, A12, 4, 3, 6, "legacy, before A13", Decoded, Predicted},
	{"m9", false, olderTier, A11Legacy, 1, 0, 0, "legacy, before A13, one core", Predicted, Decoded},
	{"t0", false, olderTier, A11Legacy, 4, 0, 0, "legacy, before A13", Predicted, Predicted},

	{"h13", true, a13Tier, A13, 4, 4, 7, "A13, M1 base", Measured, Measured},
	{"h13g", false, a13Tier, A13, 8, 4, 7, "M1 Pro, Max, Ultra", Measured, Decoded},
	{"t1", false, a13Tier, A13, 4, 0, 0, "A13 reference", Decoded, Decoded},

	{"h14", true, a14Tier, A14, 4, 5, 11, "A14, M2 base", Decoded, Decoded},
	{"h14g", false, a14Tier, A14, 8, 0, 0, "M2 Pro, Max", Measured, Decoded},
	{"h14c", false, a14Tier, A14, 32, 0, 0, "A14 Max-class", Decoded, Decoded},

	{"h15", true, a15Tier, A15, 4, 6, 8, "A15, M3 base", Decoded, Decoded},
	{"h15g", false, a15Tier, A15, 8, 0, 0, "M3 Pro, Max", Decoded, Decoded},
	{"h15c", false, a15Tier, A15, 32, 0, 0, "A15 Max-class", Decoded, Decoded},

	{"h16", true, a16Tier, A16, 4, 7, 17, "A16, M4 base", Decoded, Decoded},
	{"h16g", false, a16Tier, A16, 8, 0, 0, "M4 Pro, Max", Decoded, Decoded},
	{"h16s", false, a16Tier, A16, 16, 0, 0, "A16 Pro-class", Decoded, Decoded},
	{"h16c", false, a16Tier, A16, 32, 0, 0, "A16 Max-class", Decoded, Decoded},

	{"h17", true, a17Tier, A17, 4, 9, 19, "A17, M5 base", Decoded, Decoded},
	{"h17a", false, a17Tier, A17, 4, 0, 0, "A17 variant", Decoded, Decoded},
	{"h17g", false, a17Tier, A17, 8, 0, 0, "M5 Pro, Max", Decoded, Decoded},
	{"h17s", false, a17Tier, A17, 16, 0, 0, "A17 Pro-class, the M5", Measured, Measured},
	{"h17c", false, a17Tier, A17, 32, 0, 0, "A17 Max-class", Decoded, Decoded},
	{"h17d", false, a17Tier, A17, 64, 0, 0, "A17 Ultra-class", Decoded, Decoded},

	{"h18", true, a18Tier, A18, 4, 10, 20, "A18 base", Decoded, Decoded},

	{"m11", false, smallTier, A16, 1, 0, 0, "small embedded engine", Predicted, Decoded},
	{"u1", false, referenceTier, A11Legacy, 4, 0, 0, "reference, not silicon", Predicted, Decoded},
	{"u2", false, referenceTier, A11Legacy, 4, 0, 0, "reference, not silicon", Predicted, Decoded},
	{"u3", false, referenceTier, A11Legacy, 4, 0, 0, "reference, not silicon", Predicted, Decoded},
}

// A tier has targets whose tables are the same but for their dies.
type tier uint8

const (
	ownTier tier = iota
	olderTier
	a13Tier
	a14Tier
	a15Tier
	a16Tier
	a17Tier
	a18Tier
	smallTier     // the flags of A16, the extents of A13
	referenceTier // Apple's own profiles for checking; no part has their limits
)

// sizes are those of the containers and of the engine that reads them, by tier.
// The H13 ones are checked on real programs. Of the recorded H14 programs, those
// that have a value agree; later tiers are taken to be like H14.
func sizes(t tier) (Sizes, Status, string) {
	if t == ownTier {
		return Sizes{
			Engines:     1,
			MaxLanes:    1,
			RowAlign:    1, // dense rows
			OnChipAlign: 1,
			PageSize:    0x4000,
			TileSize:    0x40,
			TaskAlign:   0x100,
		}, Decoded, "ours"
	}
	s := Sizes{
		Engines:        16,      // h13 3.3; the guide counts 4 physical cores
		MaxLanes:       32,      // h13 3.3
		KernelChannels: 16,      // h13 2.9
		OnChip:         2 << 20, // h13 2.5; guide 21, field 0x1b8
		OnChipAlign:    16,      // h13 2.5; guide 21, field 0x1c0
		RowAlign:       64,      // h13 3.1
		PageSize:       0x4000,  // h13 1.3; guide 21; oracles, H14 too
		TileSize:       0x40,    // h13 3.3; oracles, H14 too
		TaskAlign:      0x100,   // h13 2.1
	}
	switch {
	case t == a13Tier:
		return s, Decoded, "h13 1 to 3"
	case t == olderTier:
		return s, Predicted, "as H13"
	}
	s.TaskAlign = 16 // oracles, H14
	return s, Predicted, "as H13, and the recorded H14 programs where they show it"
}

// targets has the rows with all that the tables say of them.
var targets = build()

func build() []Target {
	all := make([]Target, len(rows))
	for i := range rows {
		r, t := &rows[i], &all[i]
		*t = Target{
			Name: r.name, Family: r.family, Silicon: r.silicon, Cores: r.cores, CPUSubtype: r.subtype, TaskVersion: r.version,
			tier: r.tier, row: r,
		}
		for _, a := range aliases {
			if len(a.Readings) == 1 && a.Readings[0].Target == t.Name {
				t.Aliases = append(t.Aliases, a.Name)
			}
		}
		t.Sizes, _, _ = sizes(r.tier)
		for j := range scalars {
			*scalars[j].field(t), _, _ = scalars[j].of(t)
		}
		if t.Family != Virtual {
			t.Limits.StrideFactors = strideFactors
		}
		if t.Limits.WorkingSet != NoLimit {
			t.Sizes.OnChip = t.Limits.WorkingSet
		}
		t.Capabilities = make(map[Capability]bool)
		for _, c := range capabilities {
			if set, _ := c.of(t); set {
				t.Capabilities[c.Byte] = true
			}
		}
		t.Encoders = encoders(r.tier)
		t.Ways = waysOf(t)
		t.Residency = residency(t)
		t.Clock, _, _ = clock(t)
		t.Formats = formats(t.tier)
		t.Weights = weights(t)
		t.Numerics, t.WidthSlice = numerics(t.tier)
	}
	for i := range all {
		all[i].Cost = cost(&all[i])
	}
	return all
}
