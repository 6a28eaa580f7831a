package td

import "fmt"

// A version-10 task on the wire is a list of records of 44 bytes: a count of the
// 40 bytes that follow, the address of a register, and one or two values (seed,
// "Hardware task descriptor"; guide 28). The sources say that much and no more.
// Read here as: the count 0x28, a 64-bit address, two 64-bit values, 16 bytes of
// unknown use.
//
// A Task holds the low word of the address and of the first value as a Record of
// one word; the nine others stand in its header, in their order, nine for each
// record.

const (
	v10RecordWords = 11
	v10Count       = 4 * (v10RecordWords - 1)
	v10Rest        = v10RecordWords - 2

	v10Addr  = 1 // index of the low word of the address
	v10Value = 3 // index of the low word of the first value
)

func decodeV10(_ Version, words []uint32) (*Task, error) {
	if len(words)%v10RecordWords != 0 {
		return nil, formatError(4*(len(words)/v10RecordWords*v10RecordWords), "want records of %d bytes, %d bytes are left", 4*v10RecordWords, 4*(len(words)%v10RecordWords))
	}
	t := &Task{Version: V10}
	for at := 0; at < len(words); at += v10RecordWords {
		w := words[at : at+v10RecordWords]
		if w[0] != v10Count {
			return nil, formatError(4*at, "a record begins with %#x, this one with %#x", v10Count, w[0])
		}
		if w[v10Addr]%4 != 0 {
			return nil, formatError(4*(at+v10Addr), "register address %#x is no multiple of 4", w[v10Addr])
		}
		for i, v := range w {
			if i != v10Addr && i != v10Value {
				t.Header = append(t.Header, v)
			}
		}
		t.Records = append(t.Records, Record{w[v10Addr], []uint32{w[v10Value]}})
	}
	return t, nil
}

func encodeV10(t *Task) ([]uint32, error) {
	if len(t.Header) != v10Rest*len(t.Records) {
		return nil, fmt.Errorf("td: %d records of %v take %d header words, here are %d", len(t.Records), V10, v10Rest*len(t.Records), len(t.Header))
	}
	words := make([]uint32, 0, v10RecordWords*len(t.Records))
	for i, r := range t.Records {
		if len(r.Words) != 1 || r.Addr%4 != 0 {
			return nil, fmt.Errorf("td: record %d: want one word at a multiple of 4, got %d at %#x", i, len(r.Words), r.Addr)
		}
		rest := t.Header[v10Rest*i:]
		words = append(words, v10Count, r.Addr, rest[1], r.Words[0])
		words = append(words, rest[2:v10Rest]...)
	}
	return words, nil
}

func wordV10(t *Task, register uint32) int {
	for i, r := range t.Records {
		if r.Addr == register {
			return i*v10RecordWords + v10Value
		}
	}
	return -1
}

// SparseV10 returns the task that brings registers from their defaults to the
// image: one record for each register that differs, in the order of the groups.
// What the architecture's defaults are is not known; a nil default is all zeros.
func SparseV10(image, defaults *Registers) *Task {
	t := &Task{Version: V10}
	for _, b := range v10.Blocks {
		for i := range b.Words {
			addr := b.Addr + 4*uint32(i)
			w, _ := image.Word(addr)
			var d uint32
			if defaults != nil {
				d, _ = defaults.Word(addr)
			}
			if w == d {
				continue
			}
			t.Records = append(t.Records, Record{addr, []uint32{w}})
			t.Header = append(t.Header, v10Count)
			t.Header = append(t.Header, make([]uint32, v10Rest-1)...)
		}
	}
	return t
}
