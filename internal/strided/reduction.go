package strided

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
)

// A reducer makes one value of many. Float reductions add up in fp64, so that
// only their result is rounded.
type reducer struct {
	start float64
	join  func(sum, v float64) float64
	end   func(sum float64, count int) float64 // nil: the sum
	ints  func(sum, v int64) int64             // nil: not for integers
	from  int64                                // start, of integers
	some  bool                                 // there is no value for nothing
}

// reducers is indexed by the reduction kind. ArgMin and ArgMax are not here: see
// reduction.best.
var reducers = map[td.ReductionKind]reducer{
	td.ReduceSum:        {join: plus, ints: plusInt},
	td.ReduceMin:        {start: math.Inf(1), join: func(s, v float64) float64 { return min(s, v) }, ints: func(s, v int64) int64 { return min(s, v) }, from: math.MaxInt64, some: true},
	td.ReduceMax:        {start: math.Inf(-1), join: func(s, v float64) float64 { return max(s, v) }, ints: func(s, v int64) int64 { return max(s, v) }, from: math.MinInt64, some: true},
	td.ReduceAvg:        {join: plus, end: func(s float64, n int) float64 { return s / float64(n) }},
	td.ReduceBitwiseAnd: {ints: func(s, v int64) int64 { return s & v }, from: -1},
	td.ReduceBitwiseOr:  {ints: func(s, v int64) int64 { return s | v }},
	td.ReduceBitwiseXor: {ints: func(s, v int64) int64 { return s ^ v }},
	td.ReduceProduct:    {start: 1, join: func(s, v float64) float64 { return s * v }, ints: func(s, v int64) int64 { return s * v }, from: 1},
	td.ReduceSumSquare:  {join: plusSquare, ints: func(s, v int64) int64 { return s + v*v }},
	td.ReduceL1:         {join: func(s, v float64) float64 { return s + math.Abs(v) }, ints: func(s, v int64) int64 { return s + max(v, -v) }},
	td.ReduceL2:         {join: plusSquare, end: func(s float64, _ int) float64 { return math.Sqrt(s) }},
	td.ReduceLogSum:     {join: plus, end: func(s float64, _ int) float64 { return math.Log(s) }},
	td.ReduceLogSumExp:  {}, // in two passes: see logSumExp
}

// inSingle is a reducer that adds up in fp32, and takes a mean by way of the
// reciprocal of the count.
func inSingle(kind td.ReductionKind, r reducer) reducer {
	if join := r.join; join != nil {
		r.join = func(sum, v float64) float64 { return float64(float32(join(sum, v))) }
	}
	if kind == td.ReduceAvg {
		r.end = func(sum float64, n int) float64 { return float64(float32(sum) * inverseOf(n)) }
	}
	return r
}

// inverseOf is 1/n in fp32, as the planar engine's final scale has it.
func inverseOf(n int) float32 { return float32(1 / float64(n)) }

// plusSquare adds a square, which is exact in fp64: a fused addition changes
// nothing.
func plusSquare(s, v float64) float64 { return s + v*v }
func plus(s, v float64) float64       { return s + v }
func plusInt(s, v int64) int64        { return s + v }

// reduction has a lane for each of a stretch of results, and adds to all of
// them what lies at one place of the reduced axes.
type reduction struct {
	rowsOf
	reducer
	sink  *sink
	x     array
	inner grid // the reduced places
	count int  // of them
	kind  td.ReductionKind
	along int // ArgMin and ArgMax: the axis

	// Where results are few, or the values of each lie side by side, these are read
	// as rows instead, along this axis.
	byRow    bool
	innerRow rowsOf
	sumRow   func(row []float32) float64 // what a row comes to; nil: join its values one by one
	together bool                        // each result has one row, and these follow each other: several are read at once
}

