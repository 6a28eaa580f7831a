package netplist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A bplist writes binary lists, also such as no writer would.
type bplist struct{ objects [][]byte }

func (b *bplist) add(object []byte) byte {
	b.objects = append(b.objects, object)
	return byte(len(b.objects) - 1)
}

func (b *bplist) bytes(top byte) []byte {
	data := []byte("bplist00")
	var offsets []byte
	for _, o := range b.objects {
		offsets = binary.BigEndian.AppendUint32(offsets, uint32(len(data)))
		data = append(data, o...)
	}
	table := len(data)
	data = append(data, offsets...)
	data = append(data, 0, 0, 0, 0, 0, 0, 4, 1)
	data = binary.BigEndian.AppendUint64(data, uint64(len(b.objects)))
	data = binary.BigEndian.AppendUint64(data, uint64(top))
	return binary.BigEndian.AppendUint64(data, uint64(table))
}

// hostile are lists that cost more than they weigh.
func hostile() map[string][]byte {
	var bomb bplist // each array holds the one before fourteen times
	at := bomb.add([]byte{0x51, 'x'})
	for range 30 {
		at = bomb.add(append([]byte{0xae}, bytes.Repeat([]byte{at}, 14)...))
	}
	var self bplist
	self.add([]byte{0xa1, 0})
	var ring bplist
	ring.add([]byte{0xa1, 1})
	ring.add([]byte{0xa1, 0})
	var deep bplist
	at = deep.add([]byte{0x51, 'x'})
	for range 200 {
		at = deep.add([]byte{0xa1, at})
	}
	var count bplist
	count.add([]byte{0xaf, 0x13, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0})
	var text bplist // a string of 16 MiB, two hundred times
	s := append([]byte{0x6f, 0x12, 0, 0x80, 0, 0}, make([]byte, 16<<20)...)
	long := text.add(s)
	all := text.add(append([]byte{0xaf, 0x10, 200}, bytes.Repeat([]byte{long}, 200)...))
	head := `<?xml version="1.0"?><plist version="1.0">`
	lists := map[string][]byte{
		"shared references":      bomb.bytes(at30(&bomb)),
		"an array of itself":     self.bytes(0),
		"a ring of arrays":       ring.bytes(0),
		"deep binary":            deep.bytes(at),
		"a count beyond all":     count.bytes(0),
		"a long text repeated":   text.bytes(all),
		"deep XML":               []byte(head + strings.Repeat("<array>", 1<<20)),
		"deep XML that ends":     []byte(head + strings.Repeat("<array>", 1<<17) + strings.Repeat("</array>", 1<<17) + "</plist>"),
		"many elements":          []byte(head + "<array>" + strings.Repeat("<true/>", 4<<20) + "</array></plist>"),
		"an entity that expands": []byte(`<?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><plist><string>&b;</string></plist>`),
		"an unknown entity":      []byte(head + `<dict><key>Networks</key><string>&b;</string></dict></plist>`),
		"a tag without an end":   []byte(head + "<dict " + strings.Repeat("a='", 1<<20)),
		"too large":              append([]byte(head), make([]byte, maxSize)...),
		"nothing":                nil,
		"bplist and no more":     []byte("bplist00"),
		"no plist":               []byte("<html><array></array></html>"),
		"bytes in brackets":      []byte("<0123456789abcdef>"),
		"OpenStep":               []byte(`{ Networks = (net); net = {}; }`),
		"identifiers":            []byte("bplist00\x80\x01\x08\x00\x00\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0a"),
	}
	for _, size := range []int{0, 9, 255} {
		b := self.bytes(0)
		b[len(b)-25] = byte(size) // of references
		lists[fmt.Sprintf("references of %d bytes", size)] = b
	}
	return lists
}

func at30(b *bplist) byte { return byte(len(b.objects) - 1) }

