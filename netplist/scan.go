package netplist

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
)

// What a list may cost is counted before the library sees it: the library makes a copy of an object for each reference to it, so that
// a hundred bytes can become all of memory, and recurses as deep as a list nests.
const (
	maxSize   = 32 << 20 // bytes of a file
	maxValues = 1 << 18  // values of a list, counted once for each reference
	maxText   = 64 << 20 // bytes of strings and data, counted so too
	maxDepth  = 64       // containers in each other
)

var binaryMagic = []byte("bplist0")

// isXML reports whether the first thing is a tag.
func isXML(data []byte) bool {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("<"))
}

// scan counts what is in a list.
func scan(data []byte) *Error {
	switch {
	case len(data) > maxSize:
		return errorf(InvalidNetworkSourceFileName, "a property list of %d bytes; at most %d are read", len(data), maxSize)
	case bytes.HasPrefix(data, binaryMagic):
		return scanBinary(data)
	case isXML(data):
		if err := scanProlog(data); err != nil {
			return err
		}
		return scanXML(data)
	}
	return errorf(InvalidNetworkSourceFileName, "neither an XML nor a binary property list")
}

func tooMany(what string, limit int) *Error {
	return errorf(InvalidNetworkSourceFileName, "more than %d %s, with what references repeat", limit, what)
}

// scanProlog holds the document to an element plist. The library takes others for lists of the OpenStep form, which is not offered.
func scanProlog(data []byte) *Error {
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.RawToken()
		if err != nil {
			e := errorf(InvalidNetworkSourceFileName, "no XML property list")
			e.Err = err
			return e
		}
		if first, ok := token.(xml.StartElement); ok {
			if first.Name.Local != "plist" {
				return errorf(InvalidNetworkSourceFileName, "the document is a %q, want a plist", first.Name.Local)
			}
			return nil
		}
	}
}

// scanXML counts tags and how deep they nest. The document type may be named and not written out: entities are no part of a
// property list.
func scanXML(data []byte) *Error {
	values, depth := 0, 0
	for {
		i := bytes.IndexByte(data, '<')
		if i < 0 {
			return nil
		}
		data = data[i:]
		end := 0
		switch {
		case bytes.HasPrefix(data, []byte("<!--")):
			end = after(data, 4, "-->")
		case bytes.HasPrefix(data, []byte("<![CDATA[")):
			end = after(data, 9, "]]>")
		case bytes.HasPrefix(data, []byte("<?")):
			end = after(data, 2, "?>")
		case bytes.HasPrefix(data, []byte("<!")):
			end = after(data, 2, ">")
			if end > 0 && bytes.IndexByte(data[:end], '[') >= 0 {
				return errorf(InvalidNetworkSourceFileName, "a document type with declarations of its own")
			}
		case bytes.HasPrefix(data, []byte("</")):
			end, depth = after(data, 2, ">"), depth-1
		default:
			if end = tagEnd(data); end > 1 && data[end-2] != '/' {
				depth++
			}
			values++
		}
		switch {
		case end <= 0:
			return errorf(InvalidNetworkSourceFileName, "a tag that does not end")
		case values > 2*maxValues: // a key is a tag too
			return tooMany("tags", 2*maxValues)
		case depth > maxDepth:
			return errorf(InvalidNetworkSourceFileName, "elements nest deeper than %d", maxDepth)
		}
		data = data[end:]
	}
}

// after is where a mark ends that stands at from or later; 0 if it does not stand there.
func after(data []byte, from int, mark string) int {
	i := bytes.Index(data[from:], []byte(mark))
	if i < 0 {
		return 0
	}
	return from + i + len(mark)
}