func bindReduced(op *Op) (*reduction, error) {
	y, x, p := &op.Operands[0], &op.Operands[1], op.Params.(*td.Reduction)
	k := &reduction{sink: newSink(op), x: x.array(), kind: p.Kind}
	k.reducer = op.Rules.reducer(p.Kind)
	arg := p.Kind == td.ReduceArgMin || p.Kind == td.ReduceArgMax
	if _, known := reducers[p.Kind]; !known && !arg {
		return nil, fmt.Errorf("what reduction kind %v computes is not known", p.Kind)
	}
	k.count = 1
	for a := range td.NumAxes {
		if p.Axes>>a&1 != 0 {
			k.count *= x.Dims[a]
			k.along = a
		}
	}
	if k.count == 0 && elements(y.Dims) > 0 && (arg || k.some && !x.Type.IsFloat()) {
		return nil, fmt.Errorf("there is nothing to choose from")
	}
	space := x.Dims
	if !arg {
		arrays := append(k.sink.arrays(), &k.x)
		merge(&space, p.Axes, arrays...)
	}
	kept := allAxes &^ p.Axes
	results := space
	for a := range results {
		if p.Axes>>a&1 != 0 {
			results[a] = 1
		}
	}
	k.rowsOf = newRows(results, rowAxis(results, kept, &k.sink.out))
	k.inner = newGrid(space, p.Axes)
	const few = 8
	if k.count > few && !arg && p.Kind != td.ReduceLogSumExp {
		row := td.NumAxes - 1 // the innermost, to keep the order
		for row > 0 && (p.Axes>>row&1 == 0 || space[row] == 1) {
			row--
		}
		const long = 32
		dense := x.Type.IsFloat() && space[row] >= long && k.x.interleave == 1 && k.x.strides[row] == sizeOf(k.x.typ)
		k.byRow = results[k.axis] < few || dense
		k.innerRow = newRows(k.inner.dims, row)
		if k.byRow && op.Rules == nil {
			k.sumRow = rowSums[p.Kind]
		}
		k.together = k.sumRow != nil && dense && k.count == space[row] && 2*k.count <= chunk && k.x.strides[k.axis] == k.count*k.x.strides[row]
		if dense && k.count >= chunk { // each result is enough for a tile
			k.rowsOf = newRows(results, row)
		}
	}
	return k, nil
}

// rowSums are reductions of which a row has a loop of its own. They are joined as
// sums are: in fp64, in an order that depends on the length alone.
var rowSums = map[td.ReductionKind]func(row []float32) float64{
	td.ReduceSum:       vec.Sum,
	td.ReduceAvg:       vec.Sum,
	td.ReduceSumSquare: func(row []float32) float64 { return vec.SumSquares(row, 0) },
	td.ReduceL2:        func(row []float32) float64 { return vec.SumSquares(row, 0) },
}

func bindReduction(op *Op) (Kernel, error) {
	k, err := bindReduced(op)
	if err == nil && k.join == nil && k.kind != td.ReduceLogSumExp && k.kind != td.ReduceArgMin && k.kind != td.ReduceArgMax {
		return nil, fmt.Errorf("%v is for integers", k.kind)
	}
	return k, err
}

func (k *reduction) Tiles() (n, grain int) {
	n, _ = k.rowsOf.Tiles()
	return n, max(1, 1<<14/max(1, min(k.length, chunk)*max(k.count, 1)))
}

func (k *reduction) Need() Need {
	return k.sink.need().Max(Need{Double: 3 * chunk, Float: 2 * chunk, Int: chunk})
}

func (k *reduction) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		v := w.float[:n]
		switch {
		case k.kind == td.ReduceArgMin || k.kind == td.ReduceArgMax:
			at := w.int[:n]
			k.best(w, at, i)
			if len(k.sink.steps) == 0 && !k.sink.out.typ.IsFloat() {
				k.sink.out.storeInts(w, at, i, k.axis)
				continue
			}
			for j, p := range at {
				v[j] = float32(p)
			}
		case k.kind == td.ReduceLogSumExp:
			k.logSumExp(w, v, i)
		case k.together:
			k.reduceTogether(w, v, i)
		case k.byRow:
			for j := range v {
				at := i
				at[k.axis] += j
				v[j] = k.finish(k.reduceRows(w, at))
			}
		default:
			sum := w.double[:n]
			k.reduceLanes(w, sum, i, k.start, k.join)
			for j, s := range sum {
				v[j] = k.finish(s)
			}
		}
		k.sink.put(w, v, i, k.axis)
	}
}

func (k *reduction) finish(sum float64) float32 {
	if k.end != nil {
		sum = k.end(sum, k.count)
	}
	return k.sink.round(sum)
}

// reduceLanes joins, for a stretch of results, all reduced places in order.
func (k *reduction) reduceLanes(w *Scratch, sum []float64, i index, start float64, join func(sum, v float64) float64) {
	for j := range sum {
		sum[j] = start
	}
	row := w.float[chunk:][:len(sum)]
	var place index
	for range k.count {
		if w.stop() {
			break
		}
		k.x.load(w, row, i.plus(place), k.axis)
		for j, v := range row {
			sum[j] = join(sum[j], float64(v))
		}
		k.inner.next(&place)
	}
}

