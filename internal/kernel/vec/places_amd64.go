//go:build amd64

package vec

import "unsafe"

// A placing is what the machine code is told: 16 places at most.
type placing struct {
	dst, src unsafe.Pointer
	steps    int
	places   unsafe.Pointer
	to       int    // bytes from a row of dst to the next
	there    uint64 // places, as a mask
	write    uint64 // elements of a row
	shifts   unsafe.Pointer
}

// manyPlaces goes through the places 16 at a time. What is checked of bounds is
// that the first and the last place lie inside, with the first and last shift:
// callers have places and shifts that grow.
func manyPlaces(dst []float32, pitch, width int, src []float32, places []int64, shifts []int) {
	_, _ = src[int(places[0])+shifts[0]], src[int(places[len(places)-1])+shifts[len(shifts)-1]]
	_ = dst[(len(shifts)-1)*pitch+width-1]
	for l := 0; l < width; l += 16 {
		n := max(0, min(16, len(places)-l))
		sixteenPlaces(&placing{
			dst: unsafe.Pointer(&dst[l]), src: unsafe.Pointer(&src[0]), steps: len(shifts), to: 4 * pitch,
			places: unsafe.Pointer(&places[min(l, len(places)-1)]), shifts: unsafe.Pointer(&shifts[0]),
			there: 1<<n - 1, write: 1<<min(16, width-l) - 1,
		})
	}
}

// sixteenPlaces is a call of its own so that the scheduler can stop a loop over
// places: machine code it cannot.
//
//go:noinline
func sixteenPlaces(p *placing) { placesAVX512(p) }

//go:noescape
func placesAVX512(p *placing)
