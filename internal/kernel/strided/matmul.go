package strided

// matmul multiplies matrices: rows along H, columns along W.
type matmul struct {
	sink               *sink
	x, z               array
	xRow, xInner       int // axes of x
	zInner, zCol       int // axes of z
	batch              grid
	rows, cols, n      int
	rowTiles, colTiles int
}

func bindMatMul(op *Op) (Kernel, error) {
	y, x, z := &op.Operands[0], &op.Operands[1], &op.Operands[2]
	k := &matmul{
		sink: newSink(op), x: x.array(), z: z.array(),
		xRow: axisH, xInner: axisW, zInner: axisH, zCol: axisW,
		batch: newGrid(y.Dims, 1<<axisN|1<<axisD|1<<axisC),
		rows:  y.Dims[axisH], cols: y.Dims[axisW],
	}
	if op.Params.TransposeX {
		k.xRow, k.xInner = axisW, axisH
	}
	if op.Params.TransposeZ {
		k.zInner, k.zCol = axisW, axisH
	}
	k.n = x.Dims[k.xInner]
	k.rowTiles = (k.rows + tileRows - 1) / tileRows
	k.colTiles = (k.cols + tileCols - 1) / tileCols
	return k, nil
}

func (k *matmul) Tiles() (n, grain int) {
	work := min(k.rows, tileRows) * min(k.cols, tileCols) * max(k.n, 1)
	return k.batch.count() * k.rowTiles * k.colTiles, max(1, 1<<15/max(work, 1))
}

func (k *matmul) Need() Need { return k.sink.need().Max(Need{Float: gemmNeed}) }

func (k *matmul) Run(w *Scratch, lo, hi int) {
	g := &w.gemm
	for t := lo; t < hi; t++ {
		g.at = k.batch.place(t / k.colTiles / k.rowTiles)
		g.at[axisH] = t / k.colTiles % k.rowTiles * tileRows
		g.at[axisW] = t % k.colTiles * tileCols
		rows, cols := min(tileRows, k.rows-g.at[axisH]), min(tileCols, k.cols-g.at[axisW])
		tile := multiply(w, k, 0, rows, cols, k.n)
		for r := range rows {
			i := g.at
			i[axisH] += r
			k.sink.put(w, tile[r*tileCols:][:cols], i, axisW)
		}
	}
}

func (k *matmul) left(w *Scratch, dst []float32, r, from int) {
	i := w.gemm.at
	row := i[axisH] + r
	i[k.xRow], i[k.xInner] = row, from
	k.x.load(w, dst, i, k.xInner)
}

func (k *matmul) right(w *Scratch, dst []float32, from int) {
	i := w.gemm.at
	col := i[axisW]
	i[k.zCol], i[k.zInner] = col, from
	k.z.load(w, dst, i, k.zCol)
}
