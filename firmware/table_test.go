package firmware

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

func TestCommands(t *testing.T) {
	var list bytes.Buffer
	families, directions := map[uint16]int{}, map[Direction]int{}
	names := map[string]bool{}
	for i, c := range Commands() {
		fmt.Fprintf(&list, "0x%02x 0x%04x %-6v %-9v %s\n", c.ID, c.Wire, c.Direction, c.Subsystem, c.Name)
		if c.ID != i || names[c.Name] {
			t.Errorf("row %d is %v", i, c)
		}
		names[c.Name] = true
		families[c.Wire>>8]++
		directions[c.Direction]++
		for how, find := range map[string]func() (Command, bool){
			"id":   func() (Command, bool) { return CommandByID(uint32(c.ID)) },
			"wire": func() (Command, bool) { return CommandByWire(c.Wire) },
			"name": func() (Command, bool) { return CommandByName(c.Name) },
		} {
			if got, ok := find(); !ok || got != c {
				t.Errorf("%s: found %v by its %s", c.Name, got, how)
			}
		}
	}
	testkit.Golden(t, "testdata/commands.txt", list.Bytes())

	// What the guide counts: 93 commands, 14 of them notices to the host and one
	// that goes both ways; 94 numbers on the wire with START, by family.
	if len(Commands()) != 93 || directions[ToHost] != 14 || directions[BothWays] != 1 {
		t.Errorf("%d commands, %v by direction", len(Commands()), directions)
	}
	for family, want := range map[uint16]int{0x00: 53 - 1, 0x01: 9, 0x02: 19, 0x03: 6, 0x04: 5, 0x70: 1, 0xff: 1} {
		if families[family] != want {
			t.Errorf("%d commands at 0x%02x__, want %d", families[family], family, want)
		}
	}
	// What the guide read in the dispatcher, guide 30.
	for wire, want := range map[uint16]string{
		0x204: "PROCEDURE_CALL",
		0x209: "PROCEDURE_CALL_TRIGGER_CACHE_REQUEST",
		0x20c: "PROCEDURE_CALL_WITH_CUSTOM_BARS",
		0x211: "PROCEDURE_CALL_WITH_SIGNAL_EVENTS",
		0x000: "START",
		0x213: "SET_SIGNAL_EVENTS",
	} {
		if c, ok := CommandByWire(wire); !ok || c.Name != want {
			t.Errorf("0x%03x is %q, want %q", wire, c.Name, want)
		}
	}
	for _, id := range []uint32{93, InvalidID} {
		if c, ok := CommandByID(id); ok {
			t.Errorf("%#x is %v", id, c)
		}
	}
	if _, ok := CommandByWire(0x500); ok {
		t.Error("0x500 is a command")
	}
	if got := fmt.Sprint(Direction(9), Subsystem(99), SectionKind(99), Client(9)); got != "direction 9 subsystem 99 section kind 99 client 9" {
		t.Errorf("without a name: %s", got)
	}
}

