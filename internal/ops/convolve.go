package ops

// grid is where the taps of a kernel find their inputs, on three spatial axes. Operations on fewer have axes of
// length 1 in front.
type grid [3]gridAxis

// gridAxis: tap t of output o reads the input at o·step + offsets[t], or zero where that is outside. A
// convolution's offsets are evenly spaced; a transposed one's need not be.
type gridAxis struct {
	in, out int
	step    int
	offsets []int
}

// newGrid adds axes of length 1 in front of up to three.
func newGrid(axes []gridAxis) *grid {
	g := &grid{}
	for i := range g {
		g[i] = gridAxis{in: 1, out: 1, step: 1, offsets: []int{0}}
	}
	copy(g[3-len(axes):], axes)
	return g
}

func (g *grid) inputs() int  { return g[0].in * g[1].in * g[2].in }
func (g *grid) outputs() int { return g[0].out * g[1].out * g[2].out }
func (g *grid) taps() int    { return len(g[0].offsets) * len(g[1].offsets) * len(g[2].offsets) }

// convolution is a grouped convolution: of groups × cin input channels and groups × cout output channels.
type convolution struct {
	*grid
	*halt
	batch, groups, cin, cout int
}

// addTo adds the convolution of x [batch, groups, cin, inputs] with weight [groups, cout, cin, taps] to
// out [batch, groups, cout, outputs]. Each sum goes over channels, then taps, in fp32.
func (v *convolution) addTo(out, x, weight []float32) {
	if v.batch == 0 || v.outputs() == 0 || v.cin == 0 || v.taps() == 0 {
		return
	}
	if v.cout < thin {
		v.addDirectly(out, x, weight)
		return
	}
	k := v.cin * v.taps()
	v.For(v.groups, 1, func(lo, hi int) {
		for g := lo; g < hi; g++ {
			filters := packPanels(v.halt, v.cout, k, matrix{weight[g*v.cout*k:], k, 1})
			v.For(v.batch, 1, func(lo, hi int) {
				for b := lo; b < hi; b++ {
					src := x[(b*v.groups+g)*v.cin*v.inputs():]
					dst := out[(b*v.groups+g)*v.cout*v.outputs():]
					pack := func(strips [][tileCols]float32, lo, hi int) { v.packPatches(v.halt, strips, v.cin, src, lo, hi) }
					filters.multiply(v.halt, v.outputs(), pack, dst)
				}
			})
		}
	})
}

// packPatches is packColumns for the matrix that a convolution multiplies its weights with: its columns are
// the outputs, and column o has what the taps of o read, channel by channel.
func (g *grid) packPatches(halt *halt, dst [][tileCols]float32, channels int, x []float32, lo, hi int) {
	taps, plane := g.taps(), g.inputs()
	k := channels * taps
	for o := lo; o < hi; o += tileCols {
		strip := dst[(o-lo)/tileCols*k:][:k]
		var origin [tileCols][3]int // o·step, of the strip's outputs
		for j := range origin {
			at := min(o+j, hi-1) // columns beyond hi do not matter
			origin[j][2] = at % g[2].out * g[2].step
			at /= g[2].out
			origin[j][1] = at % g[1].out * g[1].step
			origin[j][0] = at / g[1].out * g[0].step
		}
		t := 0
		for _, d := range g[0].offsets {
			for _, h := range g[1].offsets {
				if halt.asked() {
					return
				}
				for _, w := range g[2].offsets {
					g.packTap(strip[t:], taps, channels, x, plane, &origin, d, h, w)
					t++
				}
			}
		}
	}
}

// packTap fills in what one tap reads for the outputs of a strip, every taps-th row of it.
func (g *grid) packTap(strip [][tileCols]float32, taps, channels int, x []float32, plane int, origin *[tileCols][3]int, d, h, w int) {
	var at [tileCols]int // where in the plane, or -1
	run := true          // the four lie side by side
	for j := range at {
		i0, i1, i2 := origin[j][0]+d, origin[j][1]+h, origin[j][2]+w
		at[j] = -1
		if uint(i0) < uint(g[0].in) && uint(i1) < uint(g[1].in) && uint(i2) < uint(g[2].in) {
			at[j] = (i0*g[1].in+i1)*g[2].in + i2
		}
		run = run && at[j] >= 0 && at[j] == at[0]+j
	}
	if run {
		for c := range channels {
			strip[c*taps] = [tileCols]float32(x[c*plane+at[0]:][:tileCols])
		}
		return
	}
	for c := range channels {
		cells := &strip[c*taps]
		for j, a := range at {
			cells[j] = 0
			if a >= 0 {
				cells[j] = x[c*plane+a]
			}
		}
	}
}

// addDirectly is for groups with few output channels, depthwise convolutions first of all: no input is used
// often enough to be packed. It computes an output row at a time, tap by tap, and leaves out taps over padding.
func (v *convolution) addDirectly(out, x, weight []float32) {
	g := v.grid
	width, rows := g[2].out, g[0].out*g[1].out
	channels := v.groups * v.cout
	cost := v.cin * v.taps() * width
	v.For(v.batch*channels*rows, 1+(1<<15)/max(1, cost), func(lo, hi int) {
		acc := make([]float32, width)
		for r := lo; r < hi; r++ {
			o0, o1 := r/g[1].out%g[0].out, r%g[1].out
			channel := r / rows // of the whole batch
			group, filter := channel/v.cout, channel%channels
			clear(acc)
			for c := range v.cin {
				g.addRow(v.halt, acc, x[(group*v.cin+c)*v.inputs():], weight[(filter*v.cin+c)*v.taps():], o0, o1)
			}
			dst := out[r*width:][:width]
			for i := range dst {
				dst[i] += acc[i]
			}
		}
	})
}

// addRow adds one input channel's share to the outputs (o0, o1, 0…).
func (g *grid) addRow(halt *halt, acc, plane, weight []float32, o0, o1 int) {
	t := 0
	for _, d := range g[0].offsets {
		for _, h := range g[1].offsets {
			i0, i1 := o0*g[0].step+d, o1*g[1].step+h
			if uint(i0) >= uint(g[0].in) || uint(i1) >= uint(g[1].in) || halt.asked() {
				t += len(g[2].offsets)
				continue
			}
			row := plane[(i0*g[1].in+i1)*g[2].in:][:g[2].in]
			for _, w := range g[2].offsets {
				lo, hi := g[2].inside(w)
				if halt.asked() {
					return
				}
				if lo < hi && g[2].step == 1 {
					addScaled(acc[lo:hi], weight[t], row[lo+w:])
				} else {
					for o := lo; o < hi; o++ {
						acc[o] += float32(weight[t] * row[o*g[2].step+w])
					}
				}
				t++
			}
		}
	}
}

// inside is the range of outputs whose tap at an offset is not over padding.
func (a *gridAxis) inside(offset int) (lo, hi int) {
	if offset < 0 {
		lo = (-offset + a.step - 1) / a.step
	}
	if offset < a.in {
		hi = min(a.out, (a.in-1-offset)/a.step+1)
	}
	return min(lo, hi), hi
}
