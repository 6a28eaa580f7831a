package compiler

import (
	"fmt"
	"html"
	"strings"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
)

// Picture draws the memory of a segment over its tasks, as SVG: a strip of tasks, on-chip memory, scratch, and a line for
// each port.
//
//	tasks     |A|A|P|A|P|            what runs each; a bar under two that run side by side, a hook where one is chained
//	on chip   +--- %a ---+           from the task that makes a value to the last that reads it, at its bytes
//	          +-----+-- %c --+
//	scratch   …
//	ports     %x ====                from the first task that touches it to the last
//
// A rectangle says in its title what it is. The same segment gives the same bytes.
func Picture(s *Segment) string {
	p := &picture{s: s, n: max(len(s.Plan.Layers), 1)}
	p.cell = min(max(1200/float64(p.n), 1.5), 48)
	p.tasks()
	if s.Plan.OnChip != nil {
		p.onChip()
	}
	p.scratch()
	p.ports()
	width := pictureLeft + p.cell*float64(p.n) + 20
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" font-size=\"11\">\n", max(width, 640), p.y+20)
	fmt.Fprintf(&b, "<title>memory of %s</title>\n", html.EscapeString(s.Name))
	b.WriteString("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n")
	b.WriteString(p.body.String())
	b.WriteString("</svg>\n")
	return b.String()
}

const (
	pictureLeft  = 110.0 // of the first task
	panelHeight  = 220.0
	portHeight   = 14.0
	pictureSpace = 26.0
)

// stateColors are those of the states, by their numbers.
var stateColors = [...]string{"#4c8bc9", "#c9c9c9", "#e6a23c", "#6db38f", "#3c6e9f", "#2f7d6b", "#9a6fc4", "#74479f", "#8f8f8f"}

// A picture is one in the making; y is how far down it has come.
type picture struct {
	s    *Segment
	n    int
	cell float64
	y    float64
	body strings.Builder
}

func (p *picture) x(task int) float64 { return pictureLeft + p.cell*float64(task) }

func (p *picture) label(y float64, format string, args ...any) {
	fmt.Fprintf(&p.body, "<text x=\"6\" y=\"%.1f\">%s</text>\n", y, html.EscapeString(fmt.Sprintf(format, args...)))
}

// rect draws from one task to another, both whole.
func (p *picture) rect(first, last int, y, height float64, fill, title, text string) {
	x, width := p.x(first), p.cell*float64(last-first+1)
	fmt.Fprintf(&p.body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"0.5\"><title>%s</title></rect>\n",
		x, y, width, height, fill, html.EscapeString(title))
	if text != "" && height >= 11 && width >= 6.5*float64(len(text)) {
		fmt.Fprintf(&p.body, "<text x=\"%.1f\" y=\"%.1f\" pointer-events=\"none\">%s</text>\n", x+3, y+min(height-2, 11), html.EscapeString(text))
	}
}

// tasks draws the strip of tasks, with what runs them, and the ends of partitions all the way down.
func (p *picture) tasks() {
	p.y = 20
	p.label(p.y, "%s, %d tasks", p.s.Name, len(p.s.Plan.Layers))
	p.y += 12
	oc := p.s.Plan.OnChip
	for i, l := range p.s.Plan.Layers {
		fill, title := "#dddddd", fmt.Sprintf("task %d: %v %%%s", i, l.Kind(), l.Top().Name)
		if oc != nil {
			t := oc.Tasks[i]
			switch {
			case t.AtLoad:
				fill, title = "#f2f2f2", title+", at load"
			case t.Unit.Engine == TextureEngine:
				fill = "#b8d8b8"
			case t.Unit.Engine == NoEngine:
			case t.Unit.Class == hal.Planar:
				fill = "#f0c8a8"
			default:
				fill = "#a8c4e8"
			}
			if !t.AtLoad {
				title += fmt.Sprintf(", %v, partition %d", t.Unit, t.Partition)
			}
			if t.Chained >= 0 {
				title += fmt.Sprintf(", chained to task %d", t.Chained)
			}
			if t.Partner >= 0 {
				title += fmt.Sprintf(", beside task %d", t.Partner)
			}
		}
		p.rect(i, i, p.y, 14, fill, title, fmt.Sprint(i))
	}
	p.y += 16
	if oc == nil {
		return
	}
	for i, t := range oc.Tasks {
		if t.Chained >= 0 {
			p.rect(t.Chained, i, p.y, 3, stateColors[Chained], fmt.Sprintf("task %d is chained to task %d", i, t.Chained), "")
		}
	}
	for i, pair := range oc.Pairs {
		p.rect(pair[0], pair[1], p.y+4+3*float64(i%3), 2.5, "#c05050", fmt.Sprintf("tasks %d and %d run side by side", pair[0], pair[1]), "")
	}
	p.y += 14
	for i, part := range oc.Partitions {
		title := fmt.Sprintf("partition %d, tasks %d to %d, pressure %d bytes", i, part.First, part.Last, part.Pressure)
		p.rect(part.First, part.Last, p.y, 12, [...]string{"#e8e8f4", "#d4d4e8"}[i%2], title, fmt.Sprintf("partition %d", i))
	}
	p.y += 12
}

