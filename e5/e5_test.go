package e5

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// vector is an fp16 tensor [1, 1, 1, n] as the resolved frame of the seed's
// sample has it, with all strides 128 bytes but the last.
func vector(name string, n uint64) Operand {
	return Operand{name, NCHW(Float16, [4]uint64{1, 1, 1, n}, [4]uint64{128, 128, 128, 2})}
}

// canonical is a linear layer from k to 64: a cast, one inference, a cast.
func canonical(k uint64) *Program {
	f := NewFunction("main")
	f.AneHashPath = "main/main_ane/model.anehash"
	f.Inputs = []IOPort{{Name: "x", ByteSize: 2 * k, Aperture: 0x30008000, Tensor: NCHW(Float16, [4]uint64{1, k, 1, 1}, [4]uint64{64 * k, 64, 64, 2})}}
	f.Outputs = []IOPort{{Name: "y", ByteSize: 128, Aperture: 0x3000c000, Tensor: NCHW(Float16, [4]uint64{1, 1, 1, 64}, [4]uint64{128, 128, 128, 2})}}
	f.Add([]Operand{vector("x", k)}, []Operand{vector("t0", k)}, CastAttrs{Float16, Float16, 1})
	f.Add([]Operand{vector("t0", k)}, []Operand{vector("t2", 64)}, AneInferenceAttrs{
		ProcedureName: "main_ane", AneHash: strings.Repeat("0", 64), ProgramSymbol: "000.hwx", CompilerOptions: "-t h13g",
	})
	f.Add([]Operand{vector("t2", 64)}, []Operand{vector("y", 64)}, CastAttrs{Float16, Float16, 1})
	return &Program{
		BuildInfo: []KeyValue{{"on-device-compilation", "true"}, {"input-file-path", "model.mil"}},
		Functions: []*Function{f},
	}
}

// everything has all kinds of operation and element type, two functions, two
// blocks, aliases and a section that nothing refers to.
func everything() *Program {
	f := NewFunction("all")
	for kind := range OpKind(NumOpKinds) {
		var attrs Attrs
		switch kind {
		case Cast:
			attrs = CastAttrs{Int4, UInt64, -1}
		case AneInference:
			attrs = AneInferenceAttrs{"p", "h", "s", 7, "o"}
		case CpuInference:
			attrs = CpuInferenceAttrs{"host_0"}
		default:
			attrs = RawAttrs{kind, bytes.Repeat([]byte{byte(kind)}, int(kind))}
		}
		var inputs []Operand
		for e := range ElementType(NumElementTypes) {
			inputs = append(inputs, Operand{fmt.Sprint("in_", e), NCHW(e, [4]uint64{1, 2, 3, uint64(e)}, [4]uint64{24, 12, 4, 1})})
		}
		f.Add(inputs, nil, attrs)
		if kind == 5 {
			f.Blocks = append(f.Blocks, &Block{Name: "all__block_1"})
		}
	}
	five := TensorDescriptor{Dim: []uint64{1, 2, 3, 4, 5}, Stride: []uint64{}, SequenceLength: 1 << 63, StrideSequenceLength: 9}
	f.Operations()[3].Outputs = []Operand{{"übung", five}}
	return &Program{
		Functions: []*Function{f, NewFunction("empty"), {Name: "no blocks"}},
		Aliases:   []AliasSymbol{{"also", "in_int4", 64}, {"new", "nobody", 0}},
		Symbols:   []string{"first", "in_uint8", "first"},
		Extra:     []Section{{"__const__", 99, []byte{1, 2, 3}}, {"", 0, nil}},
	}
}

