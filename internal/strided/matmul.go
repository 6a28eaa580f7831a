package strided

import "github.com/espalier-ane/espalier/td"

// matmul multiplies matrices: rows along H, columns along W.
type matmul struct {
	product
	sink               *sink
	coded              *codedLines // that z was made of, to be read instead; nil: z
	batch              grid
	rows, cols         int
	rowTiles, colTiles int
}

func bindMatMul(op *Op) (Kernel, error) {
	y, x, z, p := &op.Operands[0], &op.Operands[1], &op.Operands[2], op.Params.(*td.MatMul)
	left := &matrix{array: x.array(), line: axisH, inner: axisW}
	right := &matrix{array: z.array(), line: axisW, inner: axisH}
	if p.TransposeX {
		left.line, left.inner = left.inner, left.line
	}
	if p.TransposeZ {
		right.line, right.inner = right.inner, right.line
	}
	k := &matmul{
		sink: newSink(op), batch: newGrid(y.Dims, 1<<axisN|1<<axisD|1<<axisC), rows: y.Dims[axisH], cols: y.Dims[axisW],
	}
	n := x.Dims[left.inner]
	row := op.gemmRow(anyLines, k.cols, n)
	var weights factors = right
	if k.coded = op.codedFor(2, row, &row.B, right.line == axisW, 1, k.cols, n); k.coded != nil {
		weights = k.coded
	}
	_, direct := right.elem()
	lies := direct && k.coded == nil && elements(z.Dims) == k.cols*n && op.Packs.leaves(z)
	lasts := z.Constant && (k.coded == nil && !lies || fitsWhole(&row.B, 1, k.cols, n))
	tileRows, tileCols := stripTiles(row, k.rows, k.cols, k.batch.count(), n, false, lasts)
	k.rowTiles, k.colTiles = tilesOf(k.rows, tileRows), tilesOf(k.cols, tileCols)
	k.product = newProduct(row, left, weights, n, op.Rules.careful(n), tileRows, tileCols)
	k.left.packed = k.pack(op, 1, &k.left, left, k.rows)
	if k.coded != nil {
		k.decoded = k.coded.need(tileCols, row.Depth)
	}
	if k.coded != nil || lies {
		k.right.keepWhole(k.batch.count()*k.rowTiles, 1, k.cols, n)
	} else {
		k.right.packed = k.pack(op, 2, &k.right, right, k.cols)
	}
	k.keep(false)
	return k, nil
}

// pack packs an operand that is one matrix.
func (k *matmul) pack(op *Op, operand int, s *side, m *matrix, lines int) packed {
	o := &op.Operands[operand]
	if o.Dims[axisN]*o.Dims[axisD]*o.Dims[axisC] != 1 {
		return packed{}
	}
	kind := packRows
	if m.line == axisW {
		kind = packCols
	}
	return op.Packs.add(o, kind, s, k.row.Depth, 1, lines, k.n)
}

func (k *matmul) Tiles() (n, grain int) {
	work := min(k.rows, k.tileRows) * min(k.cols, k.tileCols) * max(k.n, 1)
	strips := k.batch.count() * k.rowTiles
	return strips * k.colTiles, stripGrain(strips, k.colTiles, work)
}

func (k *matmul) Need() Need {
	return k.sink.need().Max(k.product.need())
}

func (k *matmul) Run(w *Scratch, lo, hi int) {
	left, right := &w.gemm.left, &w.gemm.right
	w.begins()
	for t := lo; t < hi; t++ {
		i := k.batch.place(t / k.colTiles / k.rowTiles)
		row, col := t/k.colTiles%k.rowTiles*k.tileRows, t%k.colTiles*k.tileCols
		*left = lines{at: i, first: row, count: min(k.tileRows, k.rows-row)}
		*right = lines{at: i, first: col, count: min(k.tileCols, k.cols-col)}
		tile, stride := k.multiply(w, k.n, nil)
		i[axisH], i[axisW] = row, col
		k.sink.putTile(w, tile, stride, left.count, right.count, nil, i, axisH)
	}
}
