package espalier_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/hwx"
)

// What the compiler prints of memory is what the container's words say, for every task of every model on H13: the sizes of
// the regions and of the ports, and of each task which memory it reads and writes, how far from its start, with which
// strides, how much, where on chip, and which task reads last what it makes. A value has the name under which it was made, or
// that of a view of it.
func TestMemoryTextIsWhatTasksDo(t *testing.T) {
	models, tasks := 0, 0
	for _, name := range modelNames(t) {
		t.Run(name, func(t *testing.T) {
			for _, s := range printedSegments(t, name) {
				complaints, n := compareMemory(t, s)
				for _, c := range complaints {
					t.Error(c)
				}
				tasks += n
			}
			models++
		})
	}
	if models < 100 || tasks < 1000 {
		t.Errorf("%d tasks of %d models were compared, want those of all", tasks, models)
	}
}

// A printedSegment is a segment as the compiler prints it, and its container.
type printedSegment struct {
	memory, layers string
	file           *hwx.File
}

func printedSegments(t *testing.T, name string) (list []printedSegment) {
	t.Helper()
	m, err := espalier.Open(filepath.Join(modelsDir, name, "model.mlpackage"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	last := map[string]espalier.PassReport{}
	p, err := m.Compile(context.Background(), espalier.CompileOptions{Target: "h13", Pass: func(r espalier.PassReport) {
		last[r.Segment] = r
	}})
	if errors.Is(err, espalier.ErrUnsupported) {
		return nil // a pipeline, whose stages are models of their own
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Functions() {
		for _, s := range f.Segments {
			if s.Container != nil {
				r := last[s.Name]
				list = append(list, printedSegment{r.Memory(), r.Layers(), s.Container})
			}
		}
	}
	return list
}

// The comparison bites: a text that is wrong in one place is told from the container.
func TestMemoryTextBites(t *testing.T) {
	right := printedSegments(t, "comp_pal1")[0]
	for _, c := range []struct{ old, new string }{
		{"scratch 49152 bytes", "scratch 9 bytes"},
		{"49020 touched", "49152 touched"},
		{"derived 26752 bytes", "derived 26751 bytes"},
		{"constants 256 bytes", "constants 0 bytes"},
		{"packed 32768 bytes", "packed 32767 bytes"},
		{"port 0 in %x__engine", "port 0 in %x"},
		{"fp16[2,1,4,12,12]", "fp16[2,1,4,12,13]"},
		{"6144 bytes", "2304 bytes"},
		{"bound as y__engine", "bound as y"},
		{"rows 64 planes 384", "rows 64 planes 383"},
		{"rows 64 planes 384", "rows 1 planes 384"},
		{"groups 12288", "groups 3"},
		{"packed+2048", "packed+2049"},
		{"2048 bytes for 16 engines", "2048 bytes for 8 engines"},
		{"12288 bytes for 16", "12289 bytes for 16"},
		{"scratch+24576", "scratch+24577"},
		{"needed to task 2", "needed to task 9"},
		{"needed to task 5", "needed to task 7"},
		{"reads %input_3_cast_fp16", "reads %wrong"},
		{"reads %var_34_cast_fp16", "reads %linear_0_cast_fp16_conv"},
		{"makes %input_3_cast_fp16", "makes %wrong"},
		{"makes %y", "makes %input_7_cast_fp16"},
		{"reads %x__engine", "reads between"},
	} {
		wrong := right
		if wrong.memory = strings.Replace(right.memory, c.old, c.new, 1); wrong.memory == right.memory {
			t.Errorf("the text has no %q:\n%s", c.old, right.memory)
		}
		if complaints, _ := compareMemory(t, wrong); len(complaints) == 0 {
			t.Errorf("%q instead of %q is not noticed", c.new, c.old)
		}
	}
}

// compareMemory returns a complaint for each line that the words do not bear out.
func compareMemory(t *testing.T, s printedSegment) (complaints []string, tasks int) {
	t.Helper()
	emitted := decodeTasks(t, s.file)
	lines := strings.Split(strings.TrimSuffix(s.memory, "\n"), "\n")
	first := slices.IndexFunc(append(lines, "task "), func(l string) bool { return strings.HasPrefix(l, "task ") })
	complaints = compareHeader(t, lines[:first], s.file, emitted)
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	printed, names := printedLines(lines[first:])
	if len(printed) != len(emitted) {
		complain("%d tasks are printed, the container has %d", len(printed), len(emitted))
		return complaints, len(emitted)
	}
	flow := flowOf(t, s.file, emitted)
	for i, task := range emitted {
		if want := task.lines(flow.ends[i], s.file); !slices.Equal(printed[i], want) {
			complain("task %d: printed is %q, the words say %q", i, printed[i], want)
		}
	}
	if complaints == nil {
		complaints = checkNames(lines[:first], s.layers, emitted, flow, names)
	}
	return complaints, len(emitted)
}

// printedLines are the lines of each task without the names of values, and these names.
func printedLines(lines []string) (tasks, names [][]string) {
	for _, l := range lines {
		last := len(tasks) - 1
		if strings.HasPrefix(l, "task ") {
			tasks, names = append(tasks, nil), append(names, nil)
			continue
		}
		tasks[last] = append(tasks[last], unnamed(l))
		if words := strings.Fields(l); strings.HasPrefix(words[1], "%") || words[1] == "between" || words[1] == "constant" {
			names[last] = append(names[last], words[1])
		}
	}
	return tasks, names
}

// unnamed is a line without the name of a value.
func unnamed(line string) string {
	words := strings.Split(strings.TrimSpace(line), " ")
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "%") || w == "between" || w == "constant"
	}), " ")
}