func encode(t testing.TB, p *Program) []byte {
	t.Helper()
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t testing.TB, data []byte) *Program {
	t.Helper()
	p, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCanonical(t *testing.T) {
	p := canonical(64)
	data := encode(t, p)
	testkit.Golden(t, "testdata/canonical.hex", []byte(hex.Dump(data)))
	testkit.Golden(t, "testdata/canonical.txt", []byte(walk(t, data)))
	got := decode(t, data)
	got.Symbols = nil
	if !reflect.DeepEqual(got, p) {
		t.Errorf("got %+v, want %+v", got, p)
	}
	var names []string
	for _, op := range got.Function("main").Operations() {
		names = append(names, op.Name)
	}
	if want := []string{"Op0_Cast", "Op1_AneInference", "Op2_Cast"}; !slices.Equal(names, want) {
		t.Errorf("operations %q, want %q", names, want)
	}
	if got.Function("other") != nil {
		t.Error("there is a function that is none")
	}
}

// The root has the bytes of seed 23.1 and 23.2, whatever the sections are.
func TestRootBytes(t *testing.T) {
	const tag = "0c00" + "1400" + "0400" + "0800"
	for size := range 64 {
		p := canonical(64)
		p.Extra = []Section{{strings.Repeat("x", size%7), 0, make([]byte, size)}}
		data := encode(t, p)
		if want := "10000000" + tag + "0c00" + "1000" + "0c000000"; hex.EncodeToString(data[:20]) != want {
			t.Fatalf("the file begins with %x, want %s", data[:20], want)
		}
		root := buffer{&reading{left: 1 << 20}, data, 0}.root("", rootTable)
		for i, row := range []struct {
			name   string
			offset int
		}{{"symbol_names", 4}, {"build_info", 8}, {"sections", 12}, {"format_version", 16}} {
			if pos, ok := root.field(i, 4); !ok || pos-root.pos != row.offset || rootTable.Fields[i].Name != row.name {
				t.Errorf("field %d (%s) stands at %d of the root, want %s at %d", i, rootTable.Fields[i].Name, pos-root.pos, row.name, row.offset)
			}
		}
		if v := root.uint32(3); v != 4 {
			t.Errorf("version %d", v)
		}
		if !IsDescriptor(data) {
			t.Error("not recognised")
		}
	}
	for _, data := range [][]byte{nil, make([]byte, 100), []byte("program(1.0)\n{ func main"), bytes.Repeat([]byte{0xff}, 64)} {
		if IsDescriptor(data) {
			t.Errorf("%x is a descriptor", data)
		}
	}
}

// The descriptor's size follows the dispatches, not the shapes.
func TestSize(t *testing.T) {
	small, large := len(encode(t, canonical(64))), len(encode(t, canonical(256)))
	if small != large {
		t.Errorf("%d bytes for an inner dimension of 64, %d for 256", small, large)
	}
	cut := canonical(64)
	f := cut.Functions[0]
	f.Blocks[0].Operations = f.Blocks[0].Operations[:1]
	for range 3 {
		f.Add([]Operand{vector("t0", 64)}, []Operand{vector("t2", 64)}, AneInferenceAttrs{})
	}
	if n := len(encode(t, cut)); n <= small {
		t.Errorf("%d bytes for three segments, %d for one", n, small)
	}
}

func TestEverything(t *testing.T) {
	p := everything()
	data := encode(t, p)
	walk(t, data)
	got := decode(t, data)
	if again := encode(t, got); !bytes.Equal(again, data) {
		t.Error("what was read is written differently")
	}
	if again := encode(t, p); !bytes.Equal(again, data) {
		t.Error("written twice, it differs")
	}
	seen := map[OpKind]bool{}
	for i, op := range got.Functions[0].Operations() {
		want := p.Functions[0].Operations()[i]
		seen[op.Kind()] = true
		if !reflect.DeepEqual(op, want) {
			t.Errorf("got %+v, want %+v", op, want)
		}
		for e := range ElementType(NumElementTypes) {
			if op.Inputs[e].Tensor.StorageType != e || op.Inputs[e].Symbol != "in_"+e.String() {
				t.Errorf("%s: input %d is %+v", op.Name, e, op.Inputs[e])
			}
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d kinds of operation", len(seen))
	}
	if !reflect.DeepEqual(got.Aliases, p.Aliases) {
		t.Errorf("aliases %v, want %v", got.Aliases, p.Aliases)
	}
	if !slices.Equal(got.Symbols[:3], p.Symbols) || got.Symbols[3] != "all" {
		t.Errorf("symbols %q", got.Symbols)
	}
	if len(got.Extra) != 2 || got.Extra[0].Kind != 99 || string(got.Extra[0].Data) != "\x01\x02\x03" {
		t.Errorf("extra %v", got.Extra)
	}
	// The budget has room for what we write.
	r := &reading{left: budget(len(data))}
	(&decoder{file: buffer{r, data, 0}}).program()
	if used := budget(len(data)) - r.left; used > 3*len(data) {
		t.Errorf("%d bytes are visited in a file of %d", used, len(data))
	}
}

// The rows of listing 23.1 and table 23.12, in their order.
func TestKinds(t *testing.T) {
	for i, name := range strings.Fields(`Cast AneInference EirInference CpuInference BnnsCpuInference
		MlcCpuInference MpsGraphInference E5MinimalCpu Quant Dequant Barrier JitCall`) {
		if OpKind(i).String() != name || i >= NumOpKinds {
			t.Errorf("kind %d is %v, want %s", i, OpKind(i), name)
		}
	}
	for i, name := range strings.Fields("int4 uint8 int8 float16 float32 int16 uint16 int32 uint32 int64 uint64") {
		e := ElementType(i)
		if e.String() != name || i >= NumElementTypes {
			t.Errorf("element type %d is %v, want %s", i, e, name)
		}
		if back, ok := ElementTypeOf(e.DType()); !ok || back != e {
			t.Errorf("%v is %v in package tensor, which is %v", e, e.DType(), back)
		}
	}
	if _, ok := ElementTypeOf(tensor.Bool); ok {
		t.Error("bool has a code")
	}
	if NumOpKinds != 12 || NumElementTypes != 11 || ElementType(11).DType() != tensor.Invalid {
		t.Error("a table has too many rows")
	}
	if got := fmt.Sprint(OpKind(-1), ElementType(11), SectionKind(0), Text); got != "operation kind -1 element type 11 section kind 0 text" {
		t.Error(got)
	}
}

// The tables that the serializer's methods prove, seed 23.3, are in the schema.
func TestSchema(t *testing.T) {
	names := map[string]*Table{}
	for _, table := range Tables() {
		if table.Source == "" || names[table.Name] != nil {
			t.Errorf("table %s has no source or stands twice", table.Name)
		}
		names[table.Name] = table
	}
	for _, want := range []string{"Function", "Block", "Operation", "ArgFrame", "Operand", "IOPort", "AliasSymbol", "BuildInfo", "CastAttrs"} {
		if names[want] == nil {
			t.Errorf("no table %s", want)
		}
	}
	var alias []string
	for _, f := range names["AliasSymbol"].Fields {
		alias = append(alias, f.Name)
	}
	if got := strings.Join(alias, ", "); got != "name, symbol_index, addr_offset" {
		t.Errorf("an alias is {%s}", got)
	}
	// Listing 23.2, without the two pointers that are not on the wire.
	var fields []string
	for _, f := range names["TensorDescriptor"].Fields {
		fields = append(fields, f.Name)
	}
	if got, want := strings.Join(fields, " "), `dim stride width height channels batch_number sequence_length stride_width `+
		`stride_height stride_channels stride_batch_number stride_sequence_length storage_type component_pack`; got != want {
		t.Errorf("a tensor descriptor has %s", got)
	}
}

// walk shows a descriptor by the schema, independently of the decoder: so the
// goldens show that the schema is what is written.
func walk(t testing.TB, data []byte) string {
	t.Helper()
	var out strings.Builder
	byName := map[string]*Table{}
	for _, table := range Tables() {
		byName[table.Name] = table
	}
	nested := map[SectionKind]*Table{
		Text: textTable, ExternIn: portsTable, ExternOut: portsTable, ArgFrame: argFrameTable, OpAttrs: attrsTable, Aliases: aliasesTable,
	}
	r := &reading{left: 1 << 30}
	var show func(indent string, at table, schema *Table)
	show = func(indent string, at table, schema *Table) {
		for i, f := range schema.Fields {
			pos, ok := at.field(i, 1)
			if !ok {
				t.Errorf("%s.%s is absent", schema.Name, f.Name)
				continue
			}
			fmt.Fprintf(&out, "%s+%d %s", indent, pos-at.pos, f.Name)
			element, isList := strings.CutPrefix(f.Type, "[")
			element = strings.TrimSuffix(element, "]")
			child := byName[element]
			switch {
			case f.Name == "data" && schema == sectionTable:
				content, base := at.bytes(i)
				fmt.Fprintf(&out, ": %d bytes at a multiple of 8: %t\n", len(content), base%8 == 0)
				if inner := nested[SectionKind(at.uint32(1))]; inner != nil {
					show(indent+"    ", buffer{r, content, base}.root(f.Name, inner), inner)
				}
			case f.Type == "OpAttrs":
				kind := OpKind(at.uint8(0)) - 1
				child := map[OpKind]*Table{Cast: castTable, AneInference: aneInferenceTable, CpuInference: cpuInferenceTable}[kind]
				if child == nil {
					child = rawTable
				}
				fmt.Fprintf(&out, " %s\n", child.Name)
				show(indent+"    ", at.child(i, f.Name, child), child)
			case isList && child != nil:
				out.WriteString("\n")
				n := 0
				at.children(i, f.Name, child, func(item table) {
					fmt.Fprintf(&out, "%s  [%d]\n", indent, n)
					show(indent+"    ", item, child)
					n++
				})
			case child != nil:
				out.WriteString("\n")
				show(indent+"    ", at.child(i, f.Name, child), child)
			case f.Type == "[string]":
				fmt.Fprintf(&out, ": %q\n", at.texts(i))
			case f.Type == "[uint]":
				fmt.Fprintf(&out, ": %d\n", at.uint32s(i))
			case f.Type == "[ulong]":
				fmt.Fprintf(&out, ": %d\n", at.uint64s(i))
			case f.Type == "[ubyte]":
				content, _ := at.bytes(i)
				fmt.Fprintf(&out, ": %x\n", content)
			case f.Type == "string":
				fmt.Fprintf(&out, ": %q\n", at.text(i))
			case f.Type == "ulong":
				fmt.Fprintf(&out, ": %#x\n", at.uint64(i))
			case f.Type == "ubyte":
				fmt.Fprintf(&out, ": %d\n", at.uint8(i))
			default: // int, uint and the enumerations
				fmt.Fprintf(&out, ": %d\n", int32(at.uint32(i)))
			}
		}
	}
	show("", buffer{r, data, 0}.root("", rootTable), rootTable)
	if r.err != nil || len(r.unknown) > 0 {
		t.Errorf("%v, %v", r.err, r.unknown)
	}
	return out.String()
}
