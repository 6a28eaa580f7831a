package td

import "fmt"

// Classes of vectors, points and pictures that are matched.
var (
	crossProductRow     = newClassRow(ClassCrossProduct, func() Params { return new(CrossProduct) }, "y", "x z", 2)
	crossCorrelationRow = newClassRow(ClassCrossCorrelation, func() Params { return new(CrossCorrelation) }, "y", "x template", 2,
		"TemplateH", "TemplateW", "PadBeforeH", "PadBeforeW", "PadAfterH", "PadAfterW", "Groups")
	costVolumeRow    = newClassRow(ClassCostVolume, func() Params { return new(CostVolume) }, "y", "aux ref", 2, "Direction", "Range")
	furthestPointRow = newClassRow(ClassFurthestPointSampling, func() Params { return new(FurthestPointSampling) }, "y", "points", 1, "Count", "Metric")
	radiusSearchRow  = newClassRow(ClassRadiusSearch, func() Params { return new(RadiusSearch) }, "y", "centroids points", 2, "Radius~")

	geometryRows = []*classRow{crossProductRow, crossCorrelationRow, costVolumeRow, furthestPointRow, radiusSearchRow}
)

// CrossProduct is the cross product of x and z, vectors of three channels.
type CrossProduct struct{}

func (p *CrossProduct) row() *classRow { return crossProductRow }
func (p *CrossProduct) values() []any  { return nil }

func (p *CrossProduct) check(o *Op) error {
	if c := o.Operands[0].Dims[AxisC]; c != 3 {
		return fmt.Errorf("y has %d channels, want 3", c)
	}
	if err := o.sameDims(1); err != nil {
		return err
	}
	return o.sameDims(2)
}

// CrossCorrelation multiplies windows of x with a template, which is not flipped:
// a convolution whose weights lie flat along W, in the order output channel,
// input channel of a group, row, column.
type CrossCorrelation struct {
	Template, PadBefore, PadAfter [2]int // along H and W
	Groups                        int
}

func (p *CrossCorrelation) row() *classRow { return crossCorrelationRow }

func (p *CrossCorrelation) values() []any {
	return []any{
		&p.Template[0], &p.Template[1], &p.PadBefore[0], &p.PadBefore[1], &p.PadAfter[0], &p.PadAfter[1], &p.Groups,
	}
}

func (p *CrossCorrelation) check(o *Op) error {
	y, x, template := &o.Operands[0], &o.Operands[1], &o.Operands[2]
	if y.Dims[AxisN] != x.Dims[AxisN] {
		return fmt.Errorf("y has %d along N, x has %d", y.Dims[AxisN], x.Dims[AxisN])
	}
	if p.Groups < 1 || x.Dims[AxisC]%p.Groups != 0 || y.Dims[AxisC]%p.Groups != 0 {
		return fmt.Errorf("%d channels to %d in %d groups", x.Dims[AxisC], y.Dims[AxisC], p.Groups)
	}
	w := UnitWindow
	for i := range p.Template {
		w.Kernel[i+1], w.PadBefore[i+1], w.PadAfter[i+1] = p.Template[i], p.PadBefore[i], p.PadAfter[i]
	}
	numbers := int64(1)
	for _, n := range [...]int{y.Dims[AxisC], x.Dims[AxisC] / p.Groups, p.Template[0], p.Template[1]} {
		product, ok := mul64(numbers, int64(n))
		if !ok || product > maxDim {
			return fmt.Errorf("a template of %d channels to %d, %d by %d", x.Dims[AxisC]/p.Groups, y.Dims[AxisC], p.Template[0], p.Template[1])
		}
		numbers = product
	}
	if want := [NumAxes]int{1, 1, 1, 1, int(numbers)}; template.Dims != want {
		return fmt.Errorf("template has extents %v, want %v", template.Dims, want)
	}
	return w.check(x, y)
}

// CostVolume is the cost of matching two pictures of one channel at each
// disparity: y has, at channel d from 0 to Range, |aux[w] - ref[w+d]|.
type CostVolume struct {
	Direction int // 0 is along W; others are not known
	Range     int
}

func (p *CostVolume) row() *classRow { return costVolumeRow }
func (p *CostVolume) values() []any  { return []any{&p.Direction, &p.Range} }

