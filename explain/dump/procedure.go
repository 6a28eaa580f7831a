package dump

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/explain/task"
	"github.com/espalier-ane/espalier/hwx"
)

// A Procedure is one of the programs of a container that has several.
type Procedure struct {
	Index int `json:"index"`
	ContainerProgram

	// The symbols are the places of its inputs and outputs among those of the container, of all procedures.
	InputSymbols  []int `json:"input_symbols"`
	OutputSymbols []int `json:"output_symbols"`

	IntermediateBytes int64 `json:"intermediate_bytes"`
	DerivedBytes      int64 `json:"derived_bytes"`
	ConstantBytes     int64 `json:"constant_bytes"`

	Bases           []Base      `json:"bases"`
	Ports           []Port      `json:"ports"`
	ConstantSection *Constants  `json:"constant_section,omitempty"`
	TaskList        []task.Task `json:"task_list"`
}

// programs counts the program threads.
func programs(f *hwx.File) (n int) {
	for _, c := range f.Commands {
		if _, ok := c.(*hwx.ProgramThread); ok {
			n++
		}
	}
	return n
}

// addProcedures describes several programs. Where one cannot be read, those before it are there.
func (r *Container) addProcedures(f *hwx.File) error {
	note, readable, err := taskNote(f)
	if err != nil {
		return err
	}
	r.TasksNote = note
	procedures, err := f.Procedures()
	if err != nil {
		return err
	}
	for _, p := range procedures {
		info, err := p.Info()
		if err != nil {
			return err
		}
		ports, err := p.Ports()
		if err != nil {
			return err
		}
		row := Procedure{
			Index: p.Index, ContainerProgram: *newProgram(p.Program),
			InputSymbols: append([]int{}, info.InputSymbols...), OutputSymbols: append([]int{}, info.OutputSymbols...),
			IntermediateBytes: info.IntermediateBytes, DerivedBytes: info.DerivedBytes, ConstantBytes: info.ConstantBytes,
			Bases: newBases(p.Bases()), Ports: newPorts(ports), ConstantSection: newConstants(p.Constants()), TaskList: []task.Task{},
		}
		if readable {
			tasks, err := task.ExplainProcedure(p)
			if err != nil {
				return fmt.Errorf("procedure %s: %w", p.Name, err)
			}
			row.TaskList = append(row.TaskList, tasks...)
		}
		r.Procedures = append(r.Procedures, row)
	}
	return nil
}

func (p *Procedure) writeText(w *bufio.Writer) {
	fmt.Fprintf(w, "procedure %d ", p.Index)
	writeProgram(w, &p.ContainerProgram, p.Bases, p.Ports)
	report.Columns(w, "  ", [][]string{
		{"input symbols", numbers(p.InputSymbols)},
		{"output symbols", numbers(p.OutputSymbols)},
		{"intermediate", fmt.Sprintf("0x%x bytes", p.IntermediateBytes)},
		{"derived", fmt.Sprintf("0x%x bytes", p.DerivedBytes)},
		{"constants", fmt.Sprintf("0x%x bytes", p.ConstantBytes)},
	})
	writeConstants(w, p.ConstantSection)
	for i := range p.TaskList {
		p.TaskList[i].WriteText(w)
	}
}

func numbers(list []int) string { return strings.Trim(fmt.Sprint(list), "[]") }
