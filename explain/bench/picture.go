package bench

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// The picture of the roofline, as SVG. Both axes are logarithmic:
//
//	GFLOP/s │   L2 ╱   ╱ memory
//	        │    ╱   ╱──────────── peak
//	        │  ╱ o ╱    ●
//	        └───────────────────── FLOP/byte
//
// A task is a circle, as large as its share of the time. The dearest have labels, where there is room.

// The size of the picture and of its margins, in pixels; and of the letters of a label.
const (
	pictureWidth, pictureHeight = 960.0, 560.0
	marginLeft, marginRight     = 58.0, 20.0
	marginTop, marginBottom     = 18.0, 46.0
	letterWidth, lineHeight     = 6.3, 13.0
	labelled                    = 12 // tasks at most
)

// A plot has what stands at which place.
type plot struct {
	roof           *Roofline
	x0, x1, y0, y1 float64 // powers of ten
	taken          []box   // where no label may be
	b              strings.Builder
}

type box struct{ left, top, right, bottom float64 }

func (a box) meets(b box) bool {
	return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
}

func intensity(t *Task) float64 { return t.FLOPs / t.Bytes }

// drawn reports whether a task has a place: one that computes nothing has none, nor one that was too short to be measured.
func drawn(t *Task) bool { return t.FLOPs > 0 && t.Bytes > 0 && t.GFLOPS > 0 }

// picture draws the tasks, which are numbered from 1 on in their order, under the roofline.
func picture(r *Roofline, tasks []Task) template.HTML {
	p := &plot{roof: r}
	p.x0, p.x1 = math.Log10(r.GFLOPS/r.MemoryGBPS)-1, math.Log10(r.GFLOPS/r.MemoryGBPS)+1
	p.y0, p.y1 = math.Log10(r.GFLOPS)-2, math.Log10(r.GFLOPS)
	for i := range tasks {
		if t := &tasks[i]; drawn(t) {
			x, y := math.Log10(intensity(t)), math.Log10(t.GFLOPS)
			p.x0, p.x1, p.y0, p.y1 = min(p.x0, x), max(p.x1, x), min(p.y0, y), max(p.y1, y)
		}
	}
	p.x0, p.x1, p.y0, p.y1 = math.Floor(p.x0), math.Ceil(p.x1), math.Floor(p.y0), math.Ceil(p.y1+0.1)
	fmt.Fprintf(&p.b, `<svg class="roofline" viewBox="0 0 %g %g" role="img" aria-label="Tasks under the roofline of the machine">`, pictureWidth, pictureHeight)
	p.grid()
	p.roofs()
	p.points(tasks)
	p.b.WriteString("</svg>")
	return template.HTML(p.b.String()) // all texts in it are escaped
}

func (p *plot) x(v float64) float64 {
	return marginLeft + (math.Log10(v)-p.x0)/(p.x1-p.x0)*(pictureWidth-marginLeft-marginRight)
}

func (p *plot) y(v float64) float64 {
	return pictureHeight - marginBottom - (math.Log10(v)-p.y0)/(p.y1-p.y0)*(pictureHeight-marginTop-marginBottom)
}

func (p *plot) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&p.b, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (p *plot) text(class string, x, y float64, more, text string) {
	fmt.Fprintf(&p.b, `<text class="%s" x="%.1f" y="%.1f"%s>%s</text>`, class, x, y, more, template.HTMLEscapeString(text))
}

// grid draws the axes with a line for each power of ten.
func (p *plot) grid() {
	bottom, right := pictureHeight-marginBottom, pictureWidth-marginRight
	for e := p.x0; e <= p.x1; e++ {
		x := p.x(math.Pow(10, e))
		p.line("grid", x, marginTop, x, bottom)
		p.text("tick", x, bottom+16, ` text-anchor="middle"`, power(e))
	}
	for e := p.y0; e <= p.y1; e++ {
		y := p.y(math.Pow(10, e))
		p.line("grid", marginLeft, y, right, y)
		p.text("tick", marginLeft-8, y+4, ` text-anchor="end"`, power(e))
	}
	p.text("axis", (marginLeft+right)/2, pictureHeight-8, ` text-anchor="middle"`, "operations for each byte, FLOP/byte")
	middle := (marginTop + bottom) / 2
	p.text("axis", 14, middle, fmt.Sprintf(` text-anchor="middle" transform="rotate(-90 14 %.1f)"`, middle), "GFLOP/s")
}

func power(e float64) string { return fmt.Sprintf("%g", math.Pow(10, e)) }

// roofLine draws a line that labels stay off.
func (p *plot) roofLine(class string, x1, y1, x2, y2 float64) {
	p.line(class, x1, y1, x2, y2)
	const apart = 6
	n := math.Ceil(math.Hypot(x2-x1, y2-y1) / apart)
	for i := 0.0; i <= n; i++ {
		x, y := x1+(x2-x1)*i/n, y1+(y2-y1)*i/n
		p.taken = append(p.taken, box{x - apart/2, y - apart/2, x + apart/2, y + apart/2})
	}
}

