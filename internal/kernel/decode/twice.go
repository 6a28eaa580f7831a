package decode

import "encoding/binary"

// A Twice is lines of codes, of up to 6 bits, for each of which two tables have a
// number: 32 codes of a line at a time, which go side by side.
//
//	codes     line 0   a b c … | …                first   a b c … , 32 of them
//	          line 1   d e f … | …                second  as far after it, as it is told
type Twice struct {
	Dst                 []byte
	Group, Second, Line int // bytes from 32 codes to the next, from first numbers to second ones, from a line to the next
	Codes               []byte
	Apart               int // bytes from a line of codes to the next
	Bits                int
	Lines, Groups       int // groups of 32, of a line
	First, Last         *Table
}

// Look writes the numbers.
func (t *Twice) Look() {
	if t.Lines <= 0 || t.Groups <= 0 {
		return
	}
	if min(t.Group, t.Second, t.Line, t.Apart) < 0 || t.Bits > 6 {
		panic("bug: lines of codes that go backwards, or of too many bits")
	}
	_ = t.Dst[(t.Lines-1)*t.Line+(t.Groups-1)*t.Group+t.Second+63]
	_ = t.Codes[(t.Lines-1)*t.Apart+t.Groups*4*t.Bits-1]
	if lookTwiceFast(t) {
		return
	}
	for l := range t.Lines {
		codes := t.Codes[l*t.Apart:]
		for i := range 32 * t.Groups {
			c, at := Code(codes, i, t.Bits), l*t.Line+i/32*t.Group+i%32*2
			binary.LittleEndian.PutUint16(t.Dst[at:], t.First[c])
			binary.LittleEndian.PutUint16(t.Dst[at+t.Second:], t.Last[c])
		}
	}
}
