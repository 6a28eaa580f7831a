package hal

// A row is what one target is, beside what its tier shares.
type row struct {
	name    string
	chip    string // of a bare name: the row of the generation's base chip, which it stands for
	like    string // the row that all of it is predicted from; "": a source has its table
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

	phoneCores = "no source; as the base chip of the generation, for which Apple advertises as many"
)

// rows is the table: ours, then Apple's by generation. What devices and today's
// compiler print has a suffix (coreai H):
//
//	p  phone    g  base    s  Pro    c  Max    d  Ultra
//	A17 Pro     M4         M4 Pro    M4 Max    M3 Ultra
//	h16p        h16g       h16s      h16c      h15d
//
// A bare name is ours, for a generation: it stands for the base chip. Older
// compilers had bare names too, and the guide read a table for each; today's
// refuses them.
var rows = []row{
	{"virtual", "virtual", "", ownTier, Virtual, 1, 0x100, 256, "our own engine", Decoded, Decoded},

	{"h11", "h11p", "", olderTier, A11Legacy, 4, 1, 5, "generation of A12", Decoded, Predicted},
	{"h11p", "", "h11", olderTier, A11Legacy, 4, 0, 0, "A12", Predicted, Predicted},
	{"h11g", "", "h11", olderTier, A11Legacy, 8, 0, 0, "A12X, A12Z", Predicted, Predicted},
	{"h12", "h12p", "", olderTier, A12, 4, 3, 6, "generation of A13", Decoded, Predicted},
	{"h12p", "", "h12", olderTier, A12, 4, 0, 0, "A13", Predicted, Predicted},
	{"m9", "", "", olderTier, A11Legacy, 1, 0, 0, "legacy, before A13, one core", Predicted, Decoded},
	{"t0", "", "", olderTier, A11Legacy, 4, 0, 0, "legacy, before A13", Predicted, Predicted},

	{"h13", "h13g", "", a13Tier, A13, 4, 4, 7, "generation of M1, A14", Measured, Decoded},
	{"h13p", "", "h13", a13Tier, A13, 8, 0, 0, "A14", Predicted, Predicted},
	{"h13g", "", "", a13Tier, A13, 8, 4, 7, "M1", Measured, Decoded},
	{"h13s", "", "h13g", a13Tier, A13, 16, 0, 0, "M1 Pro", Predicted, Predicted},
	{"h13c", "", "h13g", a13Tier, A13, 32, 0, 0, "M1 Max", Predicted, Predicted},
	{"h13d", "", "h13g", a13Tier, A13, 64, 0, 0, "M1 Ultra", Predicted, Predicted},
	{"t1", "", "", a13Tier, A13, 4, 0, 0, "A13 reference", Decoded, Decoded},

	{"h14", "h14g", "", a14Tier, A14, 4, 5, 11, "generation of M2, A15", Decoded, Decoded},
	{"h14p", "", "h14", a14Tier, A14, 8, 0, 0, "A15", Predicted, Predicted},
	{"h14g", "", "", a14Tier, A14, 8, 0, 0, "M2", Decoded, Decoded},
	{"h14s", "", "h14g", a14Tier, A14, 16, 0, 0, "M2 Pro", Measured, Predicted},
	{"h14c", "", "", a14Tier, A14, 32, 0, 0, "M2 Max", Decoded, Decoded},
	{"h14d", "", "h14c", a14Tier, A14, 64, 0, 0, "M2 Ultra", Predicted, Predicted},

	{"h15", "h15g", "", a15Tier, A15, 4, 6, 8, "generation of M3, A16", Decoded, Decoded},
	{"h15p", "", "h15", a15Tier, A15, 8, 0, 0, "A16", Predicted, Predicted},
	{"h15g", "", "", a15Tier, A15, 8, 0, 0, "M3", Decoded, Decoded},
	{"h15s", "", "h15g", a15Tier, A15, 16, 0, 0, "M3 Pro", Predicted, Predicted},
	{"h15c", "", "", a15Tier, A15, 32, 0, 0, "M3 Max", Decoded, Decoded},
	{"h15d", "", "h15c", a15Tier, A15, 64, 0, 0, "M3 Ultra", Predicted, Predicted},

	{"h16", "h16g", "", a16Tier, A16, 4, 7, 17, "generation of M4, A17 Pro", Decoded, Decoded},
	{"h16p", "", "h16", a16Tier, A16, 8, 0, 0, "A17 Pro", Predicted, Predicted},
	{"h16g", "", "", a16Tier, A16, 8, 0, 0, "M4", Decoded, Decoded},
	{"h16s", "", "", a16Tier, A16, 16, 0, 0, "M4 Pro", Decoded, Decoded},
	{"h16c", "", "", a16Tier, A16, 32, 0, 0, "M4 Max", Decoded, Decoded},

	{"h17", "h17g", "", a17Tier, A17, 4, 9, 19, "generation of M5, A18", Decoded, Decoded},
	{"h17a", "", "", a17Tier, A17, 4, 0, 0, "A17 variant", Decoded, Decoded},
	{"h17p", "", "h17", a17Tier, A17, 8, 0, 0, "A18, A18 Pro", Predicted, Predicted},
	{"h17g", "", "", a17Tier, A17, 8, 0, 0, "M5", Decoded, Decoded},
	{"h17s", "", "", a17Tier, A17, 16, 0, 0, "M5 Pro", Measured, Measured},
	{"h17c", "", "", a17Tier, A17, 32, 0, 0, "M5 Max", Decoded, Decoded},
	{"h17d", "", "", a17Tier, A17, 64, 0, 0, "M5 Ultra", Decoded, Decoded},

	{"h18", "h18g", "", a18Tier, A18, 4, 10, 20, "generation of M6, A19", Decoded, Decoded},
	{"h18p", "", "h18", a18Tier, A18, 8, 0, 0, "A19, A19 Pro", Predicted, Predicted},
	{"h18g", "", "h18", a18Tier, A18, 8, 0, 0, "M6", Predicted, Predicted},
	{"h19p", "", "h18", a18Tier, A18, 8, 0, 0, "A20 Pro", Predicted, Predicted}, // no source has a family after A18

	{"m11", "", "", smallTier, A16, 1, 0, 0, "small embedded engine", Predicted, Decoded},
	{"u1", "", "", referenceTier, A11Legacy, 4, 0, 0, "reference, not silicon", Predicted, Decoded},
	{"u2", "", "", referenceTier, A11Legacy, 4, 0, 0, "reference, not silicon", Predicted, Decoded},
	{"u3", "", "", referenceTier, A11Legacy, 4, 0, 0, "reference, not silicon", Predicted, Decoded},
}

// isGeneration reports whether a name is bare: ours, for a generation.
func (r *row) isGeneration() bool { return r.chip != "" }

// on reports whether what was seen on a chip holds for the target: it is the
// chip's own row, or the generation whose base chip that is.
func (t *Target) on(chip string) bool { return t.Name == chip || t.row.chip == chip }

// known is a status as it holds for the target: where all of a row is predicted
// from another one, what is known of that one is predicted here.
func (t *Target) known(s Status, source string) (Status, string) {
	if t.row.like == "" || s == Unknown {
		return s, source
	}
	return Predicted, "as " + t.row.like + ": " + source
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
			if a.Kind.short() && a.Readings[0].Target == t.Name {
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
		t.Driver = driver(t)
		t.Clock, _, _ = clock(t)
		t.Formats = formats(t.tier)
		t.Weights = weights(t)
		t.Numerics, t.WidthSlice = numerics(t.tier)
	}
	for i := range all {
		all[i].Cost = cost(&all[i], all)
	}
	return all
}