// The rows of the seed's table 23.14. Where the kernel's tables differ, the row
// says how.
func TestSeedSelectors(t *testing.T) {
	const none = -1
	for _, row := range []struct {
		selector uint32
		name     string
		in, out  int // bytes; none is a pointer or only scalars
		differs  string
	}{
		{0, "DeviceOpen", 104, 104, ""},
		{2, "ProgramSendRequest", 2376, 40, ""},
		{3, "ProgramCreate", 32, 0, ""},
		{3, "ProgramOutputSetEnqueue", 40, 0, ""},
		{4, "ProgramPrepare", 56, none, "56 bytes come back"},
		{4, "ProgramInputsReady", 3104, 0, ""},
		{5, "MemoryMapRequest", none, 2080, "2080 bytes go in"},
		{6, "ProgramDestroy", 16, 0, ""},
		{8, "ProgramCreateInstance", 32, 0, ""},
		{8, "ProgramChainingSetActiveProcedure", 32, 0, ""},
		{9, "ProgramChainingPrepare", 16, none, "24 bytes come back"},
	} {
		var m Method
		for _, candidate := range Methods() {
			if candidate.Selector == row.selector && candidate.Name == row.name {
				m = candidate
			}
		}
		if m.Name == "" {
			t.Errorf("selector %d: no %s", row.selector, row.name)
			continue
		}
		if same := m.StructIn == row.in && m.StructOut == row.out; same != (row.differs == "") {
			t.Errorf("selector %d, %s: %d bytes in and %d out, want %d and %d (%s)",
				row.selector, row.name, m.StructIn, m.StructOut, row.in, row.out, row.differs)
		}
		found, err := FindMethod(row.selector, m.StructIn)
		switch {
		case row.selector == 8:
			if err == nil || !strings.Contains(err.Error(), "ProgramCreateInstance or ProgramChainingSetActiveProcedure") {
				t.Errorf("selector 8 with 32 bytes: got %v, %v", found, err)
			}
		case err != nil || found.Name != row.name:
			t.Errorf("selector %d with %d bytes: got %v, %v; want %s", row.selector, m.StructIn, found, err, row.name)
		}
	}
}

func TestMethods(t *testing.T) {
	count := map[Client]uint32{}
	for _, m := range Methods() {
		if m.Selector != count[m.Client] {
			t.Errorf("%v client: selector %d follows %d others", m.Client, m.Selector, count[m.Client])
		}
		count[m.Client]++
		if got, ok := m.Client.Method(m.Selector); !ok || got != m {
			t.Errorf("%v client, selector %d: got %v", m.Client, m.Selector, got)
		}
		if m.Async != (m.Name == "ProgramSendRequest") {
			t.Errorf("%s: Async is %t", m.Name, m.Async)
		}
	}
	if count[Control] != 17 || count[DirectPath] != 9 {
		t.Errorf("methods by client: %v", count)
	}
	if _, ok := DirectPath.Method(9); ok {
		t.Error("the direct-path client has a selector 9")
	}
	// The numbers of guide C.2 for the direct-path client go on from the other's.
	for number, want := range map[uint32]string{21: "ProgramInputsReady", 22: "MemoryMapRequest"} {
		if m, _ := DirectPath.Method(number - count[Control]); m.Name != want {
			t.Errorf("number %d is %s, want %s", number, m.Name, want)
		}
	}
	for _, c := range []struct {
		selector uint32
		size     int
		want     string
	}{
		{99, 0, "selector 99: there is none"},
		{3, 33, "ProgramCreate of the control client takes 32 bytes, ProgramOutputSetEnqueue of the direct path client takes 40 bytes"},
	} {
		if _, err := FindMethod(c.selector, c.size); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("selector %d with %d bytes: got %v, want %s", c.selector, c.size, err, c.want)
		}
	}
	// A structure that has a layout has the size of the call.
	nothing := &Layout{}
	for name, sizes := range map[string][2]*Layout{
		"DeviceOpen":                        {DeviceOpen, DeviceOpen},
		"ProgramSendRequest":                {SendRequest, SendReply},
		"ProgramCreate":                     {ProgramCreate, nothing},
		"ProgramPrepare":                    {ProgramPrepare, ProgramPrepare},
		"ProgramUnprepare":                  {ProgramPrepare, nothing},
		"ProgramDestroy":                    {ProgramDestroy, nothing},
		"ProgramCreateInstance":             {ProgramCreateInstance, nothing},
		"GetStatus":                         {nothing, GetStatus},
		"ProgramChainingPrepare":            {ChainingPrepare, ChainingPrepared},
		"ProgramOutputSetEnqueue":           {OutputSetEnqueue, nothing},
		"ProgramInputsReady":                {InputsReady, nothing},
		"MemoryMapRequest":                  {MemoryMap, nothing},
		"MemoryUnMapRequest":                {MemoryMap, nothing},
		"SessionHintRequest":                {SessionHint, SessionHinted},
		"ProgramChainingSetActiveProcedure": {SetActiveProcedure, nothing},
	} {
		for _, m := range Methods() {
			if m.Name == name && (m.StructIn != sizes[0].Size || m.StructOut != sizes[1].Size) {
				t.Errorf("%s takes %d bytes and gives %d, its layouts have %d and %d",
					name, m.StructIn, m.StructOut, sizes[0].Size, sizes[1].Size)
			}
		}
	}
}

