package netplist

// A File is a network description, as on disk. Extra holds, here and below, the keys that no source names; they are written back.
type File struct {
	Version       string
	Networks      []*Network
	ProcedureList []*Entry // nil: each network is a procedure
	Extra         Dict
}

// A Network is a set of units and what they read and leave.
type Network struct {
	Name                    string
	Inputs, States, Outputs []*Port
	Constants               []*Constant
	Units                   []*Unit
	Weights, MutableWeights []string // names of files, which units know by their index
	Extra                   Dict
}

// Dims are the extents along N, D, C, H, W.
type Dims [5]int

// Strides are those of a port, in bytes; 0 is not said.
type Strides struct{ Batch, Depth, Plane, Row int }

// A Port is an input, a state or an output: of a network, or in an Entry.
type Port struct {
	Symbol     string
	Type       string // as in Float16; "" is not said
	Dims       Dims   // 0 is not said, which is 1
	Interleave int    // 0 is not said, which is 1
	Strides    Strides

	Bottom          string // of a network's output: what it leaves
	Unit, Operation string // in an Entry: the unit that reads or makes it, and the operation that runs it

	// Unlisted: an output that the network describes and does not list, as is usual beside a ProcedureList.
	Unlisted bool
	Extra    Dict
}

// A Constant is a tensor in a weights file, which units read by its name.
type Constant struct {
	Name, Type    string
	Dims          Dims
	Interleave    int
	Index, Offset int
	Extra         Dict
}

// A Unit is a layer.
type Unit struct {
	Name           string
	Type           string
	Bottom         []string
	InputType      []string
	OutputType     string
	OutputChannels int
	NumGroups      int
	Params         Dict
	Extra          Dict
}

// An Entry is a callable procedure: networks that run one after the other.
type Entry struct {
	Name       string
	Inputs     []*Port
	Operations []Operation
	Outputs    []*Port
	Extra      Dict
}

// An Operation is a network under a name.
type Operation struct {
	Name, Network string
	Extra         Dict
}

// The known keys that change nothing: names before their characters were escaped, notes of who made the list.
var idle = map[string]bool{
	"UnescapedName": true, "UnescapedBottom": true, "ModelDebugInformation": true, "WeightFileProperties": true,
}

// number is a key of a dictionary that holds an integer, 0 if it is not there.
type number struct {
	key string
	at  *int
}

// numbers are the integers of a port. Keys of an output begin with Output, those of others with Input.
func (p *Port) numbers(prefix string) []number {
	return []number{
		{"BatchSize", &p.Dims[0]}, {prefix + "Depth", &p.Dims[1]}, {prefix + "Channels", &p.Dims[2]},
		{prefix + "Height", &p.Dims[3]}, {prefix + "Width", &p.Dims[4]}, {prefix + "Interleave", &p.Interleave},
		{prefix + "BatchStride", &p.Strides.Batch}, {prefix + "DepthStride", &p.Strides.Depth},
		{prefix + "PlaneStride", &p.Strides.Plane}, {prefix + "RowStride", &p.Strides.Row},
	}
}

func (c *Constant) numbers() []number {
	return []number{
		{"ConstantBatchSize", &c.Dims[0]}, {"ConstantDepth", &c.Dims[1]}, {"ConstantChannels", &c.Dims[2]},
		{"ConstantHeight", &c.Dims[3]}, {"ConstantWidth", &c.Dims[4]}, {"ConstantInterleave", &c.Interleave},
		{"ConstantIndex", &c.Index}, {"ConstantByteOffset", &c.Offset},
	}
}
