package firmware

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// sample has every kind of section and one of a kind without a name, contents
// that fill their granule and that do not, and reserved bytes that are not zero.
func sample() *Package {
	p := &Package{}
	p.Reserved[43] = 7
	first := &Program{Identity: [32]byte{1, 2, 3}, Slot: -1, Procedures: 2}
	for kind := range SectionKind(NumSectionKinds + 1) {
		data := bytes.Repeat([]byte{byte(kind) + 1}, int(kind)*16)
		first.Sections = append(first.Sections, &Section{Kind: kind, Address: uint64(kind) << 14, Data: data})
	}
	first.Sections[2].Reserved[0] = 9
	second := &Program{Identity: [32]byte{31: 1}, Slot: 3, Reserved: [8]byte{7: 5}}
	p.Programs = []*Program{first, second}
	return p
}

func encode(t testing.TB, p *Package) []byte {
	t.Helper()
	data, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestContainer(t *testing.T) {
	want := sample()
	data := encode(t, want)
	testkit.Golden(t, "testdata/package.hex", []byte(hex.Dump(data)))
	got, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Programs[1].Sections, want.Programs[1].Sections) {
		t.Error("a program without sections differs")
	}
	for i, s := range want.Programs[0].Sections {
		g := got.Programs[0].Sections[i]
		if g.Kind != s.Kind || g.Address != s.Address || g.Reserved != s.Reserved || !bytes.Equal(g.Data, s.Data) {
			t.Errorf("section %v: got %v, want %v", s.Kind, g, s)
		}
	}
	if again := encode(t, got); !bytes.Equal(again, data) {
		t.Error("what was read is written differently")
	}
	if got.Program(want.Programs[1].Identity) != got.Programs[1] || got.Program([32]byte{9}) != nil {
		t.Error("a program is not found by its identity")
	}
	if got.Programs[0].Section(Text) != got.Programs[0].Sections[Text] || got.Programs[1].Section(Text) != nil {
		t.Error("a section is not found by its kind")
	}
	if !IsPackage(data) || IsPackage([]byte("ANEH")) || IsPackage(nil) {
		t.Error("IsPackage is wrong")
	}
	// As a scan of raw bytes finds them, guide C.3.
	for i, tag := range map[int]string{0: "HENA", headerSize: "PENA", 2 * headerSize: "SENA"} {
		if string(data[i:i+4]) != tag {
			t.Errorf("byte 0x%x: %q instead of %q", i, data[i:i+4], tag)
		}
	}
}

func TestContainerLayouts(t *testing.T) {
	data := encode(t, sample())
	for _, c := range []struct {
		layout *Layout
		start  int
		field  string
		want   uint64
	}{
		{PackageHeader, 0, "magic", PackageMagic},
		{PackageHeader, 0, "version", 1},
		{PackageHeader, 0, "size", uint64(len(data))},
		{PackageHeader, 0, "programs", 2},
		{ProgramHeader, 64, "magic", ProgramMagic},
		{ProgramHeader, 64, "sections", 10},
		{ProgramHeader, 64, "slot", 0xffffffff},
		{ProgramHeader, 64, "procedures", 2},
		{SectionHeader, 192, "magic", SectionMagic},
		{SectionHeader, 192, "kind", uint64(Kernel)},
		{SectionHeader, 192, "size", 16},
		{SectionHeader, 192, "address", 1 << 14},
	} {
		got, err := c.layout.Get(data[c.start:c.start+c.layout.Size], c.field)
		if err != nil || got != c.want {
			t.Errorf("%s.%s: got %#x, %v; want %#x", c.layout.Name, c.field, got, err, c.want)
		}
	}
}

func TestContainerDamage(t *testing.T) {
	whole := encode(t, sample())
	for _, c := range []struct {
		name   string
		change func(data []byte) []byte
		offset int64
		want   string
	}{
		{"empty", func(data []byte) []byte { return nil }, 0, "a header has 64 bytes, 0 are left"},
		{"other byte order", func(data []byte) []byte { copy(data, "ANEH"); return data }, 0, "ANEH stands in the other byte order"},
		{"other magic", func(data []byte) []byte { data[64] = 'X'; return data }, 64, "magic 0x414e4558 instead of 0x414e4550 (ANEP)"},
		{"version", func(data []byte) []byte { data[4] = 2; return data }, 4, "version 2"},
		{"size", func(data []byte) []byte { data[8]++; return data }, 8, "by its header"},
		{"trailing", func(data []byte) []byte {
			data = append(data, 0)
			binary.LittleEndian.PutUint64(data[8:], uint64(len(data)))
			return data
		}, int64(len(whole)), "1 bytes follow the last program"},
		{"too many programs", func(data []byte) []byte { data[19] = 0xff; return data }, int64(len(whole)), "a header has 64 bytes, 0 are left"},
		{"huge program", func(data []byte) []byte { data[64+15] = 0xff; return data }, 72, "the program has"},
		{"tiny program", func(data []byte) []byte { binary.LittleEndian.PutUint64(data[72:], 63); return data }, 72, "the program has 63 bytes"},
		{"too few sections", func(data []byte) []byte { data[68]--; return data }, 0x5c0, "follow the last section"},
		{"too many sections", func(data []byte) []byte { data[71] = 0xff; return data }, 0x6c0, "a header has 64 bytes, 0 are left"},
		{"huge section", func(data []byte) []byte { data[128+15] = 0xff; return data }, 136, "the section has"},
		{"padding", func(data []byte) []byte { data[256+16] = 1; return data }, 256 + 16, "padding is 0x01"},
		{"same identity", func(data []byte) []byte {
			copy(data[0x6c0+16:0x6c0+48], data[64+16:])
			return data
		}, 0x6c0 + 16, "the program at byte 0x40 has the same identity"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(c.change(bytes.Clone(whole)))
			var format *FormatError
			if !errors.As(err, &format) || format.Offset != c.offset || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want byte 0x%x: … %s", err, c.offset, c.want)
			}
		})
	}
	for n := range whole {
		if _, err := Read(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are read without an error", n, len(whole))
		}
	}
	twins := sample()
	twins.Programs[1].Identity = twins.Programs[0].Identity
	if _, err := twins.Encode(); err == nil {
		t.Error("two programs with one identity are written")
	}
}

// Whatever is read is written back as it was; everything else is a FormatError.
func FuzzFirmware(f *testing.F) {
	f.Add(encode(f, sample()))
	f.Add(encode(f, &Package{}))
	message, err := AppendMessage(nil, Header{ID: 0x41, Priority: 3, ProgramID: -1}, []byte("body"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(message)
	f.Fuzz(func(t *testing.T, data []byte) {
		var format *FormatError
		p, err := Read(data)
		if err == nil {
			again, err := p.Encode()
			if err != nil || !bytes.Equal(again, data) {
				t.Errorf("written differently, %v", err)
			}
		} else if !errors.As(err, &format) {
			t.Errorf("error %v is of type %T", err, err)
		}
		h, body, err := ReadMessage(data)
		if err == nil {
			again, err := AppendMessage(nil, h, body)
			if err != nil || !bytes.Equal(again, data[:len(again)]) {
				t.Errorf("the message is written differently, %v", err)
			}
		} else if !errors.As(err, &format) {
			t.Errorf("error %v is of type %T", err, err)
		}
		for _, l := range Layouts() {
			if parts, err := l.Parts(data); err == nil && len(parts) == 0 {
				t.Errorf("%s has no parts", l.Name)
			}
		}
	})
}
