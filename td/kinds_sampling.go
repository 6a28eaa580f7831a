package td

import "fmt"

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

// SamplingGrid is where the points of a resized axis lie (ZinIrSamplingGridMode):
// of m points over an axis of n elements, point i is at the given position, or
// at the end of the axis if that is beyond.
type SamplingGrid uint8

// The sampling grids.
const (
	GridAlignedCorners                SamplingGrid = 0 // i*(n-1)/(m-1); the middle if m is 1
	GridUnalignedCorners              SamplingGrid = 1 // (i+1/2)*n/m - 1/2
	GridOffsetCorners                 SamplingGrid = 2 // (i+1/2)*max(n-1, 1)/m
	GridDefault                       SamplingGrid = 3 // i*n/m
	GridOffsetDefault                 SamplingGrid = 4 // not known
	GridOffsetDefaultWithNominalScale SamplingGrid = 5 // not known
	GridStrictAlignedCorners          SamplingGrid = 6 // i*(n-1)/max(m-1, 1)
)

var samplingGridRows = map[SamplingGrid]kindRow{
	GridAlignedCorners: {"AlignedCorners", true}, GridUnalignedCorners: {"UnalignedCorners", true}, GridOffsetCorners: {"OffsetCorners", true},
	GridDefault: {"Default", true}, GridOffsetDefault: {"OffsetDefault", false},
	GridOffsetDefaultWithNominalScale: {"OffsetDefaultWithNominalScale", false}, GridStrictAlignedCorners: {"StrictAlignedCorners", true},
}

func (g SamplingGrid) String() string { return rowName(samplingGridRows, g, "sampling grid") }

// Valid reports whether g has a name.
func (g SamplingGrid) Valid() bool { return samplingGridRows[g].name != "" }

// Known reports whether it is known what g means.
func (g SamplingGrid) Known() bool { return samplingGridRows[g].known }

// NearestRounding is which element is nearest to a position (nearest_rounding_mode,
// guide C.1).
type NearestRounding uint8

// The roundings.
const (
	RoundPreferCeil  NearestRounding = 0 // the nearest; of two, the later
	RoundPreferFloor NearestRounding = 1 // the nearest; of two, the earlier
	RoundCeil        NearestRounding = 2
	RoundFloor       NearestRounding = 3
	RoundToEven      NearestRounding = 4 // the nearest; of two, the even
	RoundToOdd       NearestRounding = 5 // the nearest; of two, the odd
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
	CoordNonNormalized       CoordinateMode = 0            // an index
	CoordNormalizedSymmetric CoordinateMode = 1            // -1 to 1
	CoordNormalizedReflect   CoordinateMode = 2            // not known
	CoordNormalizedUnit      CoordinateMode = ourKinds + 0 // 0 to 1
)

var coordinateModeRows = map[CoordinateMode]kindRow{
	CoordNonNormalized: {"NonNormalized", true}, CoordNormalizedSymmetric: {"NormalizedSymmetric", true},
	CoordNormalizedReflect: {"NormalizedReflect", false}, CoordNormalizedUnit: {"NormalizedUnit", true},
}

func (m CoordinateMode) String() string { return rowName(coordinateModeRows, m, "coordinate mode") }

// Valid reports whether m has a name.
func (m CoordinateMode) Valid() bool { return coordinateModeRows[m].name != "" }

// Known reports whether it is known what m means.
func (m CoordinateMode) Known() bool { return coordinateModeRows[m].known }

// BoxMode is which four numbers describe a box, by the names of MIL's
// box_coordinate_mode.
type BoxMode uint8

// The box modes.
const (
	BoxCornersHeightFirst BoxMode = ourKinds + 0 // H, W of one corner, then of the other
	BoxCornersWidthFirst  BoxMode = ourKinds + 1
	BoxCenterHeightFirst  BoxMode = ourKinds + 2 // H, W of the centre, then of the size
	BoxCenterWidthFirst   BoxMode = ourKinds + 3
)

var boxModeNames = map[BoxMode]string{
	BoxCornersHeightFirst: "CornersHeightFirst", BoxCornersWidthFirst: "CornersWidthFirst",
	BoxCenterHeightFirst: "CenterSizeHeightFirst", BoxCenterWidthFirst: "CenterSizeWidthFirst",
}

func (m BoxMode) String() string { return nameOf(boxModeNames, m, "box mode") }

// Valid reports whether m has a name.
func (m BoxMode) Valid() bool { return boxModeNames[m] != "" }

// known complains of the first kind without a name.
func known(kinds ...interface {
	Valid() bool
	String() string
}) error {
	for _, k := range kinds {
		if !k.Valid() {
			return fmt.Errorf("%v is not known", k)
		}
	}
	return nil
}
