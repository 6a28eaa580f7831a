package anec

// PlaneReader takes an image that enters the network by its planes. (Known is
// the class alone: what it reads and makes is inferred.)
type PlaneReader struct{}

// PlaneWriter leaves an image by its planes.
type PlaneWriter struct{}

var planeContract = contract("y", "x")

func (*PlaneReader) Kind() Kind                        { return KindPlaneReader }
func (*PlaneReader) Contract() Contract                { return planeContract }
func (*PlaneReader) infer(o *operands) ([]Type, error) { return like(o) }

func (*PlaneWriter) Kind() Kind                        { return KindPlaneWriter }
func (*PlaneWriter) Contract() Contract                { return planeContract }
func (*PlaneWriter) infer(o *operands) ([]Type, error) { return like(o) }
