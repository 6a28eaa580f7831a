package espalier_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	v7 "github.com/espalier-ane/espalier/internal/engine/v7"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What the words of a container's tasks do to memory, byte by byte. Nothing here is of the compiler: tasks are read as the engine
// reads them, and every byte of scratch memory remembers who wrote it.

// A decodedTask is a task as the engine reads its words: the one or the other.
type decodedTask struct {
	unit     *units.Op
	op       *td.Op
	accesses []access
}

// An access is an operand of a task in memory, in the order in which they are printed.
type access struct {
	entry  int // of the base-address table
	made   bool
	kernel bool // one stream of it
	runs   [][2]int64
}

func decodeTasks(t *testing.T, file *hwx.File) (list []decodedTask) {
	t.Helper()
	tasks, err := file.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	decoder := v7.New()
	for i, task := range tasks {
		d := decodedTask{}
		if d.unit, d.op, err = decoder.Decode(task.Task); err != nil {
			t.Fatalf("task %d: %v", i, err)
		}
		if d.op != nil {
			for k, o := range d.op.Operands {
				if k >= d.op.Results() && o.Present() {
					d.accesses = append(d.accesses, access{entry: o.Base, runs: runsOf(&o)})
				}
			}
			for _, o := range d.op.Operands[:d.op.Results()] {
				if o.Present() {
					d.accesses = append(d.accesses, access{entry: o.Base, made: true, runs: runsOf(&o)})
				}
			}
		} else {
			d.accesses = unitAccesses(d.unit)
		}
		list = append(list, d)
	}
	return list
}

func unitAccesses(u *units.Op) (list []access) {
	add := func(s *units.Surface, size units.Size, broadcast uint32, exchange, made bool) {
		for bit, n := range []*int{&size.W, &size.H, &size.D, &size.C} {
			if broadcast>>bit&1 != 0 {
				*n = 1
			}
		}
		if exchange {
			size.C, size.W = size.W, size.C
		}
		o := td.Operand{
			Offset: int64(s.Offset), Type: tensor.Float16, Interleave: uint8(max(s.Interleave, 1)), Dims: [5]int{u.Groups, size.D, size.C, size.H, size.W},
			Strides: [5]int64{int64(s.Group), int64(s.Depth), int64(s.Plane), int64(s.Row), 2 * int64(max(s.Interleave, 1))},
		}
		if s.Element == units.Byte {
			o.Type = tensor.UInt8
			o.Strides[4] /= 2
		}
		list = append(list, access{entry: s.Base, made: made, runs: runsOf(&o)})
	}
	for i, s := range u.Sources() {
		size, broadcast, exchange := u.In, u.Broadcast1, u.Transpose1
		if i == 1 {
			broadcast, exchange = u.Broadcast2, u.Transpose2
			if u.Kind == td.TypePlanarGain {
				size = units.Size{W: 1, H: 2, D: 1, C: u.In.C} // offsets, and gains below them
			}
		}
		if s.Memory != nil && !s.Memory.Backing {
			add(s.Memory, size, broadcast, exchange, false)
		}
	}
	if k := u.Kernel; k != nil {
		for i, n := range k.Sizes {
			if k.Runtime { // streams end on whole 64 bytes, and there is nothing behind the weights
				n = min(n, 2*u.Inputs()*u.Window.KW*u.Window.KH<<u.LanesLog2)
			}
			at := int64(k.Offsets[i])
			list = append(list, access{entry: k.Base, kernel: true, runs: [][2]int64{{at, at + int64(n)}}})
		}
	}
	if r := u.Result; r != nil && !r.Backing {
		size := u.Out
		if u.Planar && (u.Kind == td.TypePlanarReduce || u.Kind == td.TypePlanarReduce2) {
			size = units.Size{W: 1, H: 1, D: 1, C: u.Out.C}
		}
		add(r, size, 0, u.Exchange, true)
	}
	return list
}

// runsOf are the bytes of an operand: from, and up to.
func runsOf(o *td.Operand) (runs [][2]int64) {
	lo, hi, _ := o.Extent()
	if lo == hi || o.Type.SubByte() {
		return [][2]int64{{lo, hi}}
	}
	size, lanes := int64(o.Type.Size()), int(o.Interleave)
	for n := range o.Dims[0] {
		for d := range o.Dims[1] {
			for c := range o.Dims[2] {
				for h := range o.Dims[3] {
					row := o.Offset + int64(n)*o.Strides[0] + int64(d)*o.Strides[1] + int64(c/lanes)*o.Strides[2] + int64(h)*o.Strides[3] + int64(c%lanes)*size
					if o.Strides[4] == size {
						runs = append(runs, [2]int64{row, row + int64(o.Dims[4])*size})
						continue
					}
					for w := range o.Dims[4] {
						at := row + int64(w)*o.Strides[4]
						runs = append(runs, [2]int64{at, at + size})
					}
				}
			}
		}
	}
	return runs
}

