package strided

// A rowwise kernel computes each element of the result from the elements of up
// to three sources at the same place.
type rowwise struct {
	rowsOf
	sink    *sink
	sources [3]array
	present [3]bool
	compute func(s *sink, a, b, c []float32) // leaves the values in a; a source that is not there is 0
}

// newRowwise fixes the loops. The sources are operands 1 to n.
func newRowwise(op *Op, n int) *rowwise {
	k := &rowwise{sink: newSink(op)}
	arrays := k.sink.arrays()
	for i := range k.sources[:n] {
		if 1+i < len(op.Operands) && op.Operands[1+i].Present() {
			k.sources[i], k.present[i] = op.Operands[1+i].array(), true
			arrays = append(arrays, &k.sources[i])
		}
	}
	space := op.Operands[0].Dims
	merge(&space, allAxes, arrays...)
	k.rowsOf = newRows(space, rowAxis(space, allAxes, &k.sink.out))
	return k
}

func bindRowwise(op *Op, n int, compute func(s *sink, a, b, c []float32)) (Kernel, error) {
	k := newRowwise(op, n)
	k.compute = compute
	return k, nil
}

func (k *rowwise) Need() Need { return k.sink.need().Max(Need{Float: 3 * chunk}) }

func (k *rowwise) Run(w *Scratch, lo, hi int) {
	var i index
	for t := lo; t < hi; t++ {
		n := k.tileAt(&i, t)
		v := k.load(w, &i, n)
		k.compute(k.sink, v[0], v[1], v[2])
		k.sink.putAt(w, v[0], &i, k.axis)
	}
}

// load reads n elements of each source from i on.
func (k *rowwise) load(w *Scratch, i *index, n int) (v [3][]float32) {
	for s := range v {
		v[s] = w.float[s*chunk:][:n]
		if k.present[s] {
			k.sources[s].loadAt(w, v[s], i, k.axis)
		} else {
			clear(v[s])
		}
	}
	return v
}
