package kernel

// The axes of a View and of the dense arrays that kernels work on, outermost
// first.
const (
	G = iota // groups, or the batch
	C        // channels
	D        // depth
	H        // rows
	W        // columns

	Axes
)

// A View says where the elements of an operand lie in memory. Axes that are
// exchanged have their strides exchanged; a broadcast axis has stride 0.
type View struct {
	Offset  int       // bytes from the beginning of the memory
	Dims    [Axes]int // elements along each axis
	Strides [Axes]int // bytes

	// Lanes elements of axis LaneAxis lie side by side, LaneStride bytes apart;
	// the stride of that axis leads from one such bundle to the next. 0 or 1
	// lane is none.
	Lanes      int
	LaneAxis   int
	LaneStride int

	// Bytes says that elements are unsigned bytes. They are fp16 otherwise.
	Bytes bool
}

// Len is the number of elements.
func (v *View) Len() int {
	n := 1
	for _, d := range v.Dims {
		n *= d
	}
	return n
}

// Along is the distance in bytes from element 0 to element i of an axis.
func (v *View) Along(axis, i int) int {
	if v.Lanes > 1 && axis == v.LaneAxis {
		return i/v.Lanes*v.Strides[axis] + i%v.Lanes*v.LaneStride
	}
	return i * v.Strides[axis]
}

// Row is the offset in bytes of the first element of a row.
func (v *View) Row(g, c, d, h int) int {
	return v.Offset + v.Along(G, g) + v.Along(C, c) + v.Along(D, d) + v.Along(H, h)
}

// Rows is the number of rows.
func (v *View) Rows() int { return v.Dims[G] * v.Dims[C] * v.Dims[D] * v.Dims[H] }

// RowAt is Row of a row by its number.
func (v *View) RowAt(i int) int {
	h := i % v.Dims[H]
	i /= v.Dims[H]
	d := i % v.Dims[D]
	i /= v.Dims[D]
	return v.Row(i/v.Dims[C], i%v.Dims[C], d, h)
}

// plain reports whether the elements of a row have one distance.
func (v *View) plain() bool { return v.Lanes <= 1 || v.LaneAxis != W }