// tagEnd is where a tag ends, past ">" in quotes.
func tagEnd(data []byte) int {
	quote := byte(0)
	for i, c := range data {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return 0
}

// A binaryScan walks the objects of a binary list as the library will, each offset once.
type binaryScan struct {
	data                []byte
	table               uint64 // offset of the table of offsets
	objects             uint64
	offsetSize, refSize int
	visited             int
	counts              map[uint64]cost // of offsets that were walked
	open                map[uint64]bool // offsets of containers that are being walked
	trunc               *Error
}

// A cost is what an object becomes when it is copied for each reference.
type cost struct{ values, text uint64 }

func scanBinary(data []byte) *Error {
	cut := errorf(InvalidNetworkSourceFileName, "a binary property list that is cut off")
	if len(data) < 40 {
		return cut
	}
	trailer := data[len(data)-32:]
	s := &binaryScan{
		data: data, table: binary.BigEndian.Uint64(trailer[24:]), objects: binary.BigEndian.Uint64(trailer[8:]),
		offsetSize: int(trailer[6]), refSize: int(trailer[7]), counts: map[uint64]cost{}, open: map[uint64]bool{}, trunc: cut,
	}
	end := uint64(len(data) - 32)
	switch {
	case s.offsetSize < 1 || s.offsetSize > 8 || s.refSize < 1 || s.refSize > 8:
		return errorf(InvalidNetworkSourceFileName, "a binary property list with offsets of %d and references of %d bytes", s.offsetSize, s.refSize)
	case s.table >= end || s.objects > (end-s.table)/uint64(s.offsetSize):
		return cut
	}
	_, err := s.object(binary.BigEndian.Uint64(trailer[16:]), 0)
	return err
}

// number reads a big-endian integer.
func (s *binaryScan) number(at uint64, size int) (n uint64, ok bool) {
	if size < 1 || size > 8 || at > uint64(len(s.data)) || uint64(size) > uint64(len(s.data))-at {
		return 0, false
	}
	for _, b := range s.data[at : at+uint64(size)] {
		n = n<<8 | uint64(b)
	}
	return n, true
}

func (s *binaryScan) object(index uint64, depth int) (cost, *Error) {
	if index >= s.objects {
		return cost{}, errorf(InvalidNetworkSourceFileName, "a reference to object %d of %d", index, s.objects)
	}
	at, ok := s.number(s.table+index*uint64(s.offsetSize), s.offsetSize)
	if !ok || at >= s.table {
		return cost{}, s.trunc
	}
	if c, done := s.counts[at]; done {
		return c, nil
	}
	if s.visited++; s.visited > maxValues {
		return cost{}, tooMany("values", maxValues)
	}
	c, err := s.walk(at, depth)
	if err == nil {
		s.counts[at] = c
	}
	return c, err
}

func (s *binaryScan) walk(at uint64, depth int) (cost, *Error) {
	tag := s.data[at]
	c := cost{values: 1}
	switch tag >> 4 {
	case 0x0: // true, false
		return c, nil
	case 0x1, 0x2, 0x3, 0x8: // integers, reals, dates, identifiers
		size := uint64(1) << (tag & 0xf)
		if tag>>4 == 0x8 {
			size = uint64(tag&0xf) + 1
		}
		if size > 16 || size >= s.table-at {
			return c, s.trunc
		}
		return c, nil
	}
	n, start, ok := s.count(at)
	if !ok {
		return c, s.trunc
	}
	size := map[byte]uint64{0x4: 1, 0x5: 1, 0x6: 2, 0xa: uint64(s.refSize), 0xd: 2 * uint64(s.refSize)}[tag>>4]
	switch {
	case size == 0:
		return c, errorf(InvalidNetworkSourceFileName, "an object of type %#02x at byte %d", tag, at)
	case start > s.table || n > (s.table-start)/size:
		return c, s.trunc
	case tag>>4 < 0xa:
		c.text = n * size
		return c, nil
	case depth >= maxDepth:
		return c, errorf(InvalidNetworkSourceFileName, "containers nest deeper than %d", maxDepth)
	case s.open[at]:
		return c, errorf(InvalidNetworkSourceFileName, "the container at byte %d holds itself", at)
	}
	s.open[at] = true
	for i := range n * size / uint64(s.refSize) {
		ref, _ := s.number(start+i*uint64(s.refSize), s.refSize)
		part, err := s.object(ref, depth+1)
		if err != nil {
			return c, err
		}
		c.values += part.values
		c.text += part.text
		if c.values > maxValues {
			return c, tooMany("values", maxValues)
		}
		if c.text > maxText {
			return c, tooMany("bytes of text", maxText)
		}
	}
	delete(s.open, at)
	return c, nil
}

// count reads how many elements an object has, and where they begin.
func (s *binaryScan) count(at uint64) (n, start uint64, ok bool) {
	if n = uint64(s.data[at] & 0xf); n != 0xf {
		return n, at + 1, true
	}
	if at+1 >= s.table || s.data[at+1]>>4 != 1 {
		return 0, 0, false
	}
	size := 1 << (s.data[at+1] & 0xf)
	n, ok = s.number(at+2, size)
	return n, at + 2 + uint64(size), ok
}
