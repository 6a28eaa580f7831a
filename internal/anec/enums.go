package anec

import "fmt"

// The numbers of the tokens are Apple's (guide C.1) as far as Apple has them.
// Ours begin at 64.

// nameOf returns the name with a number, or the number itself.
func nameOf[T ~uint8](names map[T]string, i T, what string) string {
	if s, ok := names[i]; ok {
		return s
	}
	return fmt.Sprintf("%s %d", what, uint8(i))
}

// PaddingMode is what stands outside a tensor (ZinIrPaddingMode).
type PaddingMode uint8

// The padding modes.
const (
	PadZero        PaddingMode = 1
	PadNegative    PaddingMode = 2 // the least number: what a maximum ignores
	PadReplication PaddingMode = 3 // the nearest element
	PadSymmetric   PaddingMode = 5 // mirrored, the edge twice
	PadReflective  PaddingMode = 6 // mirrored, the edge once
	PadBackground  PaddingMode = 7 // a given value
	PadDontCare    PaddingMode = 8
)

var paddingModeNames = map[PaddingMode]string{
	PadZero: "Zero", PadNegative: "Negative", PadReplication: "Replication", PadSymmetric: "Symmetric",
	PadReflective: "Reflective", PadBackground: "Background", PadDontCare: "DontCare",
}

func (m PaddingMode) String() string { return nameOf(paddingModeNames, m, "padding mode") }

// Valid reports whether m has a name.
func (m PaddingMode) Valid() bool { return paddingModeNames[m] != "" }

// SamplingMethod is how a value between elements is made (ZinIrSamplingMethod).
type SamplingMethod uint8

// The sampling methods.
const (
	SampleLinear  SamplingMethod = 0
	SampleNearest SamplingMethod = 1
)

var samplingMethodNames = map[SamplingMethod]string{SampleLinear: "Linear", SampleNearest: "NearestNeighbor"}

func (m SamplingMethod) String() string { return nameOf(samplingMethodNames, m, "sampling method") }

// Valid reports whether m has a name.
func (m SamplingMethod) Valid() bool { return samplingMethodNames[m] != "" }

// SamplingGrid is where the points of a resized axis lie (ZinIrSamplingGridMode).
// The names are those of the sampling modes of MIL's resize operations.
type SamplingGrid uint8

// The sampling grids.
const (
	GridAlignedCorners                SamplingGrid = 0
	GridUnalignedCorners              SamplingGrid = 1
	GridOffsetCorners                 SamplingGrid = 2
	GridDefault                       SamplingGrid = 3
	GridOffsetDefault                 SamplingGrid = 4
	GridOffsetDefaultWithNominalScale SamplingGrid = 5
	GridStrictAlignedCorners          SamplingGrid = 6
)

var samplingGridNames = map[SamplingGrid]string{
	GridAlignedCorners: "AlignedCorners", GridUnalignedCorners: "UnalignedCorners", GridOffsetCorners: "OffsetCorners",
	GridDefault: "Default", GridOffsetDefault: "OffsetDefault",
	GridOffsetDefaultWithNominalScale: "OffsetDefaultWithNominalScale", GridStrictAlignedCorners: "StrictAlignedCorners",
}

func (g SamplingGrid) String() string { return nameOf(samplingGridNames, g, "sampling grid") }

// Valid reports whether g has a name.
func (g SamplingGrid) Valid() bool { return samplingGridNames[g] != "" }

// NearestRounding is which element is nearest (nearest_rounding_mode, guide C.1).
type NearestRounding uint8

// The roundings.
const (
	RoundPreferCeil  NearestRounding = 0
	RoundPreferFloor NearestRounding = 1
	RoundCeil        NearestRounding = 2
	RoundFloor       NearestRounding = 3
	RoundToEven      NearestRounding = 4
	RoundToOdd       NearestRounding = 5
)

var nearestRoundingNames = map[NearestRounding]string{
	RoundPreferCeil: "round_prefer_ceil", RoundPreferFloor: "round_prefer_floor", RoundCeil: "ceil",
	RoundFloor: "floor", RoundToEven: "round_to_even", RoundToOdd: "round_to_odd",
}

func (r NearestRounding) String() string { return nameOf(nearestRoundingNames, r, "rounding") }

// Valid reports whether r has a name.
func (r NearestRounding) Valid() bool { return nearestRoundingNames[r] != "" }

// CoordinateMode is what the number of a position means (ZinIrCoordinateMode).
type CoordinateMode uint8

// The coordinate modes.
const (
	CoordNonNormalized       CoordinateMode = 0 // an index
	CoordNormalizedSymmetric CoordinateMode = 1 // -1 to 1
	CoordNormalizedReflect   CoordinateMode = 2
	CoordNormalizedUnit      CoordinateMode = 64 // 0 to 1
)

var coordinateModeNames = map[CoordinateMode]string{
	CoordNonNormalized: "NonNormalized", CoordNormalizedSymmetric: "NormalizedSymmetric",
	CoordNormalizedReflect: "NormalizedReflect", CoordNormalizedUnit: "NormalizedUnit",
}

func (m CoordinateMode) String() string { return nameOf(coordinateModeNames, m, "coordinate mode") }

// Valid reports whether m has a name.
func (m CoordinateMode) Valid() bool { return coordinateModeNames[m] != "" }

// BoxMode is which four numbers describe a box, by the names of MIL's
// box_coordinate_mode. Apple's own tokens (CFStringToZinIrCropResizeBoxMode) are
// not known.
type BoxMode uint8

// The box modes.
const (
	BoxCornersHeightFirst BoxMode = 64
	BoxCornersWidthFirst  BoxMode = 65
	BoxCenterHeightFirst  BoxMode = 66
	BoxCenterWidthFirst   BoxMode = 67
)

var boxModeNames = map[BoxMode]string{
	BoxCornersHeightFirst: "CornersHeightFirst", BoxCornersWidthFirst: "CornersWidthFirst",
	BoxCenterHeightFirst: "CenterSizeHeightFirst", BoxCenterWidthFirst: "CenterSizeWidthFirst",
}

func (m BoxMode) String() string { return nameOf(boxModeNames, m, "box mode") }

// Valid reports whether m has a name.
func (m BoxMode) Valid() bool { return boxModeNames[m] != "" }

// Extreme is which end of the numbers is sought (ZinIrTopKType).
type Extreme uint8

// The extremes.
const (
	Min Extreme = 1
	Max Extreme = 2
)

var extremeNames = map[Extreme]string{Min: "Min", Max: "Max"}

func (e Extreme) String() string { return nameOf(extremeNames, e, "extreme") }

// Valid reports whether e has a name.
func (e Extreme) Valid() bool { return extremeNames[e] != "" }

// Results is what a sorting layer makes. Apple's have one top, values or, with
// the key Indices, indices; both at once is ours.
type Results uint8

// The results.
const (
	ResultValues  Results = 0
	ResultIndices Results = 1
	ResultBoth    Results = 64
)

var resultsNames = map[Results]string{ResultValues: "Values", ResultIndices: "Indices", ResultBoth: "Both"}

func (r Results) String() string { return nameOf(resultsNames, r, "results") }

// Valid reports whether r has a name.
func (r Results) Valid() bool { return resultsNames[r] != "" }

// valid complains of the first token without a name.
func valid(tokens ...interface {
	Valid() bool
	String() string
}) error {
	for _, t := range tokens {
		if !t.Valid() {
			return fmt.Errorf("%v is not known", t)
		}
	}
	return nil
}