// reduceTogether is reduceRows for a stretch of results.
func (k *reduction) reduceTogether(w *Scratch, v []float32, i index) {
	for some := chunk / k.count; len(v) > 0 && !w.stop(); {
		n := min(some, len(v))
		rows := w.float[chunk:][:n*k.count]
		k.x.loadAt(w, rows, &i, k.innerRow.axis)
		for j := range n {
			v[j] = k.finish(k.start + k.sumRow(rows[j*k.count:][:k.count]))
		}
		v = v[n:]
		i[k.axis] += n
	}
}

// reduceRows joins the reduced places of one result, in the same order.
func (k *reduction) reduceRows(w *Scratch, i index) float64 {
	sum := k.start
	tiles, _ := k.innerRow.Tiles()
	var place index
	for t := range tiles {
		if w.stop() {
			break
		}
		n := k.innerRow.tileAt(&place, t)
		for a := range place {
			place[a] += i[a]
		}
		row := w.float[chunk:][:n]
		k.x.loadAt(w, row, &place, k.innerRow.axis)
		if k.sumRow != nil {
			sum += k.sumRow(row)
			continue
		}
		for _, v := range row {
			sum = k.join(sum, float64(v))
		}
	}
	return sum
}

// best finds the index of the first greatest or least value. NaN is never
// better than a number, nor a number better than a leading NaN.
func (k *reduction) best(w *Scratch, at []int64, i index) {
	top, row := w.float[:len(at)], w.float[chunk:][:len(at)]
	clear(at)
	for p := range k.count {
		if w.stop() {
			break
		}
		place := i
		place[k.along] = p
		k.x.load(w, row, place, k.axis)
		for j, x := range row {
			if p == 0 || k.kind == td.ReduceArgMax && x > top[j] || k.kind == td.ReduceArgMin && x < top[j] {
				top[j], at[j] = x, int64(p)
			}
		}
	}
}

// logSumExp takes the maximum out of the sum, which then cannot overflow.
func (k *reduction) logSumExp(w *Scratch, v []float32, i index) {
	top, sum := w.double[chunk:][:len(v)], w.double[2*chunk:][:len(v)]
	k.reduceLanes(w, top, i, math.Inf(-1), func(s, v float64) float64 { return max(s, v) })
	row := w.float[chunk:][:len(v)]
	clear(sum)
	var place index
	for range k.count {
		if w.stop() {
			break
		}
		k.x.load(w, row, i.plus(place), k.axis)
		for j, x := range row {
			if float64(x) != top[j] {
				sum[j] += math.Exp(float64(x) - top[j])
			} else {
				sum[j]++ // also for infinities, of which the difference is none
			}
		}
		k.inner.next(&place)
	}
	for j := range v {
		v[j] = k.sink.round(top[j] + math.Log(sum[j]))
	}
}

// reductionInt is reduction of integers. What is no integer, such as an average,
// is computed in fp64 and truncated towards zero.
type reductionInt struct{ reduction }

func bindReductionInt(op *Op) (Kernel, error) {
	k, err := bindReduced(op)
	if err != nil {
		return nil, err
	}
	if k.kind == td.ReduceLogSumExp {
		return k, nil
	}
	k.byRow = false
	return &reductionInt{*k}, nil
}

func (k *reductionInt) Need() Need {
	n := k.sink.needInts()
	n.Int += 3 * chunk
	n.Double = chunk
	return n
}

func (k *reductionInt) Run(w *Scratch, lo, hi int) {
	buf := w.int[k.sink.needInts().Int:]
	arg := k.kind == td.ReduceArgMin || k.kind == td.ReduceArgMax
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		sum, row, at := buf[:n], buf[chunk:][:n], buf[2*chunk:][:n]
		double := w.double[:n]
		for j := range sum {
			sum[j], at[j], double[j] = k.from, 0, k.start
		}
		var place index
		for p := range k.count {
			if w.stop() {
				break
			}
			k.x.loadInts(w, row, i.plus(place), k.axis)
			for j, v := range row {
				switch {
				case k.ints != nil:
					sum[j] = k.ints(sum[j], v)
				case !arg:
					double[j] = k.join(double[j], float64(v))
				case p == 0 || k.kind == td.ReduceArgMax && v > sum[j] || k.kind == td.ReduceArgMin && v < sum[j]:
					sum[j], at[j] = v, int64(p)
				}
			}
			k.inner.next(&place)
		}
		switch {
		case arg:
			copy(sum, at)
		case k.ints == nil:
			for j, s := range double {
				sum[j] = truncated(k.end(s, k.count))
			}
		}
		k.sink.putInts(w, sum, i, k.axis)
	}
}

// truncated is a number without its fraction; 0 for one that is none, such as the
// logarithm of 0.
func truncated(v float64) int64 {
	if v-v != 0 {
		return 0
	}
	return toInt(v)
}