// Every layout is sound, every number of it can be set and got, and its parts
// are all its bytes.
func TestLayouts(t *testing.T) {
	var list bytes.Buffer
	for _, l := range Layouts() {
		fmt.Fprintf(&list, "%s, %d bytes (%s)\n", l.Name, l.Size, l.Source)
		pos := 0
		for _, f := range l.Fields {
			line := fmt.Sprintf("\t0x%03x %4d %-10v %s: %s", f.Offset, f.Size, f.Confidence, f.Name, f.Doc)
			list.WriteString(strings.TrimSuffix(line, ": ") + "\n")
			if f.Offset < pos || f.Offset+f.Size > l.Size || f.Size <= 0 {
				t.Errorf("%s.%s is out of place", l.Name, f.Name)
			}
			pos = f.Offset + f.Size
		}
		data := make([]byte, l.Size)
		for i, f := range l.Fields {
			if !f.IsNumber() {
				if _, err := l.Get(data, f.Name); err == nil {
					t.Errorf("%s.%s is read as a number", l.Name, f.Name)
				}
				if err := l.Set(data, f.Name, 1); err == nil {
					t.Errorf("%s.%s is written as a number", l.Name, f.Name)
				}
				b, err := l.Bytes(data, f.Name)
				if err != nil || len(b) != f.Size {
					t.Errorf("%s.%s: %d bytes, %v", l.Name, f.Name, len(b), err)
				}
				continue
			}
			want := uint64(i + 1)
			if err := l.Set(data, f.Name, want); err != nil {
				t.Error(err)
			}
			if got, err := l.Get(data, f.Name); err != nil || got != want {
				t.Errorf("%s.%s: got %d, %v; want %d", l.Name, f.Name, got, err, want)
			}
			if f.Size < 8 && l.Set(data, f.Name, 1<<(8*f.Size)) == nil {
				t.Errorf("%s.%s takes a number that is too large", l.Name, f.Name)
			}
		}
		parts, err := l.Parts(data)
		if err != nil {
			t.Fatal(err)
		}
		var whole []byte
		for _, p := range parts {
			if p.Offset != len(whole) || len(p.Content) != p.Size {
				t.Errorf("%s: part %q is out of place", l.Name, p.Name)
			}
			whole = append(whole, p.Content...)
			if f, ok := l.Field(p.Name); ok && f.IsNumber() {
				if v, _ := l.Get(data, p.Name); v != p.Value {
					t.Errorf("%s.%s: part has %d, field %d", l.Name, p.Name, p.Value, v)
				}
			}
		}
		if !bytes.Equal(whole, data) {
			t.Errorf("%s: the parts are not the whole", l.Name)
		}
		if _, err := l.Get(data, "nothing"); err == nil {
			t.Errorf("%s has a field %q", l.Name, "nothing")
		}
		var format *FormatError
		if _, err := l.Parts(data[1:]); !errors.As(err, &format) {
			t.Errorf("%s: %d bytes give %v", l.Name, l.Size-1, err)
		}
	}
	testkit.Golden(t, "testdata/layouts.txt", list.Bytes())
	for kind := range SectionKind(NumSectionKinds) {
		f, ok := LoadProgram.Field(kind.String())
		if !ok || f.Offset != RingHeader.Size+int(kind)*SectionRecord.Size {
			t.Errorf("the record of section %v is at 0x%x", kind, f.Offset)
		}
	}
}

