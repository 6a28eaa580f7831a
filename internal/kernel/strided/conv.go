package strided

// convolution is a product of matrices: its rows are output channels, its
// columns places of the result, and it adds up over input channels and kernel.
type convolution struct {
	Window
	sink       *sink
	x, w, bias array
	hasBias    bool
	in         [NumAxes]int // extents of x
	out        [NumAxes]int // extents of the result
	groups     int
	inputs     int // channels of a group
	outputs    int // channels of a group that it makes
	flatW      int // distance of the weights of a channel, if they have one
	isFlat     bool
	taps       int // of a kernel
	places     int // of the result, along D, H and W
	flatOut    bool
	rowTiles   int // of a group
	colTiles   int
}

func bindConv(op *Op) (Kernel, error) {
	y, x, w := &op.Operands[0], &op.Operands[1], &op.Operands[2]
	k := &convolution{
		Window: op.Params.Window, sink: newSink(op),
		x: x.array(), w: w.array(), in: x.Dims, out: y.Dims,
		groups: op.Params.Groups,
		inputs: w.Dims[axisC], outputs: w.Dims[axisN] / op.Params.Groups,
		taps:   w.Dims[axisD] * w.Dims[axisH] * w.Dims[axisW],
		places: y.Dims[axisD] * y.Dims[axisH] * y.Dims[axisW],
	}
	if len(op.Operands) > 3 && op.Operands[3].Present() {
		k.bias, k.hasBias = op.Operands[3].array(), true
	}
	// The weights of an output channel are one row if their axes merge.
	flat := w.Dims
	flat[axisN] = 1
	weights := k.w
	merge(&flat, allAxes, &weights)
	// Memory has D outside C, the sum C outside D.
	if flat[axisW] == k.inputs*k.taps && (k.inputs == 1 || w.Dims[axisD] == 1) {
		k.isFlat, k.flatW = true, weights.strides[axisW]
	}
	// So are the places of the result, for everything that the sink touches.
	k.flatOut = flattenPlaces(k.sink, y.Dims)
	k.rowTiles = (k.outputs + tileRows - 1) / tileRows
	k.colTiles = (k.places + tileCols - 1) / tileCols
	return k, nil
}

// flattenPlaces makes one axis, W, of D, H and W in all that a sink touches, if
// each of its operands walks over them at one distance.
func flattenPlaces(s *sink, dims [NumAxes]int) bool {
	for _, a := range s.arrays() {
		distance, known := 0, false
		span := 1
		for _, x := range [...]int{axisW, axisH, axisD} {
			if dims[x] == 1 {
				continue
			}
			if !known {
				distance, known = a.strides[x], true
			}
			if a.strides[x] != distance*span {
				return false
			}
			span *= dims[x]
		}
	}
	unit := axisW // the innermost axis that has an extent
	for dims[unit] == 1 && unit != axisD {
		unit = map[int]int{axisW: axisH, axisH: axisD}[unit]
	}
	for _, a := range s.arrays() {
		a.strides[axisW] = a.strides[unit]
	}
	return true
}

func (k *convolution) Tiles() (n, grain int) {
	work := min(k.outputs, tileRows) * min(k.places, tileCols) * max(k.inputs*k.taps, 1)
	return k.out[axisN] * k.groups * k.rowTiles * k.colTiles, max(1, 1<<15/max(work, 1))
}

func (k *convolution) Need() Need { return k.sink.need().Max(Need{Float: gemmNeed + chunk}) }

func (k *convolution) Run(w *Scratch, lo, hi int) {
	g := &w.gemm
	for t := lo; t < hi; t++ {
		rest := t
		g.first = rest % k.colTiles * tileCols
		rest /= k.colTiles
		row := rest % k.rowTiles * tileRows
		rest /= k.rowTiles
		g.group = rest % k.groups
		g.at = index{axisN: rest / k.groups, axisC: g.group*k.outputs + row}
		g.rows, g.cols = min(tileRows, k.outputs-row), min(tileCols, k.places-g.first)
		tile := multiply(w, k, 0, g.rows, g.cols, k.inputs*k.taps)
		k.finish(w, tile)
	}
}