// hull is from the first byte to the last.
func (a access) hull() (lo, hi int64) {
	lo, hi = a.runs[0][0], a.runs[0][1]
	for _, r := range a.runs {
		lo, hi = min(lo, r[0]), max(hi, r[1])
	}
	return lo, hi
}

// touchedEntries are the bytes that tasks touch behind each entry, from the first to the last of each operand.
func touchedEntries(tasks []decodedTask) map[int]int64 {
	hulls := map[int][][2]int64{}
	for _, t := range tasks {
		for _, a := range t.accesses {
			lo, hi := a.hull()
			hulls[a.entry] = append(hulls[a.entry], [2]int64{lo, hi})
		}
	}
	touched := map[int]int64{}
	for entry, list := range hulls {
		slices.SortFunc(list, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
		end := int64(0)
		for _, h := range list {
			touched[entry] += max(0, h[1]-max(h[0], end))
			end = max(end, h[1])
		}
	}
	return touched
}

// A memoryFlow says who reads what whom has written.
type memoryFlow struct {
	ends    [][]int      // of each access of each task: the task that reads last what it wrote; -1: none
	writers [][][][2]int // of each access that reads: task and access that wrote some of it; -1: the caller did
}

func flowOf(t *testing.T, file *hwx.File, tasks []decodedTask) memoryFlow {
	t.Helper()
	f := memoryFlow{ends: make([][]int, len(tasks)), writers: make([][][][2]int, len(tasks))}
	memory := map[int][]int32{}
	for entry, name := range map[int]string{hwx.BaseScratch: "__bss", hwx.BaseDerived: "__derived"} {
		if s := file.Section("__DATA", name); s != nil {
			memory[entry] = make([]int32, s.Size)
		}
	}
	ports, err := file.Ports()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ports {
		memory[p.Base] = make([]int32, p.Bytes)
	}
	written := [][2]int{{-1, -1}}
	for i, t := range tasks {
		f.ends[i], f.writers[i] = make([]int, len(t.accesses)), make([][][2]int, len(t.accesses))
		for k, a := range t.accesses {
			f.ends[i][k] = -1
			bytes := memory[a.entry]
			if bytes == nil {
				continue
			}
			if a.made {
				for _, r := range a.runs {
					for at := r[0]; at < r[1]; at++ {
						bytes[at] = int32(len(written))
					}
				}
				written = append(written, [2]int{i, k})
				continue
			}
			seen := map[int32]bool{}
			for _, r := range a.runs {
				last := int32(-1)
				for _, w := range bytes[r[0]:r[1]] {
					if w != last {
						seen[w] = true
					}
					last = w
				}
			}
			for _, w := range slices.Sorted(maps.Keys(seen)) {
				by := written[w]
				if f.writers[i][k] = append(f.writers[i][k], by); w > 0 {
					f.ends[by[0]][by[1]] = i
				}
			}
		}
	}
	return f
}

// lines are what is printed of a task, without the names of values.
func (t decodedTask) lines(ends []int, file *hwx.File) (list []string) {
	accesses := t.accesses
	line := func(what string) {
		a := accesses[0]
		if a.made && a.entry == hwx.BaseScratch {
			if ends[0] < 0 {
				what += ", read by no task"
			} else {
				what += fmt.Sprintf(", needed to task %d", ends[0])
			}
		}
		role := "reads"
		if a.made {
			role = "makes"
		}
		list = append(list, role+" "+what)
		accesses, ends = accesses[1:], ends[1:]
	}
	if t.op != nil {
		results := t.op.Results()
		for _, o := range slices.Concat(t.op.Operands[results:], t.op.Operands[:results]) {
			if !o.Present() {
				continue
			}
			dims := strings.ReplaceAll(strings.Trim(fmt.Sprint(o.Dims), "[]"), " ", ",")
			what := fmt.Sprintf("%s %v[%s]", placeName(file, o.Base, o.Offset), o.Type, dims)
			stride := int64(o.Type.Size())
			for a := 4; a >= 0; a-- { // others than dense ones are printed
				if o.Dims[a] > 1 && o.Strides[a] != stride && !o.Type.SubByte() {
					what += fmt.Sprintf(" strides %v", o.Strides)
					break
				}
				stride *= int64(max(o.Dims[a], 1))
			}
			line(what)
		}
		return list
	}
	u := t.unit
	surface := func(s *units.Surface) string {
		what := fmt.Sprintf("%s rows %d planes %d groups %d", placeName(file, s.Base, int64(s.Offset)), s.Row, s.Plane, s.Group)
		if s.Interleave > 1 {
			what += fmt.Sprintf(" interleaved by %d", s.Interleave)
		}
		return what
	}
	chip := func(c units.Chip) string { return fmt.Sprintf("chip+%d rows %d channels %d", c.Base, c.Row, c.Channel) }
	for _, s := range u.Sources() {
		switch {
		case s.Memory == nil || s.Memory.Backing:
			list = append(list, "reads "+chip(s.Chip))
		case s.Keep:
			line(surface(s.Memory) + ", kept at " + chip(s.Chip))
		default:
			line(surface(s.Memory))
		}
	}
	if k := u.Kernel; k != nil {
		bytes, engines := 0, 0
		for _, n := range k.Sizes {
			if bytes += n; n > 0 {
				engines++
			}
		}
		what := fmt.Sprintf("reads kernel %s %d bytes for %d engines", placeName(file, k.Base, int64(k.Offsets[0])), bytes, engines)
		if k.Producer >= 0 {
			what += fmt.Sprintf(", made by task %d", k.Producer)
		}
		list = append(list, what)
		accesses, ends = accesses[len(k.Sizes):], ends[len(k.Sizes):]
	}
	if u.Result == nil || u.Result.Backing {
		return append(list, "makes "+chip(u.Chip))
	}
	line(surface(u.Result))
	return list
}

// placeName is a place as it is printed.
func placeName(file *hwx.File, entry int, offset int64) string {
	name := ""
	switch entry {
	case hwx.BaseConst:
		name = "packed"
		if s := file.Section("__KERN_0", "__kern_0"); s != nil && s == file.External() {
			name = "weights"
		}
	case hwx.BaseDerived:
		name = "derived"
	case hwx.BaseScratch:
		name = "scratch"
	case hwx.BaseWeights:
		name = "weights"
	case hwx.BaseTextConst:
		name = "constants"
	default:
		name = fmt.Sprintf("port %d", entry-hwx.BasePorts)
	}
	return fmt.Sprintf("%s+%d", name, offset)
}

var (
	printedLayer = regexp.MustCompile(`^((?:%\S+, )*%\S+) = anec\.(\w+)\(([^)]*)\)`)
	printedValue = regexp.MustCompile(`%"?[^\s",]+`)
)

// A valueGraph says which values show what others hold: itself, or views and concatenations of it.
type valueGraph struct {
	shows    map[string][]string
	constant map[string]bool
}

func newValueGraph(layers string) valueGraph {
	g := valueGraph{map[string][]string{}, map[string]bool{}}
	plain := func(name string) string { return strings.ReplaceAll(name, `"`, "") }
	for line := range strings.Lines(layers) {
		if words := strings.Fields(line); words[0] == "const" {
			g.constant[plain(words[1])] = true
		} else if words[0] == "state" { // it holds after what it is said to
			g.shows[plain(words[5])] = append(g.shows[plain(words[5])], plain(words[1]))
		}
		m := printedLayer.FindStringSubmatch(line)
		if m == nil || !slices.Contains([]string{"reshape", "transpose", "input_view", "broadcast", "concat"}, m[2]) {
			continue
		}
		for _, bottom := range printedValue.FindAllString(m[3], -1) {
			for _, top := range printedValue.FindAllString(m[1], -1) {
				g.shows[plain(bottom)] = append(g.shows[plain(bottom)], plain(top))
			}
		}
	}
	return g
}

// leads reports whether a value is another, or a view of it, or of what it is a part of.
func (g valueGraph) leads(from, to string) bool {
	seen := map[string]bool{}
	for work := []string{from}; len(work) > 0; {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		if v == to {
			return true
		}
		if !seen[v] {
			seen[v] = true
			work = append(work, g.shows[v]...)
		}
	}
	return false
}

// checkNames follows each value from where it comes from to where it is read: by this name, or as a view of it.
func checkNames(header []string, layers string, tasks []decodedTask, flow memoryFlow, names [][]string) (complaints []string) {
	g := newValueGraph(layers)
	ports := map[int]string{}
	for _, l := range header {
		if words := printedPort.FindStringSubmatch(l); words != nil {
			ports[hwx.BasePorts+len(ports)] = "%" + words[3]
		}
	}
	nameOf := make([][]string, len(tasks)) // of each access
	for i, t := range tasks {
		nameOf[i] = make([]string, len(t.accesses))
		for k, a := range t.accesses {
			if !a.kernel {
				nameOf[i][k], names[i] = names[i][0], names[i][1:]
			}
		}
	}
	for i, t := range tasks {
		for k, a := range t.accesses {
			name, ok, from := nameOf[i][k], true, ""
			port, isPort := ports[a.entry]
			switch {
			case a.kernel:
			case a.made && isPort:
				from = port
				ok = g.leads(name, port)
			case a.made:
				ok = name == "between" || strings.Contains(layers, name[1:])
			case flow.writers[i][k] != nil:
				for _, w := range flow.writers[i][k] {
					if from = port; w[0] >= 0 {
						from = nameOf[w[0]][w[1]]
					}
					ok = ok && (from == name || name != "between" && g.leads(from, name))
				}
			case name != "constant": // of the model
				ok = false
				for c := range g.constant {
					ok = ok || g.leads(c, name)
				}
			}
			if !ok {
				complaints = append(complaints, fmt.Sprintf("task %d: an operand is called %s, and it is %q", i, name, from))
			}
		}
	}
	return complaints
}
