package strided

import "github.com/espalier-ane/espalier/td"

// matmul multiplies matrices: rows along H, columns along W.
type matmul struct {
	sink               *sink
	left, right        side
	batch              grid
	rows, cols, n      int
	tileRows, tileCols int
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
		sink: newSink(op), left: side{factors: left}, right: side{factors: right},
		batch: newGrid(y.Dims, 1<<axisN|1<<axisD|1<<axisC),
		rows:  y.Dims[axisH], cols: y.Dims[axisW], n: x.Dims[left.inner],
	}
	k.left.careful = op.Rules.careful(k.n)
	k.left.packed = packMatrix(op, 1, left, k.rows, k.n)
	k.right.packed = packMatrix(op, 2, right, k.cols, k.n)
	k.tileRows, k.tileCols = tileOf(k.rows, k.cols, k.batch.count(), k.n)
	k.rowTiles, k.colTiles = tilesOf(k.rows, k.tileRows), tilesOf(k.cols, k.tileCols)
	return k, nil
}

// packMatrix packs an operand that is one matrix.
func packMatrix(op *Op, operand int, m *matrix, lines, n int) packed {
	o := &op.Operands[operand]
	if o.Dims[axisN]*o.Dims[axisD]*o.Dims[axisC] != 1 {
		return packed{}
	}
	kind := packRows
	if m.line == axisW {
		kind = packCols
	}
	return op.Packs.add(o, kind, m, 1, lines, n)
}

func (k *matmul) Tiles() (n, grain int) {
	work := min(k.rows, k.tileRows) * min(k.cols, k.tileCols) * max(k.n, 1)
	return k.batch.count() * k.rowTiles * k.colTiles, max(1, 1<<15/max(work, 1))
}

func (k *matmul) Need() Need {
	return k.sink.need().Max(gemmNeed(k.tileRows, k.tileCols, &k.left, &k.right))
}

func (k *matmul) Run(w *Scratch, lo, hi int) {
	left, right := &w.gemm.left, &w.gemm.right
	for t := lo; t < hi; t++ {
		i := k.batch.place(t / k.colTiles / k.rowTiles)
		row, col := t/k.colTiles%k.rowTiles*k.tileRows, t%k.colTiles*k.tileCols
		*left = lines{at: i, first: row, count: min(k.tileRows, k.rows-row)}
		*right = lines{at: i, first: col, count: min(k.tileCols, k.cols-col)}
		tile, stride := multiply(w, &k.left, &k.right, k.n, nil)
		i[axisW] = col
		for r := range left.count {
			i[axisH] = row + r
			k.sink.put(w, tile[r*stride:][:right.count], i, axisW)
		}
	}
}