func (p *CostVolume) check(o *Op) error {
	y, aux, ref := &o.Operands[0], &o.Operands[1], &o.Operands[2]
	wantAux, wantRef := y.Dims, y.Dims
	wantAux[AxisC], wantRef[AxisC], wantRef[AxisW] = 1, 1, ref.Dims[AxisW]
	switch {
	case p.Direction != 0:
		return fmt.Errorf("disparity direction %d is not known", p.Direction)
	case int64(y.Dims[AxisC]) != int64(p.Range)+1:
		return fmt.Errorf("y has %d channels, want the range %d and 1", y.Dims[AxisC], p.Range)
	case aux.Dims != wantAux:
		return fmt.Errorf("aux has extents %v, want %v", aux.Dims, wantAux)
	case ref.Dims != wantRef:
		return fmt.Errorf("ref has extents %v, want %v", ref.Dims, wantRef)
	case int64(ref.Dims[AxisW]) < int64(aux.Dims[AxisW])+int64(p.Range):
		return fmt.Errorf("ref has %d along W, want %d and the range %d or more", ref.Dims[AxisW], aux.Dims[AxisW], p.Range)
	}
	return nil
}

// DistanceMetric is how far two points are apart. Apple's numbers are not known.
type DistanceMetric uint8

// The metrics.
const (
	DistanceL1 DistanceMetric = ourKinds + 0
	DistanceL2 DistanceMetric = ourKinds + 1
)

var distanceMetricNames = map[DistanceMetric]string{DistanceL1: "L1", DistanceL2: "L2"}

func (m DistanceMetric) String() string { return nameOf(distanceMetricNames, m, "metric") }

// Valid reports whether m has a name.
func (m DistanceMetric) Valid() bool { return distanceMetricNames[m] != "" }

// FurthestPointSampling takes Count of the points, the first one first and then
// always the one furthest from all that are taken, of equals the first. Points
// lie along W with three channels. A coordinate that is NaN makes a point that is
// never the furthest.
type FurthestPointSampling struct {
	Count  int
	Metric DistanceMetric
}

func (p *FurthestPointSampling) row() *classRow { return furthestPointRow }
func (p *FurthestPointSampling) values() []any  { return []any{&p.Count, &p.Metric} }

func (p *FurthestPointSampling) check(o *Op) error {
	y, points := &o.Operands[0], &o.Operands[1]
	if !p.Metric.Valid() {
		return fmt.Errorf("%v is not known", p.Metric)
	}
	if err := o.points(1); err != nil {
		return err
	}
	if n := points.Dims[AxisW]; p.Count < 1 || p.Count > n {
		return fmt.Errorf("%d of %d points", p.Count, n)
	}
	want := points.Dims
	want[AxisW] = p.Count
	if y.Dims != want {
		return fmt.Errorf("y has extents %v, want %v", y.Dims, want)
	}
	return nil
}

// points holds an operand to points along W.
func (o *Op) points(i int) error {
	d := o.Operands[i].Dims
	if want := [NumAxes]int{d[AxisN], 1, 3, 1, d[AxisW]}; d != want {
		return fmt.Errorf("%s has extents %v, want %v", o.name(i), d, want)
	}
	return nil
}

// RadiusSearch says which points lie within a radius of which centroids: y has a
// row (H) for each point, a column (W) for each centroid, and 1 where the point
// lies no further off, else 0.
type RadiusSearch struct {
	Radius float32
}

func (p *RadiusSearch) row() *classRow { return radiusSearchRow }
func (p *RadiusSearch) values() []any  { return []any{&p.Radius} }

func (p *RadiusSearch) check(o *Op) error {
	if !(p.Radius > 0) {
		return fmt.Errorf("radius %g", p.Radius)
	}
	for _, i := range [...]int{1, 2} {
		if err := o.points(i); err != nil {
			return err
		}
	}
	y, centroids, points := &o.Operands[0].Dims, &o.Operands[1].Dims, &o.Operands[2].Dims
	if want := [NumAxes]int{centroids[AxisN], 1, 1, points[AxisW], centroids[AxisW]}; *y != want || points[AxisN] != centroids[AxisN] {
		return fmt.Errorf("y has extents %v, want %v; points have %d along N", *y, want, points[AxisN])
	}
	return nil
}
