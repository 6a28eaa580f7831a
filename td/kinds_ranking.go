package td

// Extreme is which end of an order is wanted.
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

// ArgMode is what ArgMinMax finds (ZinArgMode).
type ArgMode uint8

// The modes.
const (
	SpatialArgMin ArgMode = 1
	ChannelArgMin ArgMode = 2
	SpatialArgMax ArgMode = 3
	ChannelArgMax ArgMode = 4
)

var argModeNames = map[ArgMode]string{
	SpatialArgMin: "SpatialArgMin", ChannelArgMin: "ChannelArgMin", SpatialArgMax: "SpatialArgMax", ChannelArgMax: "ChannelArgMax",
}

func (m ArgMode) String() string { return nameOf(argModeNames, m, "mode") }

// Valid reports whether m has a name.
func (m ArgMode) Valid() bool { return argModeNames[m] != "" }

// Spatial reports whether m finds an element of a window, not a channel.
func (m ArgMode) Spatial() bool { return m == SpatialArgMin || m == SpatialArgMax }

// Extreme returns which element m finds.
func (m ArgMode) Extreme() Extreme {
	if m == SpatialArgMin || m == ChannelArgMin {
		return Min
	}
	return Max
}

// SortDirection is ZinIrSortDirection.
type SortDirection uint8

// The directions.
const (
	Ascending  SortDirection = 1
	Descending SortDirection = 2
)

var sortDirectionNames = map[SortDirection]string{Ascending: "Ascending", Descending: "Descending"}

func (d SortDirection) String() string { return nameOf(sortDirectionNames, d, "direction") }

// Valid reports whether d has a name.
func (d SortDirection) Valid() bool { return sortDirectionNames[d] != "" }

// Results is what a sorting operation writes. Both at once is ours.
type Results uint8

// The results.
const (
	ResultValues  Results = 0
	ResultIndices Results = 1
	ResultBoth    Results = ourKinds
)

var resultsNames = map[Results]string{ResultValues: "Values", ResultIndices: "Indices", ResultBoth: "Both"}

func (r Results) String() string { return nameOf(resultsNames, r, "results") }

// Valid reports whether r has a name.
func (r Results) Valid() bool { return resultsNames[r] != "" }
