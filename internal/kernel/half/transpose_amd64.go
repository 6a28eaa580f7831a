//go:build amd64

package half

// transposes says that there is machine code.
var transposes = step > 0

// transposeEight transposes eight rows of so many times eight numbers. It is a call of its
// own so that the scheduler can stop a loop over rows: machine code it cannot.
//
//go:noinline
func transposeEight(dst []byte, dstApart int, src []byte, srcApart, blocks int) {
	transposeAVX2(&dst[0], dstApart, &src[0], srcApart, blocks)
}

//go:noescape
func transposeAVX2(dst *byte, dstApart int, src *byte, srcApart, blocks int)

// flushFast is Flush of as many bytes as there is machine code for.
func flushFast(dst, src []byte) (n int) {
	for end := len(src) &^ 63; step == 1 && n < end; {
		part := min(2*most, end-n)
		flushPart(&dst[n], &src[n], part/64)
		n += part
	}
	return n
}

//go:noinline
func flushPart(dst, src *byte, blocks int) { flushAVX512(dst, src, blocks) }

func flushesFast(src []byte) (n int, found bool) {
	for end := len(src) &^ 63; step == 1 && n < end && !found; {
		part := min(2*most, end-n)
		found = flushesPart(&src[n], part/64)
		n += part
	}
	return n, found
}

//go:noinline
func flushesPart(src *byte, blocks int) bool { return flushesAVX512(src, blocks) }

// Blocks are of 32 numbers.

//go:noescape
func flushAVX512(dst, src *byte, blocks int)

//go:noescape
func flushesAVX512(src *byte, blocks int) bool

func readFast(dst []float32, src []byte, flush bool) (n int) {
	var least float32
	if flush {
		least = LeastNormal
	}
	for step == 1 && n < len(dst) {
		part := min(most, len(dst)-n)
		readPart(&dst[n], &src[2*n], part, least)
		n += part
	}
	return n
}

//go:noinline
func readPart(dst *float32, src *byte, n int, least float32) { readAVX512(dst, src, n, least) }

//go:noescape
func readAVX512(dst *float32, src *byte, n int, least float32)