func TestMessage(t *testing.T) {
	want := Header{ID: 0x41, Priority: 7, ProgramID: 5, ProcessID: -1, ProcedureID: 2}
	data, err := AppendMessage([]byte("before"), want, []byte("body"))
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, "after"...)[len("before"):]
	got, body, err := ReadMessage(data)
	if err != nil || got != want || string(body) != "body" {
		t.Errorf("got %v, %q, %v", got, body, err)
	}
	for field, value := range map[string]uint64{
		"id": 0x41, "size": 4, "priority": 7, "programId": 5, "processId": 0xffffffff, "procedureId": 2,
	} {
		if v, err := ControllerHeader.Get(data[:ControllerHeader.Size], field); err != nil || v != value {
			t.Errorf("%s: got %#x, %v; want %#x", field, v, err, value)
		}
	}
	for _, c := range []struct {
		change func([]byte) []byte
		offset int64
		want   string
	}{
		{func(data []byte) []byte { return data[:23] }, 23, "has 24 bytes, 23 are here"},
		{func(data []byte) []byte { return data[:27] }, 4, "has 4 bytes, 3 are here"},
		{func(data []byte) []byte { data[7] = 0xff; return data }, 4, "the body of the command has"},
		{func(data []byte) []byte { data[8] = 8; return data }, 8, "priority 8"},
		{func(data []byte) []byte { copy(data, "\xff\xff\xff\xff"); return data }, 0, "stands for none"},
	} {
		_, _, err := ReadMessage(c.change(bytes.Clone(data)))
		var format *FormatError
		if !errors.As(err, &format) || format.Offset != c.offset || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want byte 0x%x: … %s", err, c.offset, c.want)
		}
	}
	if _, err := AppendMessage(nil, Header{Priority: 8}, nil); err == nil {
		t.Error("priority 8 is written")
	}
	if _, err := AppendMessage(nil, Header{ID: InvalidID}, nil); err == nil {
		t.Error("the id of no command is written")
	}
}

// The rows of guide C.3.
func TestCodes(t *testing.T) {
	guide := map[string]uint32{
		"kIOReturnSuccess": 0, "kIOReturnError": 0xe0000001, "kIOReturnBusy": 0xe0000007,
		"kIOReturnNoMemory": 0xe00002bd, "kIOReturnNoResources": 0xe00002be, "kIOReturnNotPrivileged": 0xe00002c1,
		"kIOReturnBadArgument": 0xe00002c2, "kIOReturnUnsupported": 0xe00002c7, "kIOReturnNotReady": 0xe00002d0,
		"kIOReturnAborted": 0xe00002eb, "kIOReturnNotFound": 0xe00002f0, "kIOReturnTimeout": 0xe0000404,
		"kIOReturnExclusiveAccess": 0xe00002c5,
	}
	if len(ReturnCodes()) != len(guide) {
		t.Errorf("%d codes, want %d", len(ReturnCodes()), len(guide))
	}
	for _, c := range ReturnCodes() {
		if want, ok := guide[c.Name]; !ok || c.Guide != want {
			t.Errorf("%s: the guide has %#x, the table %#x", c.Name, want, c.Guide)
		}
		for _, value := range []uint32{c.Value, c.Guide} {
			if got, ok := FindReturnCode(value); !ok || got != c {
				t.Errorf("%#x is %v, want %v", value, got, c)
			}
		}
	}
	if _, ok := FindReturnCode(1); ok {
		t.Error("1 is a return code")
	}
	if len(Magics()) != 9 {
		t.Errorf("%d magic numbers, want 9", len(Magics()))
	}
	for i, letters := range []string{"ANEH", "ANEP", "ANES"} {
		if m := Magics()[i]; fourLetters(m.Value) != letters || !strings.HasPrefix(m.Meaning, letters) {
			t.Errorf("%v is not %s", m, letters)
		}
	}
	for _, l := range Limits() {
		if l.Name == "" || l.Source == "" || l.Max >= 0 && l.Min > l.Max {
			t.Errorf("limit %v", l)
		}
	}
}
