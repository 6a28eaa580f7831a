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

	least    int64
	greatest int64
	runs     []placeRun
	groups   []placeGroup // of 16 places; empty: there is no machine code for them
	eights   []eightGroup // likewise, of eight
	room     placeRoom
}

// A placeRun is places that follow each other, from one on.
type placeRun struct{ first, count int }

// Set takes places that are not negative. They must stay as they are.
func (p *Places) Set(at []int64) {
	p.At, p.least, p.greatest, p.runs = at, 0, 0, p.runs[:0]
	for i, a := range at {
		p.least, p.greatest = min(p.least, a), max(p.greatest, a)
		if i == 0 || a != at[i-1]+1 {
			p.runs = append(p.runs, placeRun{first: i})
		}
		p.runs[len(p.runs)-1].count++
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
	if p.least < 0 || apart < 0 {
		panic("bug: places and panels go forward")
	}
	if p.fast(panels, apart, width, src, shifts) {
		return
	}
	for k, shift := range shifts {
		for _, r := range p.runs {
			from := src[int(p.At[r.first])+shift:][:r.count]
			for l := r.first; len(from) > 0; {
				n := copy(panels[l/width*apart+k*width+l%width:][:width-l%width], from)
				from, l = from[n:], l+n
			}
		}
		if n := len(p.At); n%width != 0 || n == 0 {
			clear(panels[n/width*apart+k*width+n%width:][:width-n%width])
		}
	}
}