// Each gets an error, and costs little. (What it may cost at most, 2 s and 1 GiB, is far off.)
func TestHostileLists(t *testing.T) {
	for name, data := range hostile() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(data)
		runtime.ReadMemStats(&after)
		if e, ok := errors.AsType[*Error](err); !ok || e.Code != InvalidNetworkSourceFileName {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%s: %d bytes allocated", name, used)
		}
	}
}

// A list that speaks of networks is one, so that its reader says what is wrong with it; others are not.
func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		`<?xml version="1.0"?><plist version="1.0"><dict><key>Networks</key></dict></plist>`: true,
		"<plist><dict><key>Networks</key>":                                                   true, // cut off
		"bplist00 Networks":                                                                  true,
		"<plist><dict><key>CFBundleName</key><string>a</string></dict></plist>":              false,
		"bplist00":                      false,
		"<html>Networks</html>":         false,
		"Networks":                      false,
		"":                              false,
		"graph g\ninput %x : fp16[1]\n": false,
	} {
		if Is([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// What a file model.espresso.net else holds is refused by name.
func TestEspressoNetworks(t *testing.T) {
	for _, text := range []string{`{"storage":"model.espresso.weights","format_version":200,"layers":[{"type":"inner_product"}]}`, "pbze\x00\x00\x00"} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), "Espresso framework") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A list of a thousand units is read.
func TestLargeList(t *testing.T) {
	f := &File{Version: "1.0.9", Networks: []*Network{{Name: "net"}}}
	for i := range 1000 {
		name := fmt.Sprintf("unit%d", i)
		f.Networks[0].Units = append(f.Networks[0].Units, &Unit{Name: name, Type: "Neuron", Bottom: []string{name}, Params: Dict{"Type": "ReLU"}})
	}
	for _, form := range []Form{XML, Binary} {
		if g := again(t, f, form); len(g.Networks[0].Units) != 1000 {
			t.Errorf("%d units", len(g.Networks[0].Units))
		}
	}
}

// Procedures that share a network do not multiply it.
func TestManyProcedures(t *testing.T) {
	f := &File{Version: "1.0.10", Networks: []*Network{{Name: "net"}}}
	for i := range 200 {
		u := &Unit{Name: fmt.Sprint("u", i), Type: "Neuron", Bottom: []string{"x"}, Params: Dict{"Type": "ReLU"}}
		f.Networks[0].Units = append(f.Networks[0].Units, u)
		e := &Entry{Name: fmt.Sprint("p", i), Operations: []Operation{{Network: "net"}}, Inputs: []*Port{{Symbol: "x"}}, Outputs: []*Port{{Symbol: "y", Unit: "u0"}}}
		f.ProcedureList = append(f.ProcedureList, e)
	}
	if _, _, err := f.Procedures(nil); err == nil || !strings.Contains(err.Error(), "units over all procedures") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	for name, data := range hostile() {
		if len(data) < 1<<12 {
			f.Add(data)
		} else if testing.Verbose() {
			f.Logf("%s is too large for a seed", name)
		}
	}
	for _, g := range seedLists(f) {
		f.Add(g)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := Read(data)
		if err != nil {
			return
		}
		// What was read can be written, unless names collide with lists, and from then on stays as it is. (XML has no place for
		// some characters, so that the first time may differ.)
		for _, form := range []Form{XML, Binary} {
			var texts [3][]byte
			for i := range texts {
				var buf bytes.Buffer
				if err := list.Write(&buf, form); err != nil {
					return
				}
				texts[i] = buf.Bytes()
				if list, err = Read(texts[i]); err != nil {
					t.Fatalf("%v\n%q", err, texts[i])
				}
			}
			if !bytes.Equal(texts[1], texts[2]) {
				t.Fatalf("%q\n%q", texts[1], texts[2])
			}
		}
		weights := make([]byte, 1<<16)
		procedures, _, err := list.Procedures(func(string) ([]byte, error) { return weights, nil })
		if err != nil {
			return
		}
		for _, p := range procedures {
			if n := len(p.Graph.Layers); n > 64 {
				return
			}
		}
		for _, p := range procedures {
			if _, _, _, err := FromGraphs(graphsOf(p)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
