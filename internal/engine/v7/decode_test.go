package v7

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// A record is what Apple's compiler emitted for a small program: of it, the words
// of the tasks.
type record struct {
	Case  string
	Tasks []struct {
		Header  []testkit.HexWord `json:"header_words"`
		Records []struct {
			Address testkit.HexWord
			Count   int
		}
		Blocks map[string]struct {
			Words map[testkit.HexWord]testkit.HexWord
		}
	} `json:"task_descriptors"`
}

func (r *record) tasks(t *testing.T) (list []*td.Task) {
	t.Helper()
	for _, from := range r.Tasks {
		task := &td.Task{Version: td.V7}
		for _, w := range from.Header {
			task.Header = append(task.Header, uint32(w))
		}
		words := make(map[testkit.HexWord]testkit.HexWord)
		for _, b := range from.Blocks {
			for addr, w := range b.Words {
				words[addr] = w
			}
		}
		for _, rec := range from.Records {
			run := td.Record{Addr: uint32(rec.Address)}
			for i := range rec.Count {
				run.Words = append(run.Words, uint32(words[rec.Address+testkit.HexWord(4*i)]))
			}
			task.Records = append(task.Records, run)
		}
		list = append(list, task)
	}
	return list
}

// decodeAll decodes the tasks of a program. Each is an operation that can be
// computed, has the kernel that its registers say, and knows its fields.
func decodeAll(t *testing.T, tasks []*td.Task) {
	t.Helper()
	d, registers := New(), td.NewRegisters(td.LayoutOf(td.V7))
	for i, task := range tasks {
		registers.Apply(task)
		o, strided, err := d.Decode(task)
		if err != nil || o == nil || strided != nil {
			t.Errorf("task %d: %v, %v, %v", i, o, strided, err)
			continue
		}
		if part, err := o.Check(); err != nil {
			t.Errorf("task %d: part %d: %v", i, part, err)
		}
		if o.NeedsKernel() != (o.Kernel != nil) {
			t.Errorf("task %d: needs a kernel: %t, has one: %t", i, o.NeedsKernel(), o.Kernel != nil)
		}
		if o.Kernel != nil {
			want, _, err := td.KernelOf(registers)
			if got := o.KernelShape(); err != nil || got != want {
				t.Errorf("task %d: the kernel is %+v, want %+v, %v", i, got, want, err)
			}
		}
		for part := range units.PartStream(td.KernelChannels) {
			if part == units.PartSource2 && o.Source2 == nil {
				continue
			}
			if f, v := d.Field(part); f == nil || v != d.value(f) {
				t.Errorf("task %d: part %d is field %v with %#x", i, part, f, v)
			}
		}
	}
}

// Every recorded task is decoded.
func TestRecords(t *testing.T) {
	records := testkit.Records(t, "h13", func(r *record) bool { return len(r.Tasks) > 0 })
	if len(records) < 65 {
		t.Errorf("%d records", len(records))
	}
	for _, r := range records {
		t.Run(r.Case, func(t *testing.T) { decodeAll(t, r.tasks(t)) })
	}
}

// So is every task of Apple's programs.
func TestPrograms(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(testkit.Shared(t, "hwx"), "*.hwx"))
	if err != nil || len(names) != 17 {
		t.Errorf("%d programs, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := hwx.NewFile(data)
			if err != nil {
				t.Fatal(err)
			}
			placed, err := f.Tasks()
			if err != nil {
				t.Fatal(err)
			}
			var tasks []*td.Task
			for _, p := range placed {
				tasks = append(tasks, p.Task)
			}
			decodeAll(t, tasks)
		})
	}
}

// An extension is a strided operation, and leaves the registers alone.
func TestExtension(t *testing.T) {
	dims := [td.NumAxes]int{1, 1, 1, 1, 4}
	op := &td.Op{Params: &td.Copy{}, Operands: []td.Operand{td.Dense(4, 0, 3, dims), td.Dense(5, 0, 3, dims)}}
	task, err := op.Task(td.V7)
	if err != nil {
		t.Fatal(err)
	}
	d := New()
	o, strided, err := d.Decode(task)
	if err != nil || o != nil || strided == nil || strided.Class() != td.ClassNEBypass {
		t.Errorf("got %v, %v, %v", o, strided, err)
	}
	if others := d.registers.Others(); len(others) > 0 {
		t.Errorf("registers %#x are written", others)
	}
}

// What is not known is refused by the name of its field.
func TestUnknown(t *testing.T) {
	task := td.NewV7Task(false)
	_, _, err := New().Decode(task)
	var field *td.FieldError
	if !errors.As(err, &field) || field.Field != td.V7Config0 {
		t.Errorf("a task of zeros: %v", err)
	}
}
