package anec

// PortStrides are the strides, in bytes along N, D, C and H, that a network description asks of the memory of a port. 0 asks
// nothing. (An interleave that it asks for is that of the port's type.)
type PortStrides [4]int
