// Package segment is what the phases of the compiler fill in and the encoders read: a run of layers on the engine on its way
// to a container.
//
//	Segment   the graph, its order, the layout, the tasks of each layer, the plan, the container
//	Spot      where a value lies: a buffer, a displacement from its start, strides
//	Layout    all spots, before any buffer has an address
//	Choice    what an encoder is given to select the tasks of a layer
//	Task      a task before it has words: an operation of the array or planar engine (units.Op), or one on strided operands (td.Op)
//	Plan      all places, with addresses
//
// It also has what both sides ask of a layer: views and where they lie (views.go), constants (layers.go, packed.go). It decides
// nothing: that is the compiler's, and the encoders'.
package segment
