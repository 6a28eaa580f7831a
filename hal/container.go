package hal

// Container is the target whose CPU subtype and task version stand in
// containers for t: t itself or, where no source has them, its
// generation. Dies of one generation share them where they are known.
func (t *Target) Container() *Target {
	if t.CPUSubtype != 0 {
		return t
	}
	for i := range targets {
		if base := &targets[i]; base.row.isGeneration() && base.Family == t.Family {
			return base
		}
	}
	panic("bug: a generation without a base target: " + t.Name)
}

// encoders are the encodings of a tier. Of all chips, H13's registers alone are known.
func encoders(t tier) []string {
	if t == a13Tier {
		return []string{"v7", "v256"}
	}
	return []string{"v256"}
}

// HasNativeEncoding reports whether tasks for the target can be native: words
// that the chip itself reads.
func (t *Target) HasNativeEncoding() bool { return len(t.Encoders) > 1 }
