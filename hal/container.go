package hal

// Container is the target whose CPU subtype and task version stand in
// containers for t: t itself or, where no source has them, the base target of
// its generation. Dies of one generation share them where they are known.
func (t *Target) Container() *Target {
	if t.CPUSubtype != 0 {
		return t
	}
	for i := range targets {
		if base := &targets[i]; base.row.base && base.Family == t.Family {
			return base
		}
	}
	panic("bug: a generation without a base target: " + t.Name)
}
