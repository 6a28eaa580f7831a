package hal

// Formats are the pictures that a target reads as they are, without a
// conversion on the host: four-character tags, the first of which says how they
// are packed (guide 34).
type Formats struct {
	Count  int      // HAL field 0x668
	Raw    []string // tags of the uncompressed ones
	Packed bool     // compressed variants of some of them count, too: prefixes -, / and |
	Status Status
	Source string
}

const guide34Formats = "guide 34, interchange formats; guide 24, HAL field 0x668"

// formats are those of a tier. The counts are the sources'; the compressed
// variants are not listed one by one there.
func formats(t tier) Formats {
	switch t {
	case a13Tier:
		return Formats{3, []string{"&BGA", "&L0h", "&L16"}, false, Decoded, guide34Formats}
	case a14Tier:
		return Formats{13, []string{"&BGA", "&L0h", "&L16", "&RhA"}, true, Decoded, guide34Formats}
	case a15Tier, smallTier:
		return Formats{16, []string{"&BGA", "&L0h", "&L16", "&RhA", "&8f0", "&8v0"}, true, Decoded, guide34Formats + "; adds YUV 4:2:0 and half-precision luma"}
	case a16Tier, a17Tier, a18Tier:
		return Formats{14, []string{"&BGA", "&L0h", "&L16", "&RhA"}, true, Decoded, guide34Formats + "; A15 without YUV 4:2:0"}
	case ownTier:
		return Formats{0, nil, false, Decoded, "ours: the host converts pictures"}
	}
	return Formats{0, nil, false, Decoded, guide34Formats}
}