// panel begins a panel of so many bytes and returns how to draw at an offset.
func (p *picture) panel(name string, bytes int64) (top, scale float64) {
	p.y += pictureSpace
	p.label(p.y-6, "%s", name)
	top, scale = p.y, panelHeight/float64(max(bytes, 1))
	fmt.Fprintf(&p.body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#f7f7f7\"/>\n", pictureLeft, top, p.cell*float64(p.n), panelHeight)
	p.y += panelHeight
	return top, scale
}

// onChip draws on-chip memory as far as it is used, and what the colours mean.
func (p *picture) onChip() {
	oc := p.s.Plan.OnChip
	used := oc.Used()
	top, scale := p.panel(fmt.Sprintf("on chip, %d of %d bytes", used, oc.Bytes), used)
	for i, t := range oc.Tasks {
		if t.Tiles > 0 {
			p.rect(i, i, top+scale*float64(t.TileOffset), scale*float64(t.Tiles), "#e4e4e4", fmt.Sprintf("task %d: tiles of what streams, chip+%d %d bytes", i, t.TileOffset, t.Tiles), "")
		}
	}
	for _, v := range oc.Values {
		if v.State.onChip() && v.Maker >= 0 {
			title := fmt.Sprintf("%%%s %v, %v, chip+%d %d bytes, tasks %d to %d", v.Value.Name, v.Value.Type, v.State, v.Offset, v.Bytes, v.Maker, v.last())
			p.rect(v.Maker, v.last(), top+scale*float64(v.Offset), scale*float64(v.Bytes), stateColors[v.State], title, "%"+v.Value.Name)
		}
	}
	p.y += 6
	x := pictureLeft
	for state, color := range stateColors {
		name := AllocationState(state).String()
		fmt.Fprintf(&p.body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\" fill=\"%s\"/><text x=\"%.1f\" y=\"%.1f\" font-size=\"9\">%d %s</text>\n",
			x, p.y, color, x+11, p.y+8, state, name)
		x += 26 + 4.6*float64(len(name))
	}
	p.y += 10
}

// scratch draws what lies between tasks in main memory. What stays on chip has a place there too, but pale.
func (p *picture) scratch() {
	states := map[*anec.Value]AllocationState{}
	if oc := p.s.Plan.OnChip; oc != nil {
		for _, v := range oc.Values {
			states[v.Value] = v.State
		}
	}
	top, scale := p.panel(fmt.Sprintf("scratch, %d bytes", p.s.Plan.Scratch), p.s.Plan.Scratch)
	last := lastReads(p.s)
	for i, l := range p.s.Plan.Layers {
		for _, v := range l.Tops {
			place := p.s.Plan.Places[v]
			if place.Region != InScratch {
				continue
			}
			bytes, _ := v.Type.Bytes()
			fill, note := "#7fa8d0", ""
			if state, ok := states[v]; ok && state.onChip() {
				fill, note = "#ececf2", fmt.Sprintf(", %v: on chip", state)
			} else if ok {
				fill, note = stateColors[state], fmt.Sprintf(", %v", state)
			}
			to := min(max(last[v], i), p.n-1)
			title := fmt.Sprintf("%%%s %v, %s %d bytes, tasks %d to %d%s", v.Name, v.Type, place.at(), bytes, i, to, note)
			p.rect(i, to, top+scale*float64(place.Offset), scale*float64(bytes), fill, title, "%"+v.Name)
		}
	}
}

// ports draws a line for each port.
func (p *picture) ports() {
	p.y += pictureSpace
	p.label(p.y-6, "ports")
	first, last := map[int]int{}, map[int]int{}
	for i, l := range p.s.Plan.Layers {
		for _, v := range append(l.Reads(), l.Tops...) {
			if place, ok := p.s.Plan.Places[v]; ok && place.Region == InPort {
				if _, seen := first[place.Port]; !seen {
					first[place.Port] = i
				}
				last[place.Port] = i
			}
		}
	}
	for i, port := range p.s.Plan.Ports {
		fill := "#9cc29c"
		if port.Out {
			fill = "#d09c9c"
		}
		if port.In && port.Out {
			fill = "#c4b48c"
		}
		p.label(p.y+10, "%s", port.Name)
		if from, ok := first[i]; ok {
			bytes, _ := port.Value.Type.Bytes()
			p.rect(from, last[i], p.y, portHeight-3, fill, fmt.Sprintf("port %d %s %v, %d bytes, tasks %d to %d", i, port.Name, port.Value.Type, bytes, from, last[i]), "")
		}
		p.y += portHeight
	}
}