// printedPort is the line of a port.
var printedPort = regexp.MustCompile(`^port (\d+) (in|out|in\+out) %(\S+) (\w+)\[([\d,]+)\] (\d+) bytes(?:, bound as (\S+))?$`)

// compareHeader compares what stands before the tasks: the sizes of the regions, how much of them tasks touch, and the ports.
func compareHeader(t *testing.T, lines []string, file *hwx.File, tasks []decodedTask) (complaints []string) {
	t.Helper()
	size := func(s *hwx.Section) uint64 {
		if s == nil {
			return 0
		}
		return s.Size
	}
	touched := touchedEntries(tasks)
	constants, packed := size(file.Constants()), file.Section("__KERN_0", "__kern_0")
	if packed == file.External() {
		packed = nil
	}
	switch page := make([]byte, 0x4000); {
	case packed != nil || file.External() != nil:
	case touched[hwx.BaseConst] > 0: // a layer alone has what is packed there
		constants, packed = 0, file.Constants()
	case bytes.Equal(file.Constants().Data, page): // or this, as Apple's compiler does
		constants = 0
	}
	want := []string{
		fmt.Sprintf("scratch %d bytes, %d touched", size(file.Section("__DATA", "__bss")), touched[hwx.BaseScratch]),
		fmt.Sprintf("derived %d bytes, %d touched", size(file.Section("__DATA", "__derived")), touched[hwx.BaseDerived]),
		fmt.Sprintf("constants %d bytes, %d touched", constants, touched[hwx.BaseTextConst]),
	}
	if packed != nil {
		want = append(want, fmt.Sprintf("packed %d bytes, %d touched", packed.Size, touched[hwx.BaseConst]))
	}
	ports, err := file.Ports()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != len(want)+len(ports) {
		return []string{fmt.Sprintf("the header is %q, the container says %q and has %d ports", lines, want, len(ports))}
	}
	for i, w := range want {
		if got, _, _ := strings.Cut(lines[i], ", "+"if nothing"); !strings.HasPrefix(got, w) || len(got) > len(w) && got[len(w)] != ',' {
			complaints = append(complaints, fmt.Sprintf("printed is %q, the container says %q", lines[i], w))
		}
	}
	for i, p := range ports {
		words := printedPort.FindStringSubmatch(lines[len(want)+i])
		if words == nil || words[1] != strconv.Itoa(i) || p.Base != hwx.BasePorts+i {
			complaints = append(complaints, fmt.Sprintf("printed is %q, want port %d", lines[len(want)+i], i))
			continue
		}
		name := words[3]
		if words[7] != "" {
			name = words[7]
		}
		var d [5]int
		fmt.Sscanf(words[5], "%d,%d,%d,%d,%d", &d[0], &d[1], &d[2], &d[3], &d[4])
		dtype := p.Element.DType()
		way := map[hwx.Direction]string{hwx.In: "in", hwx.Out: "out", hwx.InOut: "in+out"}[p.Direction]
		got := fmt.Sprint(way, " ", p.Name, " ", dtype, " ", p.Shape, " ", p.Bytes)
		if printed := fmt.Sprint(words[2], " ", name, " ", words[4], " ", [4]int{d[0] * d[1], d[2], d[3], d[4]}, " ", words[6]); printed != got {
			complaints = append(complaints, fmt.Sprintf("port %d: printed is %q, the container says %q", i, printed, got))
		}
	}
	return complaints
}
