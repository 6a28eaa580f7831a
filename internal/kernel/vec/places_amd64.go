//go:build amd64

package vec

// A placeGroup is 16 places: up to four stretches, or a list.
type placeGroup struct {
	stretches int      // 0: they are gathered
	from      [4]int64 // bytes: where lane 0 of a stretch would lie
	lanes     [4]uint64
	list      [16]int32
	there     uint64
}

// placeRoom is for the groups of 256 places, which more have to be allocated for.
type placeRoom struct {
	groups [16]placeGroup
	eights eightRoom
}

// A placing is what the machine code is told.
type placing struct {
	dst    *float32
	src    *float32
	shifts *int
	steps  int
	next   int // bytes from a row of dst to the next
	group  *placeGroup
	write  uint64 // lanes
}

// group looks for stretches.
func (p *Places) group() {
	p.groups, p.eights = p.room.groups[:0], p.room.eights[:0]
	if !fast || p.greatest > 1<<28 { // gathered by numbers of 32 bits
		return
	}
	if !wide {
		p.groupEight()
		return
	}
	for first := 0; first < len(p.At); first += 16 {
		at := p.At[first:min(first+16, len(p.At))]
		g := placeGroup{there: 1<<len(at) - 1}
		for l := 0; l < len(at); {
			n := 1
			for l+n < len(at) && at[l+n] == at[l]+int64(n) {
				n++
			}
			if g.stretches < len(g.from) {
				g.from[g.stretches], g.lanes[g.stretches] = 4*(at[l]-int64(l)), (1<<n-1)<<l
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
		p.groups = append(p.groups, g)
	}
}

// fast reads by machine code, and reports whether it did. Each panel is filled with
// groups, whole or in part.
func (p *Places) fast(panels []float32, apart, width int, src []float32, shifts []int) bool {
	switch {
	case len(p.groups) == 0 && len(p.eights) == 0,
		len(p.groups) == 0 && width%8 != 0,
		len(p.eights) == 0 && width%16 != 0 && len(p.At) > width:
		return false
	}
	lo, hi := shifts[0], shifts[0]
	for _, s := range shifts {
		lo, hi = min(lo, s), max(hi, s)
	}
	_, _ = src[lo], src[int(p.greatest)+hi]
	count := (len(p.At) + width - 1) / width
	_ = panels[(count-1)*apart+len(shifts)*width-1]
	if len(p.groups) == 0 {
		p.readEight(panels, apart, width, src, shifts)
		return true
	}
	t := placing{src: &src[0], shifts: &shifts[0], steps: len(shifts), next: 4 * width}
	var nothing placeGroup
	nothing.stretches = 1
	for panel := range count {
		for l := 0; l < width; l += 16 {
			t.group = &nothing
			if i := panel*width + l; i < len(p.At) {
				t.group = &p.groups[i/16]
			}
			t.dst, t.write = &panels[panel*apart+l], 1<<min(16, width-l)-1
			readPlaces(&t)
		}
	}
	return true
}

// readPlaces is a call of its own so that the scheduler can stop a loop over
// places: machine code it cannot.
//
//go:noinline
func readPlaces(p *placing) { placesAVX512(p) }

//go:noescape
func placesAVX512(p *placing)
