package e5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
)

func TestEncodeRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Program)
		want   string
	}{
		{"unknown fields", func(p *Program) { p.Unknown = []string{"byte 0x10: field 4"} }, "would be lost: byte 0x10"},
		{"two functions", func(p *Program) { p.Functions = append(p.Functions, NewFunction("main")) }, `two functions "main"`},
		{"two operations", func(p *Program) { p.Functions[0].Operations()[2].Name = "Op0_Cast" }, `"main__Op0_Cast__arg_frame"`},
		{"extra section", func(p *Program) { p.Extra = []Section{{"__text__", 1, nil}} }, `"__text__"`},
		{"no attributes", func(p *Program) { p.Functions[0].Operations()[1].Attrs = nil }, "function main: Op1_AneInference: it has no attributes"},
		{"kind", func(p *Program) { p.Functions[0].Operations()[1].Attrs = RawAttrs{12, nil} }, "operation kind 12; there are 12"},
		{"raw cast", func(p *Program) { p.Functions[0].Operations()[1].Attrs = RawAttrs{Cast, nil} }, "the attributes of Cast are not raw"},
		{"foreign attributes", func(p *Program) { p.Functions[0].Operations()[1].Attrs = foreign{} }, "attributes of type e5.foreign"},
		{"cast type", func(p *Program) { p.Functions[0].Operations()[0].Attrs = CastAttrs{11, 0, 0} }, "a cast from element type 11 to int4"},
		{"operand type", func(p *Program) { p.Functions[0].Operations()[0].Inputs[0].Tensor.StorageType = -1 }, "operand x: element type -1"},
		{"symbol", func(p *Program) { p.Symbols = []string{"\xff"} }, `symbols: "\xff" is not UTF-8`},
		{"build info", func(p *Program) { p.BuildInfo[0].Value = "\xff" }, "build info"},
		{"alias", func(p *Program) { p.Aliases = []AliasSymbol{{"\xff", "", 0}} }, "alias"},
		{"port", func(p *Program) { p.Functions[0].Inputs[0].Name = "\xff" }, "function main"},
		{"output port", func(p *Program) { p.Functions[0].Outputs[0].Name = "\xff" }, "function main"},
		{"operand", func(p *Program) { p.Functions[0].Operations()[0].Inputs[0].Symbol = "\xff" }, "Op0_Cast"},
		{"size", func(p *Program) { p.Extra = []Section{{"x", 0, make([]byte, maxSize)}} }, "more than 268435456 bytes"},
	} {
		p := canonical(64)
		c.change(p)
		if _, err := p.Encode(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

type foreign struct{}

func (foreign) Kind() OpKind { return Barrier }

// put32 returns a change that writes a number at a place.
func put32(pos int, v uint32) func([]byte) []byte {
	return func(data []byte) []byte { binary.LittleEndian.PutUint32(data[pos:], v); return data }
}

func put16(pos int, v uint16) func([]byte) []byte {
	return func(data []byte) []byte { binary.LittleEndian.PutUint16(data[pos:], v); return data }
}

func TestDamage(t *testing.T) {
	whole := encode(t, canonical(64))
	end := uint32(len(whole))
	at := func(text string) int { // the place of the length before a text
		i := bytes.Index(whole, append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
		if i < 0 {
			t.Fatalf("%q is not in the file", text)
		}
		return i
	}
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		want   string
	}{
		{"empty", func([]byte) []byte { return nil }, "byte 0x0: the reference to the root of 4 bytes"},
		{"no root", put32(0, 0), "byte 0x0: a reference by 0 bytes leads nowhere"},
		{"root outside", put32(0, end+4), "leads nowhere"},
		{"root at the end", put32(0, end), "a table of 4 bytes does not fit"},
		{"root askew", put32(0, 18), "a reference by 18 bytes leads nowhere"},
		{"vtable before the file", put32(16, 20), "byte 0x10: the vtable would be at byte -4"},
		{"vtable after the file", put32(16, 0x80000000), "the vtable would be"},
		{"vtable too short", put16(4, 2), "byte 0x4: a vtable of 2 bytes"},
		{"vtable odd", put16(4, 13), "byte 0x4: a vtable of 13 bytes"},
		{"vtable too long", put16(4, 0xfffe), "a vtable of 65534 bytes does not fit"},
		{"table too short", put16(6, 3), "byte 0x6: a table of 3 bytes"},
		{"table too long", put16(6, 0xffff), "a table of 65535 bytes does not fit"},
		{"three fields", put16(4, 10), "byte 0x4: the root has 3 fields instead of 4"},
		{"field outside", put16(8, 17), "byte 0x8: field 0 of 4 bytes would be at byte 17 of a table of 20"},
		{"field over the vtable's", put16(8, 2), "field 0 of 4 bytes would be at byte 2"},
		{"version", put32(32, 5), "version 5 is not known"},
		{"reference to nothing", put32(20, 0), "byte 0x14: a reference by 0 bytes"},
		{"reference outside", put32(20, 0x7fffffff), "leads nowhere"},
		{"text too long", put32(at("main__block_0"), 0x7fffffff), "a text of 2147483647 bytes does not fit"},
		{"text shorter by one", put32(at("main__block_0"), 12), "a text of 12 bytes does not end with a zero"},
		{"not UTF-8", func(data []byte) []byte { data[at("main__block_0")+4] = 0xff; return data }, "a text is not UTF-8"},
		{"list too long", func(data []byte) []byte {
			pos := 20 + int(binary.LittleEndian.Uint32(data[20:]))
			return put32(pos, 0x7fffffff)(data)
		}, "a list of 2147483647 elements does not fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode(c.change(bytes.Clone(whole)))
			var format *FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	for n := range len(whole) - 3 { // the last may be padding
		if _, err := Decode(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are read without an error", n, len(whole))
		}
	}
	// No single byte makes the reader do anything but read or refuse.
	for i := range whole {
		for _, b := range []byte{0xff, whole[i] ^ 4} {
			data := bytes.Clone(whole)
			data[i] = b
			var format *FormatError
			if _, err := Decode(data); err != nil && !errors.As(err, &format) {
				t.Errorf("byte 0x%x is 0x%02x: %v", i, b, err)
			}
		}
	}
}

// raw makes a descriptor from sections, to say what Encode would not.
func raw(sections []Section, symbols ...string) []byte {
	w := newWriter(256)
	return w.finish(w.root(&encoder{symbols: symbols, sections: sections}, &Program{}))
}

func TestContradictions(t *testing.T) {
	sections := func(p *Program) []Section {
		e := &encoder{numbers: map[string]uint32{}}
		e.program(p)
		return e.sections
	}
	symbols := make([]string, 100)
	for i := range symbols {
		symbols[i] = fmt.Sprint("s", i)
	}
	plain := sections(canonical(64))
	if _, err := Decode(raw(plain, symbols...)); err != nil {
		t.Fatal(err)
	}
	find := func(name string) int { return slices.IndexFunc(plain, func(s Section) bool { return s.Name == name }) }
	other := func(i int, s Section) []Section { return slices.Replace(slices.Clone(plain), i, i+1, s) }
	frame, attrs := find("main__Op1_AneInference__arg_frame"), find("main__Op1_AneInference__op_attrs")

	twice := canonical(64)
	twice.Functions = append(twice.Functions, NewFunction("main"))
	again := canonical(64)
	again.Functions[0].Operations()[2].Name = "Op0_Cast"
	shared := &Program{Functions: []*Function{NewFunction("a"), NewFunction("a__b")}}
	shared.Functions[0].Add(nil, nil, RawAttrs{Op: Barrier}).Name = "b__c"
	shared.Functions[1].Add(nil, nil, RawAttrs{Op: Barrier}).Name = "c"
	fewer := canonical(64)
	fewer.Functions[0].Operations()[1].Inputs = nil
	more := canonical(64)
	more.Functions[0].Operations()[1].Inputs = make([]Operand, 2)
	barrier := canonical(64)
	barrier.Functions[0].Operations()[1].Attrs = RawAttrs{Op: Barrier}
	kind := canonical(64)
	kind.Functions[0].Operations()[1].Attrs = RawAttrs{Op: 13}
	element := canonical(64)
	element.Functions[0].Operations()[1].Outputs[0].Tensor.StorageType = 11
	alias := canonical(64)
	alias.Aliases = []AliasSymbol{{"name", "nobody", 0}}

	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"two sections", raw(append(slices.Clone(plain), plain[0]), symbols...), `sections[9]: there are two sections "__text__"`},
		{"two functions", raw(sections(twice)[:9], symbols...), `functions[1]: there are two functions "main"`},
		{"two operations", raw(dedup(sections(again)), symbols...), `operations[2]: there are two operations "Op0_Cast"`},
		{"one section for two", raw(dedup(sections(shared)), symbols...), `section "a__b__c__arg_frame" would be of two operations`},
		{"other kind", raw(other(frame, Section{plain[frame].Name, Text, plain[frame].Data}), symbols...), "of kind text instead of argument frame"},
		{"no frame", raw(other(frame, Section{"x", 0, nil}), symbols...), `operations[1]: there is no section "main__Op1_AneInference__arg_frame"`},
		{"empty frame", raw(other(frame, Section{plain[frame].Name, ArgFrame, nil}), symbols...), "the reference to the root of 4 bytes does not fit"},
		{"too few operands", raw(other(frame, sections(fewer)[frame]), symbols...), "0 of 1 inputs"},
		{"too many operands", raw(other(frame, sections(more)[frame]), symbols...), "the operation has 1 inputs only"},
		{"attributes of another kind", raw(other(attrs, sections(barrier)[attrs]), symbols...), "attributes of kind 10 for an operation of kind 1"},
		{"kind", raw(sections(kind), symbols...), "operation kind 13; there are 12"},
		{"element type", raw(sections(element), symbols...), "element type 11; there are 11"},
		{"symbol", raw(plain, symbols[:12]...), "of 12"},
		{"symbol of an alias", raw(sections(alias), symbols[:15]...), `__alias__.aliases[0]: symbol 15 of 15`},
		{"other name", raw(rename(sections(canonical(64))), symbols...), `arg_frame is "main__op0_Cast__arg_frame" instead of "main__Op0_Cast__arg_frame"`},
	} {
		_, err := Decode(c.data)
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// dedup leaves out sections whose name stood before.
func dedup(sections []Section) []Section {
	seen := map[string]bool{}
	return slices.DeleteFunc(sections, func(s Section) bool {
		twice := seen[s.Name]
		seen[s.Name] = true
		return twice
	})
}

// rename changes the name of a frame where the operation refers to it.
func rename(sections []Section) []Section {
	sections[0].Data = bytes.Replace(sections[0].Data, []byte("main__Op0_Cast__arg_frame"), []byte("main__op0_Cast__arg_frame"), 1)
	return sections
}

// A field that the schema does not have is noted, and not lost by writing.
func TestUnknownFields(t *testing.T) {
	w := newWriter(64)
	functions := each(w, []string{"f"}, func(name string) flatbuffers.UOffsetT {
		at := w.CreateString(name)
		blocks := each(w, nil, w.CreateString)
		path := w.CreateString("")
		return w.table(ref(at), ref(path), ref(blocks), u32(7))
	})
	text := w.finish(w.table(ref(functions)))
	p := decode(t, raw([]Section{{textSection, Text, text}}))
	if len(p.Unknown) != 1 || !strings.Contains(p.Unknown[0], "__text__.functions[0]: field 3") {
		t.Errorf("unknown: %q", p.Unknown)
	}
	if _, err := p.Encode(); err == nil {
		t.Error("it is written nevertheless")
	}
}

// References to the same bytes, again and again, end in an error before they
// fill the memory.
func TestOverlap(t *testing.T) {
	for name, data := range map[string][]byte{
		"one text": func() []byte {
			w := newWriter(64)
			long := w.CreateString(strings.Repeat("x", 1<<12))
			names := each(w, make([]int, 1<<12), func(int) flatbuffers.UOffsetT { return long })
			sections := each(w, []string{}, w.CreateString)
			return w.finish(w.table(ref(names), ref(w.table(ref(sections))), ref(sections), u32(FormatVersion)))
		}(),
		"one table": func() []byte {
			w := newWriter(64)
			text := w.CreateString("")
			entry := w.table(ref(text), ref(text))
			entries := each(w, make([]int, 1<<14), func(int) flatbuffers.UOffsetT { return entry })
			none := each(w, []string{}, w.CreateString)
			return w.finish(w.table(ref(none), ref(w.table(ref(entries))), ref(none), u32(FormatVersion)))
		}(),
	} {
		_, err := Decode(data)
		if err == nil || !strings.Contains(err.Error(), "referred to too often") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Whatever is read is written in a form that is read as the same; everything
// else is a FormatError.
func FuzzE5(f *testing.F) {
	// Small ones: the fuzzer spends its time on making what it finds smaller.
	f.Add(encode(f, &Program{}))
	f.Add(encode(f, &Program{Aliases: []AliasSymbol{{"b", "a", 1}}, Extra: []Section{{"x", 9, []byte("y")}}}))
	for _, attrs := range []Attrs{CastAttrs{}, AneInferenceAttrs{}, CpuInferenceAttrs{}, RawAttrs{Op: JitCall}} {
		function := NewFunction("f")
		function.Inputs = []IOPort{{Name: "x", ByteSize: 2}}
		function.Add([]Operand{vector("x", 1)}, nil, attrs)
		f.Add(encode(f, &Program{Functions: []*Function{function}}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		IsDescriptor(data)
		p, err := Decode(data)
		if err != nil {
			var format *FormatError
			if !errors.As(err, &format) {
				t.Errorf("error %v is of type %T", err, err)
			}
			return
		}
		if len(p.Unknown) > 0 {
			return
		}
		written, err := p.Encode()
		if err != nil {
			t.Fatalf("what was read is not written: %v", err)
		}
		again, err := Decode(written)
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(twice, written) {
			t.Errorf("written twice, it differs: %v", err)
		}
	})
}
