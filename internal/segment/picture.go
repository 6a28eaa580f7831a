package segment

import (
	"fmt"
	"html"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
)

// Picture draws the memory of a segment over its tasks, as SVG: a strip of tasks, on-chip memory and scratch if tasks use them, and
// a line for each port. It shows what the tasks do, and nothing else.
//
//	tasks     |0|1|2|3|4|            what runs each
//	on chip   +--- 0 ---+            from the task that leaves a result there to the last that reads it, at its bytes
//	          +-----+-- 2 --+
//	scratch   …
//	ports     %x ====                from the first task that touches it to the last
//
// A rectangle says in its title what it is. The same segment gives the same bytes.
func Picture(s *Segment) string {
	p := &picture{s: s, list: BoundTasks(s)}
	p.n = max(len(p.list), 1)
	p.cell = min(max(1200/float64(p.n), 1.5), 48)
	p.tasks()
	p.onChip()
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

// A picture is one in the making; y is how far down it has come.
type picture struct {
	s    *Segment
	list []Task
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

// tasks draws the strip of tasks, with what runs them.
func (p *picture) tasks() {
	p.y = 20
	p.label(p.y, "%s, %d tasks", p.s.Name, len(p.list))
	p.y += 12
	derived := DerivedLayers(p.s.Order)
	for i, t := range p.list {
		fill, title := "#dddddd", fmt.Sprintf("task %d: %v %%%s", i, t.Layer.Kind(), t.Layer.Top().Name)
		switch {
		case derived[t.Layer]:
			fill, title = "#f2f2f2", title+", at load"
		case t.Unit == nil:
		case t.Unit.Planar:
			fill, title = "#f0c8a8", title+", planar engine"
		default:
			fill, title = "#a8c4e8", title+", array"
		}
		p.rect(i, i, p.y, 14, fill, title, fmt.Sprint(i))
	}
	p.y += 16
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

// onChip draws on-chip memory as far as it is used: what passes while a task runs, pale, and what stays for others.
func (p *picture) onChip() {
	used, kept := useOnChip(p.s, p.list)
	if used == 0 {
		return
	}
	top, scale := p.panel(fmt.Sprintf("on chip, %d of %d bytes", used, p.s.Target.Sizes.OnChip), used)
	rect := func(first, last int, lo, hi int, fill, title, text string) {
		p.rect(first, last, top+scale*float64(lo), scale*float64(hi-lo), fill, fmt.Sprintf("%s, chip+%d %d bytes", title, lo, hi-lo), text)
	}
	for i, t := range p.list {
		if t.Unit == nil {
			continue
		}
		for _, s := range t.Unit.Sources() {
			if s.Memory != nil {
				rect(i, i, s.Chip.Base, s.Chip.End(t.Unit.In.H), "#e4e4e4", fmt.Sprintf("task %d: rows of a source pass", i), "")
			}
		}
	}
	for _, k := range kept {
		rect(k.first, k.last, k.lo, k.hi, "#e6a23c", fmt.Sprintf("result of task %d, to task %d", k.first, k.last), fmt.Sprint(k.first))
	}
}

// scratch draws what lies between tasks in main memory, from the task that makes it to the last that reads it.
func (p *picture) scratch() {
	list := operandsOf(p.s)
	bytes, touched := p.s.ScratchBytes(), touchedBytes(list)[InScratch]
	if touched == 0 {
		return
	}
	top, scale := p.panel(fmt.Sprintf("scratch, %d of %d bytes touched", touched, bytes), bytes)
	for i, operands := range list {
		for _, o := range operands {
			if !o.made || o.at.Region != InScratch {
				continue
			}
			set := bytesOf(&o.Operand)
			lo, size, to := set.lo+o.at.Offset-o.Offset, set.hi()-set.lo, max(o.last, i)
			title := fmt.Sprintf("%s %v, scratch+%d %d bytes, tasks %d to %d", o.name, anec.Type{DType: o.Type, Dims: o.Dims, Interleave: 1}, lo, size, i, to)
			p.rect(i, to, top+scale*float64(lo), scale*float64(size), "#7fa8d0", title, o.name)
		}
	}
}

// ports draws a line for each port.
func (p *picture) ports() {
	p.y += pictureSpace
	p.label(p.y-6, "ports")
	first, last := map[int]int{}, map[int]int{}
	touch := func(i, base int) {
		if r, port := p.s.RegionOf(base); r == InPort {
			if _, seen := first[port]; !seen {
				first[port] = i
			}
			last[port] = i
		}
	}
	for i, t := range p.list {
		if t.Unit != nil {
			t.Unit.Bind(func(base, offset int) (int, int) {
				touch(i, base)
				return base, offset
			})
			continue
		}
		for k := range t.Op.Operands {
			if o := &t.Op.Operands[k]; o.Present() {
				touch(i, o.Base)
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
			_, bytes := PortLayout(port.Value.Type, p.s.Target)
			p.rect(from, last[i], p.y, portHeight-3, fill, fmt.Sprintf("port %d %s %v, %d bytes, tasks %d to %d", i, port.Name, port.Value.Type, bytes, from, last[i]), "")
		}
		p.y += portHeight
	}
}

// A keptResult is a result that stays on chip: from the task that makes it to the last that reads it, and its bytes.
type keptResult struct{ first, last, lo, hi int }

// OnChipUse is how much of on-chip memory the tasks use, and how many results stay there for another task.
func OnChipUse(s *Segment) (used int64, kept int) {
	used, list := useOnChip(s, s.Tasks)
	return used, len(list)
}

func useOnChip(s *Segment, tasks []Task) (used int64, kept []keptResult) {
	m := MachineOf(s)
	for i, t := range tasks {
		if t.Unit == nil {
			continue
		}
		used = max(used, int64(min(m.ChipEnd(t.Unit), m.OnChip)))
		for _, src := range t.Unit.Sources() {
			if src.Memory != nil && !src.Memory.Backing {
				continue
			}
			lo, hi := src.Chip.Base, src.Chip.End(t.Unit.In.H)
			for k := len(kept) - 1; k >= 0; k-- { // the latest that lies there
				if kept[k].lo < hi && lo < kept[k].hi {
					kept[k].last = i
					break
				}
			}
		}
		if r := t.Unit.Result; r == nil || r.Backing {
			kept = append(kept, keptResult{i, i, t.Unit.Chip.Base, t.Unit.Chip.End(t.Unit.Out.H)})
		}
	}
	return used, kept
}
