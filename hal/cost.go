package hal

import "slices"

// Cost has the anchors of the cost model that turns a layer into a time: the
// larger of work over peak and bytes over bandwidth, plus the floor (guide 18).
type Cost struct {
	PeakFLOPS     float64 // fp16 operations per second, a multiply and an addition being two
	Bandwidth     float64 // bytes per second
	DispatchFloor float64 // seconds that a dispatch costs beside its work
	Efficiency    float64 // of the array at the clock that the model takes; already in PeakFLOPS

	FitError    float64 // worst relative error on the convolutions that it was fitted to; 0: not fitted
	MedianError float64 // relative, over a broad sweep of graphs; 0: nobody measured it

	Status Status
	Source string
}

// anchors are what was fitted to a chip.
var anchors = map[string]Cost{
	"h13g": {3.25e12, 9.0e9, 220e-6, 1.0, 0.17, 0.31, Measured,
		"guide 18, fitted to five convolutions on the M1; the floor is the analytic one, which gives the published column, where the text has 0.23 ms"},
	"h17s": {8.9e12, 57e9, 110e-6, 0.84, 0.13, 0, Measured,
		"guide 18, fitted to convolutions on the M5, four of five within the error"},
}

// clock is that of a target. Two generations were seen running.
func clock(t *Target) (Clock, Status, string) {
	const source = "guide 18, per-chip parameters; guide 12, family map"
	switch t.tier {
	case a13Tier:
		return Clock{0.40e9, 1.43e9, 1.14e9}, statusOf(t.on("h13g"), Measured, Predicted), source
	case a17Tier:
		return Clock{0.74e9, 2.36e9, 1.89e9}, statusOf(t.on("h17s"), Measured, Predicted), source
	}
	return Clock{}, Unknown, "no source"
}

func statusOf(condition bool, yes, no Status) Status {
	if condition {
		return yes
	}
	return no
}

// cost gives a target its anchors: fitted ones, or those of the fitted chip that
// is nearer in cores, scaled as guide 18 says. Bandwidth goes with the cores,
// the floor with the clock, the peak with cores, clock and efficiency:
//
//	peak      = peak'      · cores/cores' · clock/clock' · efficiency/efficiency'
//	bandwidth = bandwidth' · cores/cores'
//	floor     = floor'     · clock'/clock
//
// A generation has those of the base chip that it stands for. Where no source has the clock, that of the generation before which was seen
// running stands in: H13's up to A16, H17's from there on. Before A13, on the
// small profile and on the reference ones the compiler has no cost model (HAL
// field 0x580 is None), and nor have we.
func cost(t *Target, all []Target) *Cost {
	if c, ok := anchors[t.Name]; ok {
		return &c
	}
	if t.tier < a13Tier || t.tier > a18Tier {
		return nil
	}
	if t.row.isGeneration() {
		i := slices.IndexFunc(all, func(chip Target) bool { return chip.Name == t.row.chip })
		c := *cost(&all[i], all)
		c.Source = "as " + t.row.chip + ", the base chip: " + c.Source
		return &c
	}
	near, nearCores, nearClock := anchors["h13g"], 8.0, 1.14e9
	if t.Cores >= 16 {
		near, nearCores, nearClock = anchors["h17s"], 16.0, 1.89e9
	}
	hz, efficiency := 1.14e9, 1.0
	if t.tier >= a17Tier {
		hz, efficiency = 1.89e9, 0.84
	}
	cores := float64(t.Cores) / nearCores
	return &Cost{
		PeakFLOPS:     near.PeakFLOPS * cores * (hz / nearClock) * (efficiency / near.Efficiency),
		Bandwidth:     near.Bandwidth * cores,
		DispatchFloor: near.DispatchFloor * nearClock / hz,
		Efficiency:    efficiency,
		Status:        Predicted,
		Source:        "scaled from " + anchorName(t) + " by cores and clock as guide 18 says",
	}
}

func anchorName(t *Target) string {
	if t.Cores >= 16 {
		return "h17s"
	}
	return "h13g"
}
