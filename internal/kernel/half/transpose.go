package half

import "encoding/binary"

// Transpose writes rows of 16-bit numbers as columns: number c of row r becomes number r
// of row c. Rows are so many bytes apart.
func Transpose(dst []byte, dstApart int, src []byte, srcApart, rows, cols int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	if srcApart < 0 || dstApart < 0 {
		panic("bug: rows go forward")
	}
	_, _ = src[(rows-1)*srcApart+2*cols-1], dst[(cols-1)*dstApart+2*rows-1]
	whole, wide := 0, 0 // rows and columns that machine code does
	if transposes {
		wide = cols &^ 7
		for ; wide > 0 && whole+8 <= rows; whole += 8 {
			transposeEight(dst[2*whole:], dstApart, src[whole*srcApart:], srcApart, wide/8)
		}
	}
	if wide < cols {
		transposePlain(dst[wide*dstApart:], dstApart, src[2*wide:], srcApart, whole, cols-wide)
	}
	if whole < rows {
		transposePlain(dst[2*whole:], dstApart, src[whole*srcApart:], srcApart, rows-whole, cols)
	}
}

func transposePlain(dst []byte, dstApart int, src []byte, srcApart, rows, cols int) {
	for r := range rows {
		row := src[r*srcApart:]
		for c := range cols {
			binary.LittleEndian.PutUint16(dst[c*dstApart+2*r:], binary.LittleEndian.Uint16(row[2*c:]))
		}
	}
}

// Flush copies fp16 numbers: subnormal ones and the negative zero become 0, and NaN
// becomes infinity.
func Flush(dst, src []byte) {
	n := flushFast(dst[:len(src)], src)
	for i := n; i+1 < len(src); i += 2 {
		b := binary.LittleEndian.Uint16(src[i:])
		switch {
		case b&Inf == 0:
			b = 0
		case b&^sign > Inf:
			b = Inf
		}
		binary.LittleEndian.PutUint16(dst[i:], b)
	}
}

// Flushes reports whether Flush would change one of the numbers.
func Flushes(src []byte) bool {
	n, found := flushesFast(src)
	for i := n; i+1 < len(src) && !found; i += 2 {
		b := binary.LittleEndian.Uint16(src[i:])
		found = b != 0 && b&Inf == 0 || b&^sign > Inf
	}
	return found
}

// FloatsFlushed is Floats of numbers as chips read them: NaN becomes infinity, and with
// flush, subnormal numbers and the negative zero become 0.
func FloatsFlushed(dst []float32, src []byte, flush bool) {
	src = src[:2*len(dst)]
	n := readFast(dst, src, flush)
	dst, src = dst[n:], src[2*n:]
	for i := range dst {
		b := binary.LittleEndian.Uint16(src[2*i:])
		switch {
		case b&Inf == 0 && flush:
			b = 0
		case b&^sign > Inf:
			b = Inf
		}
		dst[i] = Float(b)
	}
}
