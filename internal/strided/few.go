package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/matvec"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// fewRows multiplies a few rows with a matrix of fp16 numbers, which it reads as it
// lies: no panel would be used twice, and to read the matrix takes all the time.
//
// It gives the bits of the micro-kernel of package gemm that would do it otherwise,
// which is why that is asked for the order of its sums: what a row is made of does
// not depend on how many there are. Tiles add up in an order of their own, which
// nothing else follows; in their place stands the row that they leave factors to, and
// a program of up to four rows may differ from one of more as their bounds allow.
// Within a program, and for any batch, which is not along H, nothing differs.
type fewRows struct {
	sink  *sink
	row   *matvec.Row
	depth int // of a block of sums

	x, z, bias array
	hasBias    bool

	batch   grid
	rows    int // along H, of each place of the batch
	lines   int // of the result
	n       int // products of a sum
	inner   int // axis of x along the sum
	outer   int // axis of the result along the lines
	strips  bool
	apart   int    // of the lines of z, or of the factors where these are strips
	side    int    // of the lines where these are strips
	shared  bool   // z is the same for all of the batch
	coded   *coded // that z was made of, to be read instead; nil: z
	packed  packed // z in panels, to be read instead; there is not always one
	perTile int
	groups  int // of rows
	tiles   int // of lines
}

// maxFew is how many rows are few.
const maxFew = matvec.MaxRows

// fewRow returns the micro-kernel for the sums that a row of package gemm would
// compute, or the one that it leaves factors to, and how many products these add up
// at a time; nil if there is none.
func fewRow(row *gemm.Row) (few *matvec.Row, depth int) {
	for !row.Exact && !row.Fused {
		if row = row.Else; row == nil {
			return nil, 0
		}
	}
	return matvec.For(row.Fused), row.Depth
}

// few reports whether there is a micro-kernel in place of that for sums of n, in so
// many rows and columns.
func (op *Op) few(rows, cols, n int) bool {
	row, _ := fewRow(op.gemmRow(rows, cols, n))
	return op.Rules == nil && row != nil
}

// readsAsItLies reports whether an operand is fp16 numbers of which lines, or steps,
// lie side by side: apart is how far the others are.
func readsAsItLies(o *Operand, line, inner int) (strips bool, apart int, ok bool) {
	a := o.array()
	if a.typ != tensor.Float16 || a.pass != 0 || a.interleave > 1 && (line == a.lane || inner == a.lane) {
		return false, 0, false
	}
	side := func(x int) bool { return a.strides[x] == 2 || o.Dims[x] == 1 }
	switch {
	case side(inner) && a.strides[line] >= 0:
		return false, a.strides[line], true
	case side(line) && a.strides[inner] >= 0:
		return true, a.strides[inner], true
	}
	return false, 0, false
}

// matMulAxes are the axes of a product of matrices: of x along the sum, of z along
// the lines and the sum.
func matMulAxes(p *td.MatMul) (inner, zLine, zInner int) {
	inner, zLine, zInner = axisW, axisW, axisH
	if p.TransposeX {
		inner = axisH
	}
	if p.TransposeZ {
		zLine, zInner = axisH, axisW
	}
	return inner, zLine, zInner
}

func isFewRows(op *Op) bool {
	y, x, z := &op.Operands[0], &op.Operands[1], &op.Operands[2]
	inner, zLine, zInner := matMulAxes(op.Params.(*td.MatMul))
	_, _, ok := readsAsItLies(z, zLine, zInner)
	return ok && y.Dims[axisH] <= maxFew && op.few(anyLines, y.Dims[axisW], x.Dims[inner])
}

func bindFewRows(op *Op) (Kernel, error) {
	y, x, z := &op.Operands[0], &op.Operands[1], &op.Operands[2]
	inner, zLine, zInner := matMulAxes(op.Params.(*td.MatMul))
	k := &fewRows{
		batch: newGrid(y.Dims, 1<<axisN|1<<axisD|1<<axisC), rows: y.Dims[axisH],
		lines: y.Dims[axisW], n: x.Dims[inner], inner: inner, outer: axisW,
	}
	k.shared = z.Dims[axisN]*z.Dims[axisD]*z.Dims[axisC] == 1
	k.bind(op, op.gemmRow(anyLines, k.lines, k.n), zLine, zInner)
	return k, nil
}