// finish adds the bias and hands the tile on, by rows of the result.
func (k *convolution) finish(w *Scratch, tile []float32) {
	g := &w.gemm
	buf := w.float[gemmNeed:]
	if k.hasBias {
		bias := buf[:g.rows]
		k.bias.load(w, bias, index{axisC: g.at[axisC]}, axisC)
		for r, b := range bias {
			row := tile[r*tileCols:][:g.cols]
			for j := range row {
				row[j] += b
			}
		}
	}
	if k.places == 1 { // rows of one place would be short
		column := buf[:g.rows]
		for r := range column {
			column[r] = tile[r*tileCols]
		}
		k.sink.put(w, column, g.at, axisC)
		return
	}
	for r := range g.rows {
		i := g.at
		i[axisC] += r
		row := tile[r*tileCols:][:g.cols]
		if k.flatOut {
			i[axisW] = g.first
			k.sink.put(w, row, i, axisW)
			continue
		}
		for p := g.first; len(row) > 0; {
			i[axisW] = p % k.out[axisW]
			i[axisH] = p / k.out[axisW] % k.out[axisH]
			i[axisD] = p / k.out[axisW] / k.out[axisH]
			n := min(len(row), k.out[axisW]-i[axisW])
			k.sink.put(w, row[:n], i, axisW)
			row = row[n:]
			p += n
		}
	}
}

// left reads weights of an output channel.
func (k *convolution) left(w *Scratch, dst []float32, r, from int) {
	i := index{axisN: w.gemm.at[axisC] + r}
	if k.isFlat {
		loadFloats(dst, k.w.typ, k.w.memory(w), k.w.at(&i)+from*k.flatW, k.flatW)
		return
	}
	if k.taps == 1 {
		i[axisC] = from
		k.w.load(w, dst, i, axisC)
		return
	}
	for len(dst) > 0 {
		var tap int
		i[axisC], tap = from/k.taps, from%k.taps
		k.place(&i, tap)
		n := min(len(dst), k.Kernel[2]-i[axisW])
		k.w.load(w, dst[:n], i, axisW)
		dst = dst[n:]
		from += n
	}
}

// place sets D, H and W to those of a tap of the kernel.
func (k *convolution) place(i *index, tap int) {
	i[axisW] = tap % k.Kernel[2]
	i[axisH] = tap / k.Kernel[2] % k.Kernel[1]
	i[axisD] = tap / k.Kernel[2] / k.Kernel[1]
}

// right reads, for places of the result, what lies under one tap of the kernel.
func (k *convolution) right(w *Scratch, dst []float32, from int) {
	g := &w.gemm
	var tap index
	k.place(&tap, from%k.taps)
	i := index{axisN: g.at[axisN], axisC: g.group*k.inputs + from/k.taps}
	for p := g.first; len(dst) > 0; {
		ow := p % k.out[axisW]
		oh := p / k.out[axisW] % k.out[axisH]
		od := p / k.out[axisW] / k.out[axisH]
		n := min(len(dst), k.out[axisW]-ow)
		i[axisD] = k.under(0, od, tap[axisD])
		i[axisH] = k.under(1, oh, tap[axisH])
		if i[axisD] < 0 || i[axisD] >= k.in[axisD] || i[axisH] < 0 || i[axisH] >= k.in[axisH] {
			clear(dst[:n])
		} else {
			i[axisW] = 0
			lo, hi := k.loadInside(w, dst[:n], &k.x, i, k.in[axisW], ow, tap[axisW])
			clear(dst[:lo])
			clear(dst[hi:n])
		}
		dst = dst[n:]
		p += n
	}
}

// under returns where tap t of the window at place o lies, along spatial axis s.
func (win *Window) under(s, o, t int) int {
	return o*win.Stride[s] + t*win.Dilation[s] - win.PadBefore[s]
}

// loadInside reads along W what lies under one tap of the windows from place o
// on, and returns for which of them, from lo to hi, there is something. i is the
// beginning of the row.
func (win *Window) loadInside(w *Scratch, dst []float32, x *array, i index, width, o, tap int) (lo, hi int) {
	at, step := win.under(2, o, tap), win.Stride[2]
	if at < 0 {
		lo = min(len(dst), (-at+step-1)/step)
	}
	hi = lo
	if first := at + lo*step; first < width {
		hi = min(len(dst), lo+(width-1-first)/step+1)
	}
	if lo < hi {
		i[axisW] = at + lo*step
		loadFloats(dst[lo:hi], x.typ, x.memory(w), x.at(&i), step*x.strides[axisW])
	}
	return lo, hi
}
