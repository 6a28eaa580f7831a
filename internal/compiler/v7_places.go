package compiler

import (
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Where the memory plan has values, in the words of registers.

// surface is where a value lies, as the registers have it; false if they cannot say it.
func (p *Plan) surface(m units.Machine, v *anec.Value) (*units.Surface, bool) {
	place, ok := p.Places[v]
	if !ok {
		return nil, false
	}
	s, ok := surfaceAt(m, place.Offset, place.Strides, v.Type)
	if !ok {
		return nil, false
	}
	switch place.Region {
	case InScratch:
		s.Base = hwx.BaseScratch
	case InPort:
		s.Base = hwx.BasePorts + place.Port
		if port := &p.Ports[place.Port]; port.In && port.Out {
			return nil, false // no record has a state
		}
	default:
		return nil, false
	}
	return s, true
}

// surfaceAt is a tensor at an offset, with strides, in some memory; false if the registers cannot say it.
func surfaceAt(m units.Machine, offset int64, strides [anec.NumAxes]int64, t anec.Type) (*units.Surface, bool) {
	s, ok := denseSurface(m, t)
	d := t.Dims
	if !ok || offset%int64(m.RowAlign) != 0 || offset >= 1<<31 || d[anec.W] > 1 && strides[anec.W] != int64(t.DType.Size()) {
		return nil, false
	}
	s.Offset = int(offset)
	// Along an axis of one element a stride leads nowhere; it is as a dense tensor would have it.
	next := int64(s.Row)
	for _, axis := range []struct {
		axis   td.Axis
		stride *int
	}{{anec.H, &s.Row}, {anec.C, &s.Plane}, {anec.N, &s.Group}} {
		stride := next
		if d[axis.axis] > 1 {
			stride = strides[axis.axis]
		}
		if stride <= 0 || stride%int64(m.RowAlign) != 0 || stride >= 1<<31 {
			return nil, false
		}
		*axis.stride = int(stride)
		next = stride * int64(d[axis.axis])
		if axis.axis == anec.C {
			s.Depth = int(next)
		}
	}
	return s, true
}

// meet reports whether the bytes of two values may overlap.
func (p *Plan) meet(x, y *anec.Value) bool {
	a, b := p.Places[x], p.Places[y]
	return a.Region == b.Region && a.Port == b.Port && a.Offset < b.end(y.Type) && b.Offset < a.end(x.Type)
}

// inPlace reports whether two values lie the same way, element over element.
func (p *Plan) inPlace(x, y *anec.Value) bool {
	a, b := p.Places[x], p.Places[y]
	for axis, n := range x.Type.Dims {
		if n == 1 {
			a.Strides[axis], b.Strides[axis] = 0, 0 // it leads nowhere
		}
	}
	return a == b && x.Type.Dims == y.Type.Dims && x.Type.DType == y.Type.DType
}

// end is the byte after the last of a value that lies there.
func (p Place) end(t anec.Type) int64 {
	last := p.Offset + int64(max(t.DType.Size(), 1))
	for a, n := range t.Dims {
		last += int64(max(n-1, 0)) * p.Strides[a]
	}
	return last
}

// layout is the place, as far as it is one that counts from a base.
func (p Place) layout(base int) v7layout {
	at := v7layout{v7spot: v7spot{base, int(p.Offset)}}
	for a, stride := range p.Strides {
		at.strides[a] = int(stride)
	}
	return at
}