// isOnePlace: a convolution whose result has one place is the product of its weights
// with rows, those of the batch.
func isOnePlace(op *Op) bool {
	y, x, z, p := &op.Operands[0], &op.Operands[1], &op.Operands[2], op.Params.(*td.Convolution)
	if p.Groups != 1 || !isPointwise(op) || y.Dims[axisD]*y.Dims[axisH]*y.Dims[axisW] != 1 {
		return false
	}
	_, _, ok := readsAsItLies(z, axisN, axisC)
	return ok && op.few(z.Dims[axisN], anyLines, x.Dims[axisC])
}

func bindOnePlace(op *Op) (Kernel, error) {
	y, x := &op.Operands[0], &op.Operands[1]
	k := &fewRows{
		batch: newGrid(y.Dims, 1<<axisN), rows: 1,
		lines: y.Dims[axisC], n: x.Dims[axisC], inner: axisC, outer: axisC, shared: true,
	}
	if len(op.Operands) > 3 && op.Operands[3].Present() {
		k.bias, k.hasBias = op.Operands[3].array(), true
	}
	k.bind(op, op.gemmRow(k.lines, anyLines, k.n), axisN, axisC)
	return k, nil
}

// bind does what both have in common. A tile is about as many weights as a thread
// reads in 20 µs, and all rows of a group.
func (k *fewRows) bind(op *Op, row *gemm.Row, zLine, zInner int) {
	const bytes, least, most, enough = 1 << 18, 32, chunk, 12
	z := &op.Operands[2]
	k.sink = newSink(op)
	k.row, k.depth = fewRow(row)
	k.x, k.z = op.Operands[1].array(), z.array()
	k.strips, k.apart, _ = readsAsItLies(z, zLine, zInner)
	k.side = k.apart
	k.perTile = bytes / max(2*k.n, 1)
	if k.strips { // long ones, since each is elsewhere
		k.side = 2
		k.perTile = most
	}
	k.perTile = min(max(min(k.perTile, k.lines/enough), least), most) / least * least
	k.tiles = tilesOf(k.lines, k.perTile)
	k.groups = k.batch.count()
	if k.shared {
		k.groups = tilesOf(k.batch.count()*k.rows, maxFew)
		if k.strips {
			k.coded = newCoded(z, k.lines, least, leastRun)
		} else {
			k.coded = newCoded(z, k.n, k.depth, leastRun)
		}
		if k.coded != nil && !k.coded.isFast() {
			k.coded = nil
		}
		if k.coded == nil && !k.strips {
			k.packed = k.pack(op, row, &matrix{array: k.z, line: zLine, inner: zInner})
		}
	}
}

// pack has a large matrix packed as many rows would have it, where panels keep fp16
// numbers, so that it is read from the first byte to the last. A small one stays in a
// cache as it is.
func (k *fewRows) pack(op *Op, row *gemm.Row, z *matrix) packed {
	o := &op.Operands[2]
	row = row.ForFloats()
	if op.Packs.leaves(o) || k.row.Side != row.B.Lines || k.lines*k.n <= fewPacked {
		return packed{}
	}
	kind := packRows
	switch z.line {
	case axisW:
		kind = packCols
	case axisN:
		kind = packPlaces
	}
	s := newSide(&row.B, z, stageFloats(row))
	return op.Packs.add(o, kind, &s, k.depth, 1, k.lines, k.n)
}

func (k *fewRows) Tiles() (n, grain int) {
	return k.groups * k.tiles, max(1, 1<<15/max(1, k.perTile*k.n))
}

func (k *fewRows) Need() Need {
	n := Need{Float: maxFew*k.n + k.n + 2*maxFew*k.perTile}
	if k.coded != nil {
		n.Decoded = codedSome * max(2*k.perTile, 2*k.codedWidth()+codedPad)
	}
	return k.sink.need().Max(n)
}

// codedSome is how many lines, or factors of strips, are decoded at a time.
const codedSome = 32

// codedPad is how many bytes lie between lines that were decoded: a power of two from
// one to the next would put all of them into the same places of the cache.
const codedPad = 64

// Tiles of the same lines follow each other, so that these are still in the cache.
func (k *fewRows) Run(w *Scratch, lo, hi int) {
	w.begins()
	for t := lo; t < hi; t++ {
		line, group := t/k.groups*k.perTile, t%k.groups
		first, count := group*k.rows, k.rows
		if k.shared {
			first = group * maxFew
			count = min(maxFew, k.batch.count()*k.rows-first)
		}
		k.tile(w, first, count, line, min(k.perTile, k.lines-line))
	}
}

// at is where row r lies, of all that the batch has.
func (k *fewRows) at(r int) index {
	i := k.batch.place(r / k.rows)
	i[axisH] += r % k.rows
	return i
}

