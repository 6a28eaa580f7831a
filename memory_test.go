package espalier_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/td"
)

// What the compiler prints of memory is what the container's words say, address by address, for every task of every model
// on H13: which memory each task reads and writes, how far from its start, and where on chip.
func TestMemoryTextIsWhatTasksDo(t *testing.T) {
	for _, name := range modelNames(t) {
		t.Run(name, func(t *testing.T) {
			m, err := espalier.Open(filepath.Join(modelsDir, name, "model.mlpackage"))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			texts := map[string]string{}
			p, err := m.Compile(context.Background(), espalier.CompileOptions{Target: "h13", Pass: func(r espalier.PassReport) {
				if r.Phase == "memory" {
					texts[r.Segment] = r.Memory() // the last counts
				}
			}})
			if err != nil {
				return // a pipeline, whose stages are models of their own
			}
			for _, f := range p.Functions() {
				for _, s := range f.Segments {
					if s.Container != nil {
						compareMemory(t, texts[s.Name], s.Container)
					}
				}
			}
		})
	}
}

func compareMemory(t *testing.T, text string, file *hwx.File) {
	t.Helper()
	tasks, err := file.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	printed := printedPlaces(t, text)
	if len(printed) != len(tasks) {
		t.Fatalf("%d tasks are printed, the container has %d", len(printed), len(tasks))
	}
	for i, task := range tasks {
		emitted, err := emittedPlaces(task.Task)
		if err != nil {
			t.Fatalf("task %d: %v", i, err)
		}
		for _, list := range [][]string{printed[i], emitted} {
			slices.Sort(list)
		}
		if !slices.Equal(printed[i], emitted) {
			t.Errorf("task %d: printed are %q, the words say %q", i, printed[i], emitted)
		}
	}
}

// printedPlaces reads what each task reads and makes, as entry+offset of the base-address table, or chip+offset.
func printedPlaces(t *testing.T, text string) (tasks [][]string) {
	t.Helper()
	weights := hwx.BaseConst
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case words[0] == "packed":
			weights = hwx.BaseWeights
		case words[0] == "task":
			tasks = append(tasks, nil)
		case len(tasks) == 0 || words[0] != "reads" && words[0] != "makes":
		default:
			place := words[1]
			if strings.HasPrefix(place, "%") || place == "between" || place == "constant" || place == "kernel" {
				if place = words[2]; place == "port" {
					place = "port" + words[3]
				}
			}
			region, offset, ok := strings.Cut(place, "+")
			if !ok {
				t.Fatalf("no place in %q", line)
			}
			base, known := map[string]int{
				"scratch": hwx.BaseScratch, "derived": hwx.BaseDerived, "constants": hwx.BaseTextConst, "packed": hwx.BaseConst, "weights": weights,
			}[region]
			if n, isPort := strings.CutPrefix(region, "port"); isPort {
				port, err := strconv.Atoi(n)
				if err != nil {
					t.Fatalf("no port in %q", line)
				}
				base, known = hwx.BasePorts+port, true
			}
			if known {
				region = strconv.Itoa(base)
			}
			last := len(tasks) - 1
			tasks[last] = append(tasks[last], fmt.Sprintf("%s %s+%s", words[0], region, offset))
		}
	}
	return tasks
}

// emittedPlaces reads the same from the words of a task.
func emittedPlaces(task *td.Task) (list []string, err error) {
	if task.Version == td.V256 || task.Extension() {
		op, err := task.Op()
		if err != nil {
			return nil, err
		}
		for i, o := range op.Operands {
			role := "reads"
			if i < op.Results() {
				role = "makes"
			}
			if o.Present() {
				list = append(list, fmt.Sprintf("%s %d+%d", role, o.Base, o.Offset))
			}
		}
		return list, nil
	}
	num := func(f *td.Field) int {
		v, _ := task.Get(f)
		return int(int32(v))
	}
	add := func(role string, streams, base, offset, chip *td.Field) {
		if num(streams) != 0 {
			list = append(list, fmt.Sprintf("%s %d+%d", role, num(base), num(offset)))
		} else {
			list = append(list, fmt.Sprintf("%s chip+%d", role, num(chip)))
		}
	}
	add("reads", td.V7SourceDMA, td.V7Read0Base, td.V7Src1.Base, td.V7L2Src1.Base)
	if kind := num(td.V7TaskType); kind == td.TypePlanarBinary || kind == td.TypePlanarGain || kind == td.TypePlanarReduce2 {
		add("reads", td.V7Source2DMA, td.V7Read1Base, td.V7Src2.Base, td.V7L2Src2.Base)
	}
	if num(td.V7KernelBaseEnable[0]) != 0 {
		list = append(list, fmt.Sprintf("reads %d+%d", num(td.V7KernelBase[0]), num(td.V7KernelChannel[0].Offset)))
	}
	add("makes", td.V7ResultDMA, td.V7WriteBase, td.V7Dst.Base, td.V7L2Result.Base)
	return list, nil
}
