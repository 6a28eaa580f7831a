package hal

// A chip is known by several names, and sources put the names to targets. What
// devices print themselves (coreai H) settles a name; the pattern of the
// suffixes predicts the others, and where the guide has something else, both
// readings stand, the one that is taken first.

const (
	coreaiH    = "coreai H"
	pattern    = coreaiH + ", by the pattern p phone, g base, s Pro, c Max, d Ultra"
	resolver34 = "guide 34, silicon to target"
	fullSet34  = "guide 34, full set"
	hwxGuide   = "coreml_to_ane_hwx, subtype table"
	tiers34    = "guide 34, capability tiers; guide 35, family enumeration"

	// The guide read its Macs by a private selector, which has g for every one.
	guideMac = resolver34 + ", by a selector that has g for every Mac"
)

// printed is a name that a device told.
func printed(target, evidence string) []Reading {
	return []Reading{{target, Measured, coreaiH + ": " + evidence}}
}

// predictedAs is a name that follows by the pattern; where the guide has another
// target, that is the other reading.
func predictedAs(target, guide, source string) []Reading {
	r := []Reading{{target, Predicted, pattern}}
	if guide != "" {
		r = append(r, Reading{guide, Decoded, source})
	}
	return r
}

// phone has the two readings of a phone's chip that told nothing. The guide gives
// it the generation of its own number, coreml_to_ane_hwx the one before, and so
// did all phones that told.
func phone(target, guide string) []Reading {
	return []Reading{{target, Predicted, pattern + "; " + hwxGuide}, {guide, Decoded, fullSet34}}
}

// chips has the names of chips, each line in the order in which they came.
var chips = []Alias{
	{"m1", MarketingName, printed("h13g", "an iPad Pro; the banner of an M1's program says so too (seed program-format). Older programs say h13: "+resolver34+"; h13 1.1")},
	{"m1pro", MarketingName, predictedAs("h13s", "h13g", guideMac)},
	{"m1max", MarketingName, printed("h13c", "deviceArchitectureName; the seed's descriptor is an H13C's. Not "+guideMac)},
	{"m1ultra", MarketingName, predictedAs("h13d", "h13g", guideMac)},
	{"m2", MarketingName, predictedAs("h14g", "", "")},
	{"m2pro", MarketingName, predictedAs("h14s", "h14g", guideMac)},
	{"m2max", MarketingName, predictedAs("h14c", "h14g", guideMac)},
	{"m2ultra", MarketingName, predictedAs("h14d", "", "")},
	{"m3", MarketingName, predictedAs("h15g", "", "")},
	{"m3pro", MarketingName, predictedAs("h15s", "h15g", guideMac)},
	{"m3max", MarketingName, predictedAs("h15c", "h15g", guideMac)},
	{"m3ultra", MarketingName, printed("h15d", "NemotronCoreAI")},
	{"m4", MarketingName, printed("h16g", "four surfaces of a Mac mini, and no other program loads")},
	{"m4pro", MarketingName, predictedAs("h16s", "h16g", guideMac)},
	{"m4max", MarketingName, printed("h16c", "of 20 names this one loads")},
	{"m5", MarketingName, printed("h17g", "Core-AI-Framework-Lab, NemotronCoreAI")},
	{"m5pro", MarketingName, printed("h17s", "NemotronCoreAI; "+resolver34+", read on the chip")},
	{"m5max", MarketingName, printed("h17c", "21 others are refused; its programs say -t h17c")},
	{"m5ultra", MarketingName, predictedAs("h17d", "", "")},
	{"m6", MarketingName, printed("h18g", "anemll-forge, a study of the M6")},

	{"a11", MarketingName, []Reading{{"h11", Decoded, "guide 35, A11Legacy"}, {"", Predicted, hwxGuide + ": H11 is the A12; of the A11 it has nothing"}}},
	{"a12", MarketingName, phone("h11p", "h12")},
	{"a12x", MarketingName, predictedAs("h11g", "h12", fullSet34)},
	{"a12z", MarketingName, predictedAs("h11g", "h12", fullSet34)},
	{"a13", MarketingName, phone("h12p", "h13")},
	{"a14", MarketingName, phone("h13p", "h14")},
	{"a15", MarketingName, phone("h14p", "h15")},
	{"a16", MarketingName, phone("h15p", "h16")},
	{"a17pro", MarketingName, printed("h16p", "deviceArchitectureName of an iPhone 15 Pro")},
	{"a18", MarketingName, []Reading{{"h17p", Predicted, coreaiH + ": bundles that are sold for the iPhone 16; " + hwxGuide}, {"h18", Decoded, fullSet34}}},
	{"a18pro", MarketingName, printed("h17p", "an iPhone 16 Pro")},
	{"a19", MarketingName, []Reading{{"h18p", Predicted, coreaiH + ": said of iPhone 17, not shown; guide 35, cross-compiled programs"}}},
	{"a19pro", MarketingName, printed("h18p", "an iPhone 17 Pro runs it and refuses h17p")},
	{"a20pro", MarketingName, printed("h19p", "an iPhone 18 Pro names it and refuses h18p")},
}

// families has the compiler's own names.
var families = []Alias{
	family("A11Legacy", "h11"),
	family("A12", "h12"),
	family("A13", "h13"),
	family("A14", "h14"),
	family("A15", "h15"),
	family("A16", "h16"),
	family("A17", "h17"),
	family("A18", "h18"),
}

func family(name, target string) Alias {
	return Alias{"family:" + name, FamilyName, []Reading{{target, Decoded, tiers34}}}
}

// naming is how it is known what the target is made of.
func (t *Target) naming() (Status, string) {
	best, source := Unknown, nameSource
	for _, c := range chips {
		if r := c.Readings[0]; t.on(r.Target) && r.Status > best {
			best, source = r.Status, r.Source
		}
	}
	if best == Unknown {
		best = Decoded
	}
	if t.row.isGeneration() && t.Family != Virtual {
		source = "a bare name is ours, for a generation, and stands for its base chip, " + t.row.chip + ": " + source
	}
	return best, source
}