// tile computes lines of some rows.
func (k *fewRows) tile(w *Scratch, first, count, line, lines int) {
	rows := matvec.RoundUp(count)
	x, buf := w.float[:rows*k.n], w.float[maxFew*k.n:][:k.n]
	sums := w.float[(maxFew+1)*k.n:][:rows*lines]
	block := w.float[(maxFew+1)*k.n+maxFew*k.perTile:][:rows*lines]
	k.load(w, x, buf, rows, first, count)
	from := k.from(w, first, line)
	clear(sums)
	p := &w.few
	*p = matvec.Product{Apart: k.apart, Lines: lines, Rows: rows, S: block, Stride: lines, Stage: &w.fewStage}
	switch {
	case k.coded != nil && !k.strips:
		k.decodedDots(w, x, sums, line)
	default:
		for at := 0; at < k.n; at += k.depth {
			p.Depth, p.X = min(k.depth, k.n-at), x[at*rows:]
			clear(block)
			switch {
			case k.packed.there:
				p.W, p.Apart = k.packed.halvesAt(w, line, at, p.Depth)
				k.row.Panels(p)
			case k.coded != nil:
				k.decodedStrips(w, at, line)
			case k.strips:
				p.W = from[at*k.apart:]
				k.row.Strips(p)
			default:
				p.W = from[2*at:]
				k.row.Dots(p)
			}
			vec.Add(sums, sums, block)
		}
	}
	if k.hasBias {
		k.bias.load(w, block[:lines], index{axisC: line}, axisC)
	}
	for r := range count {
		i := k.at(first + r)
		i[k.outer] = line
		row := sums[r*lines:][:lines]
		if k.hasBias {
			vec.Add(row, row, block)
		}
		k.sink.put(w, row, i, k.outer)
	}
}

// from is the matrix from a line on, for the place of the batch that a row is in.
func (k *fewRows) from(w *Scratch, row, line int) []byte {
	if k.coded != nil || k.packed.there {
		return nil
	}
	at := k.z.offset
	if !k.shared {
		place := k.batch.place(row / k.rows)
		at = k.z.at(&place)
	}
	return k.z.memory(w)[at+line*k.side:]
}

// decodedDots multiplies with lines from one on, some lines at a time, and as many
// of their factors as there is room for.
func (k *fewRows) decodedDots(w *Scratch, x, sums []float32, line int) {
	p := &w.few
	lines, block, width := p.Lines, p.S, k.codedWidth()
	for l := 0; l < lines; l += codedSome {
		p.Lines = min(codedSome, lines-l)
		for at := 0; at < k.n; at += width {
			d := min(width, k.n-at)
			apart := 2*d + codedPad
			k.coded.decodeRows(w, w.decoded, apart, (line+l)*k.n+at, p.Lines, k.n, d)
			for j := 0; j < d; j += k.depth {
				p.W, p.Apart, p.Depth, p.X = w.decoded[2*j:], apart, min(k.depth, d-j), x[(at+j)*p.Rows:]
				p.S, p.Stride = block[:p.Rows*p.Lines], p.Lines
				clear(p.S)
				k.row.Dots(p)
				for r := range p.Rows {
					to := sums[r*lines+l:][:p.Lines]
					vec.Add(to, to, p.S[r*p.Lines:])
				}
			}
		}
	}
}

// codedWidth is how many factors of a line are decoded at a time.
func (k *fewRows) codedWidth() int {
	const most = 1 << 9
	return min(k.n, max(most/k.depth, 1)*k.depth)
}

// decodedStrips likewise, some factors at a time.
func (k *fewRows) decodedStrips(w *Scratch, at, line int) {
	p := &w.few
	depth, x := p.Depth, p.X
	p.Apart, p.W = 2*p.Lines, w.decoded
	for d := 0; d < depth; d += codedSome {
		p.Depth, p.X = min(codedSome, depth-d), x[d*p.Rows:]
		k.coded.decodeRows(w, w.decoded, p.Apart, (at+d)*k.lines+line, p.Depth, k.lines, p.Lines)
		k.row.Strips(p)
	}
}

// load reads rows of x, factor by factor.
func (k *fewRows) load(w *Scratch, x, buf []float32, rows, first, count int) {
	for r := range rows {
		to := buf
		switch {
		case rows == 1:
			to = x
			fallthrough
		case r < count:
			i := k.at(first + r)
			if k.inner == axisH {
				i[axisW], i[axisH] = i[axisH], 0
			}
			k.x.load(w, to, i, k.inner)
		default:
			clear(to)
		}
		if rows > 1 {
			for j, v := range to {
				x[j*rows+r] = v
			}
		}
	}
}
