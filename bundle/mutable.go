package bundle

import (
	"math"

	"github.com/espalier-ane/espalier/tensor"
)

// A MutableWeight is a constant of the model that may be given other elements
// without compiling anew. Its elements lie in the containers of engine segments,
// perhaps in several places, and in what host segments read.
type MutableWeight struct {
	Name  string       `json:"name"` // of the constant in the model
	Type  string       `json:"type"` // element type in MIL's spelling
	Shape []int        `json:"shape"`
	Parts []WeightPart `json:"parts,omitempty"`
	Hosts []int        `json:"hosts,omitempty"` // the host segments that read it, by their numbers
}

// A WeightPart is where elements of a weight lie in a container: a nest of loops,
// from the outermost on. Element First + Σ iᵢ·Elementsᵢ is at byte At + Σ iᵢ·Bytesᵢ
// of the section.
type WeightPart struct {
	Segment int          `json:"segment"`        // its number in the function
	Section string       `json:"section"`        // "__TEXT,__const"
	Type    string       `json:"type,omitempty"` // as which elements lie there, if not as Type of the weight
	At      int64        `json:"at"`
	First   int64        `json:"first,omitempty"`
	Loops   []WeightLoop `json:"loops,omitempty"`
}

// A WeightLoop is Count steps of so many bytes and elements: in JSON, a list of
// the three.
type WeightLoop [3]int64

// Count, Bytes and Elements are the three numbers of a loop.
func (l WeightLoop) Count() int64    { return l[0] }
func (l WeightLoop) Bytes() int64    { return l[1] }
func (l WeightLoop) Elements() int64 { return l[2] }

// Extent is the first byte of the section that the part has, and the one after
// the last, if elements have so many bytes.
func (p *WeightPart) Extent(width int) (lo, hi int64) {
	lo, hi = p.At, p.At+int64(width)
	for _, l := range p.Loops {
		reach := (l.Count() - 1) * l.Bytes()
		lo, hi = lo+min(reach, 0), hi+max(reach, 0)
	}
	return lo, hi
}

// elements is the first element that the part takes, and the one after the last.
func (p *WeightPart) elements() (lo, hi int64) {
	lo, hi = p.First, p.First+1
	for _, l := range p.Loops {
		reach := (l.Count() - 1) * l.Elements()
		lo, hi = lo+min(reach, 0), hi+max(reach, 0)
	}
	return lo, hi
}

// DType is the element type, as which the part has the elements of a weight.
func (p *WeightPart) DType(w *MutableWeight) (tensor.DType, error) {
	if p.Type != "" {
		return tensor.ParseDType(p.Type)
	}
	return tensor.ParseDType(w.Type)
}

// maxLoop bounds the numbers of a loop, so that sums of products of two stay in
// range.
const maxLoop = math.MaxInt32

// checkMutable checks what the manifest says of the mutable weights of a function.
func (f *Function) checkMutable(field string, files map[string]File) error {
	names := map[string]bool{}
	for i := range f.Mutable {
		w := &f.Mutable[i]
		field := at(field, i)
		if err := unique(names, field+".name", w.Name); err != nil {
			return err
		}
		if _, err := tensor.ParseDType(w.Type); err != nil {
			return wrong(field+".type", "%v", err)
		}
		count, ok := tensor.ShapeOf(w.Shape...).Count()
		if !ok {
			return wrong(field+".shape", "%v has no size", w.Shape)
		}
		for j := range w.Parts {
			if err := f.checkPart(at(field+".parts", j), w, &w.Parts[j], int64(count), files); err != nil {
				return err
			}
		}
		for _, s := range w.Hosts {
			if s < 0 || s >= len(f.Segments) || f.Segments[s].Backend != Host {
				return wrong(field+".hosts", "segment %d is none of the host", s)
			}
		}
	}
	return nil
}

func (f *Function) checkPart(field string, w *MutableWeight, p *WeightPart, count int64, files map[string]File) error {
	if p.Segment < 0 || p.Segment >= len(f.Segments) || f.Segments[p.Segment].Backend != Engine {
		return wrong(field+".segment", "segment %d is none of the engine", p.Segment)
	}
	d, err := p.DType(w)
	if err != nil || d.Size() == 0 {
		return wrong(field+".type", "elements of %q have no bytes of their own", p.Type)
	}
	// Each step of the loops is for bytes of the container, so that there are not more.
	size := files[f.Segments[p.Segment].Container].Size
	steps := int64(1)
	for _, l := range p.Loops {
		if l.Count() < 1 || l.Count() > size/steps || max(l.Bytes(), -l.Bytes(), l.Elements(), -l.Elements()) > maxLoop {
			return wrong(field+".loops", "%v, in a container of %d bytes", p.Loops, size)
		}
		steps *= l.Count()
	}
	if p.At < 0 || p.At > size || p.First < 0 || p.First > count {
		return wrong(field, "element %d at byte %d: there are %d, and %d bytes", p.First, p.At, count, size)
	}
	if lo, hi := p.Extent(d.Size()); lo < 0 || hi > size {
		return wrong(field, "bytes %d to %d of a container of %d", lo, hi, size)
	}
	if lo, hi := p.elements(); lo < 0 || hi > count {
		return wrong(field, "elements %d to %d of %d", lo, hi, count)
	}
	return nil
}
