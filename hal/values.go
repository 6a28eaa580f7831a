package hal

import (
	"fmt"
	"strconv"
	"strings"
)

// A Value is one thing that is known of a target, or known not to be known.
type Value struct {
	Group  string // target, limits, capabilities, ways, residency, weights, formats, numerics, cost, sizes
	Name   string
	Offset string // of the field in the compiler's table, where known
	Text   string // with its unit; "?" where no source has it
	Status Status
	Source string
}

// Values lists all that is known of a target, by group.
func (t *Target) Values() []Value {
	var all []Value
	add := func(group, name, offset, text string, status Status, source string) {
		if status == Unknown {
			text = "?"
		}
		all = append(all, Value{group, name, offset, text, status, source})
	}
	has := func(has bool) Status { return statusOf(has, Decoded, Unknown) }
	// like adds what a source has of another row, where this one is predicted from it.
	like := func(group, name, offset, text string, status Status, source string) {
		status, source = t.known(status, source)
		add(group, name, offset, text, status, source)
	}
	own := t.Family == Virtual
	source := func(theirs string) string {
		if own {
			return "ours"
		}
		return theirs
	}

	named, namedBy := t.naming()
	add("target", "silicon", "", t.Silicon, named, source(namedBy))
	add("target", "family", "", fmt.Sprintf("%v, index %d", t.Family, t.Family), t.row.familyStatus, source(familySource))
	cores := coresSource
	if t.tier != olderTier && strings.HasSuffix(t.Name, "p") {
		cores = phoneCores
	}
	add("target", "cores", "0x238", strconv.Itoa(t.Cores), t.row.coresStatus, source(cores))
	hz, hzStatus, hzSource := clock(t)
	add("target", "clock", "", fmt.Sprintf("%.2f to %.2f GHz, model at %.2f GHz", hz.Min/1e9, hz.Max/1e9, hz.Operating/1e9), hzStatus, source(hzSource))
	add("target", "cpu_subtype", "", fmt.Sprintf("%#x", t.CPUSubtype), has(t.CPUSubtype != 0), source(subtypeSource))
	add("target", "task_version", "", strconv.Itoa(int(t.TaskVersion)), has(t.TaskVersion != 0), source(versionSource))

	add("target", "encoders", "", strings.Join(t.Encoders, ", "), Decoded, "ours: the native one where the chip's registers are known, then version 256")

	for i := range scalars {
		s := &scalars[i]
		v, status, from := s.of(t)
		add("limits", s.name, s.offset, limitText(v, s.unit), status, from)
	}
	like("limits", "stride_factors", "0x730 to 0x750", joinInts(t.Limits.StrideFactors), Decoded, source(strideFactorsSource))

	for i := range capabilities {
		c := &capabilities[i]
		set, status := c.of(t)
		add("capabilities", c.Name, c.Byte.String(), bit(set), status, source(c.Source))
	}

	for i := range ways {
		w := &ways[i]
		set, status := w.of(t)
		add("ways", w.name, "", yesNo(set), status, source(w.source))
	}
	t.residencyValues(func(name, text string, status Status, from string) {
		add("residency", name, "", text, status, source(from))
	})
	t.driverValues(func(name, text string, status Status, from string) {
		add("driver", name, "", text, status, source(from))
	})

	for _, f := range weightForms {
		streams, status := t.Streams(f.Form)
		text := "folds"
		if streams {
			text = "streams"
		}
		add("weights", strings.ReplaceAll(f.Name, " ", "_"), "", text, status, source(f.Source))
	}
	w := t.Weights
	like("weights", "palette_bits", "", joinInts(w.PaletteBits), w.Status, w.Source)
	like("weights", "palette_groups", "", joinInts(w.PaletteGroups), w.Status, w.Source)
	like("weights", "palette_tables", "", map[bool]string{true: "several", false: "one"}[w.ManyTables], w.Status, w.Source)
	like("weights", "zero_point", "", yesNo(w.ZeroPoint), w.Status, w.Source)
	like("weights", "sparse_indices", "", yesNo(w.SparseIndices), w.Status, w.Source)

	like("formats", "count", "0x668", strconv.Itoa(t.Formats.Count), t.Formats.Status, t.Formats.Source)
	raw := strings.Join(t.Formats.Raw, " ")
	switch {
	case raw == "":
		raw = "none"
	case t.Formats.Packed:
		raw += ", and compressed variants"
	}
	like("formats", "uncompressed", "0x658", raw, t.Formats.Status, t.Formats.Source)

	for _, r := range rules {
		fact := numericsFactOf(t, r.Name)
		add("numerics", r.Name, "", r.Value(t.Numerics), fact.status, fact.source)
	}
	fact := numericsFactOf(t, widthSlice)
	slice := "no bound"
	if t.WidthSlice != 0 {
		slice = fmt.Sprintf("infinity beyond %g", t.WidthSlice)
	}
	add("numerics", widthSlice, "", slice, fact.status, fact.source)

	if c := t.Cost; c == nil {
		like("cost", "anchors", "0x580", "none", Decoded, source("guide 24, HAL property table: the policy is None before A13 and on the small profile; no source has the reference profiles"))
	} else {
		add("cost", "peak", "", fmt.Sprintf("%.3g fp16 TFLOP/s", c.PeakFLOPS/1e12), c.Status, c.Source)
		add("cost", "bandwidth", "", fmt.Sprintf("%.3g GB/s", c.Bandwidth/1e9), c.Status, c.Source)
		add("cost", "dispatch_floor", "", fmt.Sprintf("%.3g ms", c.DispatchFloor*1e3), c.Status, c.Source)
		add("cost", "efficiency", "0x7a8", fmt.Sprintf("%.2g", c.Efficiency), c.Status, c.Source)
		add("cost", "fit_error", "", fmt.Sprintf("%.0f %%", c.FitError*100), statusOf(c.FitError != 0, Measured, Unknown), c.Source)
		add("cost", "median_error", "", fmt.Sprintf("%.0f %%", c.MedianError*100), statusOf(c.MedianError != 0, Measured, Unknown), c.Source)
	}

	_, sizeStatus, sizeSource := sizes(t.tier)
	for _, s := range []struct {
		name string
		n    int
	}{
		{"engines", t.Sizes.Engines},
		{"max_lanes", t.Sizes.MaxLanes},
		{"kernel_channels", t.Sizes.KernelChannels},
		{"on_chip", t.Sizes.OnChip},
		{"on_chip_align", t.Sizes.OnChipAlign},
		{"row_align", t.Sizes.RowAlign},
		{"page_size", t.Sizes.PageSize},
		{"tile_size", t.Sizes.TileSize},
		{"task_align", t.Sizes.TaskAlign},
	} {
		like("sizes", s.name, "", strconv.Itoa(s.n), sizeStatus, sizeSource)
	}
	return all
}

func limitText(n int, unit string) string {
	switch {
	case n == NoLimit:
		return "no limit"
	case unit == "bytes" && n >= mib && n%mib == 0:
		return fmt.Sprintf("%d MiB", n/mib)
	case unit == "bytes" && n >= kib && n%kib == 0:
		return fmt.Sprintf("%d KiB", n/kib)
	case unit != "":
		return fmt.Sprintf("%d %s", n, unit)
	}
	return strconv.Itoa(n)
}

func bit(set bool) string {
	if set {
		return "1"
	}
	return "0"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func joinInts(n []int) string {
	if len(n) == 0 {
		return "any"
	}
	var parts []string
	for _, v := range n {
		parts = append(parts, strconv.Itoa(v))
	}
	return strings.Join(parts, ", ")
}
