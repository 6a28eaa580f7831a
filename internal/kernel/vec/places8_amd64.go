//go:build amd64

package vec

// An eightGroup is placeGroup of eight places, with a byte for each lane.
type eightGroup struct {
	stretches int // 0: they are gathered
	from      [4]int64
	lanes     [4]uint64
	list      [8]int32
	there     uint64
}

type eightPlacing struct {
	dst    *float32
	src    *float32
	shifts *int
	steps  int
	next   int
	group  *eightGroup
}

// eightRoom is placeRoom of them.
type eightRoom [32]eightGroup

// lanesOf are so many lanes from one on.
func lanesOf(first, count int) uint64 { return ^uint64(0) >> (64 - 8*count) << (8 * first) }

// groupEight is group with AVX2.
func (p *Places) groupEight() {
	for first := 0; first < len(p.At); first += 8 {
		at := p.At[first:min(first+8, len(p.At))]
		g := eightGroup{there: lanesOf(0, len(at))}
		for l := 0; l < len(at); {
			n := 1
			for l+n < len(at) && at[l+n] == at[l]+int64(n) {
				n++
			}
			if g.stretches < len(g.from) {
				g.from[g.stretches], g.lanes[g.stretches] = 4*(at[l]-int64(l)), lanesOf(l, n)
			}
			g.stretches++
			l += n
		}
		for l, a := range at {
			g.list[l] = int32(a)
		}
		if g.stretches > len(g.from) {
			g.stretches = 0
		}
		p.eights = append(p.eights, g)
	}
}

var noEight = eightGroup{stretches: 1}

// readEight is fast with AVX2, for panels of whole vectors.
func (p *Places) readEight(panels []float32, apart, width int, src []float32, shifts []int) {
	count := (len(p.At) + width - 1) / width
	t := eightPlacing{src: &src[0], shifts: &shifts[0], steps: len(shifts), next: 4 * width}
	for panel := range count {
		for l := 0; l < width; l += 8 {
			t.group = &noEight
			if i := panel*width + l; i < len(p.At) {
				t.group = &p.eights[i/8]
			}
			t.dst = &panels[panel*apart+l]
			readEightPlaces(&t)
		}
	}
}

//go:noinline
func readEightPlaces(p *eightPlacing) { placesAVX2(p) }

//go:noescape
func placesAVX2(p *eightPlacing)