// roofs draws what the machine can do, each with its name.
func (p *plot) roofs() {
	r := p.roof
	left := math.Pow(10, p.x0)
	for _, s := range []struct {
		class, name string
		gbps        float64
	}{{"roof soft", "second cache", r.L2GBPS}, {"roof", "memory", r.MemoryGBPS}} {
		if s.gbps <= 0 {
			continue
		}
		// From the lower left, where the line comes into the picture, to the ridge.
		from, to := max(left, math.Pow(10, p.y0)/s.gbps), r.GFLOPS/s.gbps
		if from >= to {
			continue
		}
		x1, y1, x2, y2 := p.x(from), p.y(from*s.gbps), p.x(to), p.y(r.GFLOPS)
		p.roofLine(s.class, x1, y1, x2, y2)
		name := fmt.Sprintf("%s %s GB/s", s.name, rate(s.gbps))
		angle := math.Atan2(y2-y1, x2-x1) * 180 / math.Pi
		x, y := x1+(x2-x1)*0.3, y1+(y2-y1)*0.3
		p.text("roofname", x, y-6, fmt.Sprintf(` transform="rotate(%.1f %.1f %.1f)"`, angle, x, y), name)
	}
	ridge := r.GFLOPS / max(r.MemoryGBPS, r.L2GBPS)
	x, y := p.x(max(ridge, left)), p.y(r.GFLOPS)
	p.roofLine("roof", x, y, pictureWidth-marginRight, y)
	name := fmt.Sprintf("%s GFLOP/s, %s", rate(r.GFLOPS), r.By)
	p.text("roofname", pictureWidth-marginRight-4, y-6, ` text-anchor="end"`, name)
	width := letterWidth * float64(utf8.RuneCountInString(name))
	p.taken = append(p.taken, box{pictureWidth - marginRight - width, y - 20, pictureWidth - marginRight, y})
}

// points draws the tasks, small ones over large ones, and then the labels of the dearest.
func (p *plot) points(tasks []Task) {
	type point struct {
		*Task
		number  int
		x, y, r float64
	}
	var points []point
	for i := range tasks {
		if t := &tasks[i]; drawn(t) {
			points = append(points, point{t, i + 1, p.x(intensity(t)), p.y(t.GFLOPS), 3 + 26*math.Sqrt(min(t.Share, 1))})
		}
	}
	bySize := slices.Clone(points)
	slices.SortStableFunc(bySize, func(a, b point) int { return cmp.Compare(b.r, a.r) })
	for _, q := range bySize {
		title := fmt.Sprintf("%d. %s, %s of the time: %s GFLOP/s, %s GB/s, %s of its roof", q.number, q.name(), percent(q.Share), rate(q.GFLOPS), rate(q.GBPS), percent(q.OfRoof))
		fmt.Fprintf(&p.b, `<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`, q.Bound, q.x, q.y, q.r, template.HTMLEscapeString(title))
	}
	for _, q := range points {
		core := min(q.r, 5) // a label may stand on the rim of another circle, not on its middle
		p.taken = append(p.taken, box{q.x - core, q.y - core, q.x + core, q.y + core})
	}
	for _, q := range points[:min(labelled, len(points))] {
		p.label(q.x, q.y, q.r, fmt.Sprintf("%d %s", q.number, q.What))
	}
}

// label writes a text beside a circle, at the first place around it where nothing else is; nowhere if there is none. One that is
// further away has a line to its circle.
func (p *plot) label(x, y, r float64, text string) {
	width := letterWidth * float64(utf8.RuneCountInString(text))
	for _, far := range []float64{3, 16, 32, 52, 76} {
		for _, at := range []struct{ dx, dy float64 }{{1, 0}, {-1, 0}, {0.8, -0.8}, {0.8, 0.8}, {-0.8, -0.8}, {-0.8, 0.8}, {0, -1}, {0, 1}} {
			cx, cy := x+at.dx*(r+far), y+at.dy*(r+far)
			b := box{cx, cy - lineHeight/2, cx + width, cy + lineHeight/2}
			switch {
			case at.dx < 0:
				b.left, b.right = cx-width, cx
			case at.dx == 0:
				b.left, b.right = cx-width/2, cx+width/2
			}
			if b.left < marginLeft+2 || b.right > pictureWidth-marginRight || b.top < marginTop || b.bottom > pictureHeight-marginBottom ||
				slices.ContainsFunc(p.taken, b.meets) {
				continue
			}
			p.taken = append(p.taken, b)
			if far > 3 {
				length := math.Hypot(at.dx, at.dy)
				p.line("leader", x+at.dx/length*r, y+at.dy/length*r, cx, cy)
			}
			switch { // letters are not all as wide as was thought: the side at the circle is the one that counts
			case at.dx < 0:
				p.text("label", b.right, b.bottom-3, ` text-anchor="end"`, text)
			case at.dx == 0:
				p.text("label", cx, b.bottom-3, ` text-anchor="middle"`, text)
			default:
				p.text("label", b.left, b.bottom-3, "", text)
			}
			return
		}
	}
}
