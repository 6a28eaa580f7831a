package vec

// Places are where elements lie that are read together, again and again with
// other shifts. They are looked at once: most follow each other in a few stretches,
//
//	places  0 1 2 3 4 5 6 9 10 11 12 13 …
//	        └─────────┘   └─────────
//
// and a stretch is one load of machine code.
type Places struct {
	At []int64

	greatest int64
	groups   []placeGroup // of 16 places; empty: there is no machine code for them
	room     placeRoom
}

// Set takes places that are not negative. They must stay as they are.
func (p *Places) Set(at []int64) {
	p.At, p.greatest = at, 0
	for _, a := range at {
		p.greatest = max(p.greatest, a)
	}
	p.group()
}

// Read reads the elements at places, for each shift. They go to panels, which are
// so many elements apart, of width elements of each shift; those that there is no
// place for are 0.
//
//	panels[l/width*apart + k*width + l%width] = src[At[l] + shifts[k]]
func (p *Places) Read(panels []float32, apart, width int, src []float32, shifts []int) {
	if len(shifts) == 0 {
		return
	}
	if p.fast(panels, apart, width, src, shifts) {
		return
	}
	for first := 0; first == 0 || first < len(p.At); first += width {
		panel, places := panels[first/width*apart:][:len(shifts)*width], p.At[first:min(first+width, len(p.At))]
		for k, shift := range shifts {
			row := panel[k*width:][:width]
			for l, at := range places {
				row[l] = src[int(at)+shift]
			}
			clear(row[len(places):])
		}
	}
}
