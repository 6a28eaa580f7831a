package compiler

// Products of rows that lie in a tile of 8 columns, of which the array has more at hand than of one long row; a last copy
// brings them back:
//
//	x[8·h,K] ─ copy ─ [K,h,8] ─ convolution ─ [N,h,8] on chip, as [8·h,1,N] ─ copy ─ y[8·h,N]

// v7tile is how many columns a tile has.
const v7tile = 8

// tiled reports whether Apple's compiler lays rows in a tile: up to 64 of them, if results are much larger than sources or
// there are many weights. Where exactly it begins to is not known. Records: (rows, inputs, outputs) of (64, 256, 1024) and
// (32, 2048, 2048) are tiled, so are feed-forward layers of 64 rows; (64, 512, 1024), (64, 1024, 1024) and (32, 256, 256) are
// not.
func (r *v7rows) tiled(factors []*v7factor) bool {
	if r.turned || r.rows%v7tile != 0 || r.rows <= v7tile || r.rows > v7tile*v7tile || r.columns < 16 || len(factors) > 2 {
		return false
	}
	for _, f := range factors {
		if f.diagonal {
			return false
		}
	}
	for _, f := range factors {
		if f.outputs > 2*f.inputs || f.inputs*f.outputs > 1<<20 {
			return true
		}
	}
	return false
}

// tiledProducts is products of rows that lie in a tile.
func (b *v7build) tiledProducts(r v7rows, factors []*v7factor) ([]*v7op, bool) {
	height := r.rows / v7tile
	in := v7size{w: r.columns, h: height, d: 1, c: v7tile}
	source := *r.from
	source.row = v7tile * r.from.plane
	resident := func(base, channels int) v7chip {
		c := v7chip{base: base, channel: 2 * v7tile}
		c.depth = channels * c.channel
		c.row = c.depth + 0x30
		if height < v7tile {
			c.row = c.depth + 0x50
		}
		return c
	}
	last := factors[len(factors)-1]
	line := v7align(2*last.outputs, 16)
	// What a product reads lies behind what it makes, by turns; of one product, the smaller lies behind.
	far := r.rows * line
	if len(factors) > 1 {
		far = resident(0, factors[0].outputs).end(height)
	}
	first := far
	if size := resident(0, r.columns).end(height); len(factors) == 1 && size > far {
		first, far = 0, size
	}
	if 2*far >= v7chipBytes {
		return nil, false
	}
	turn := newBypass(in).exchanged()
	turn.chip = resident(first, r.columns)
	chip := v7chip{base: turn.chip.end(height), channel: 0x40, row: v7tile * 0x40, depth: v7tile * 0x40, group: v7tile * 0x40}
	if first == 0 {
		chip.base = far
	}
	if height == v7tile {
		chip.row += 0x20
	}
	turn.source1 = v7source{memory: &source, chip: chip}
	turn.result = b.backedImage(v7tile, height, r.columns)
	ops := []*v7op{turn}
	at := turn.chip
	for i, f := range factors {
		o := newBypass(v7size{w: v7tile, h: height, d: 1, c: f.inputs})
		o.source1 = v7source{chip: at}
		if i == 0 {
			o.source1.memory = turn.result
		}
		base := 0
		if at.base == 0 {
			base = far
		}
		most := 16
		if i+1 < len(factors) {
			at, most = resident(base, f.outputs), 32
			o.chip = at
		} else {
			// The last lies with its channels side by side: [row of the tile][column][channel].
			o.exchange = true
			o.chip = v7chip{base: base, channel: line, row: v7tile * line, depth: r.rows * line}
			at = o.chip
		}
		if !b.multiply(o, f, 0, f.outputs, most) {
			return nil, false
		}
		ops = append(ops, o)
	}
	back := newBypass(v7size{w: last.outputs, h: 1, d: 1, c: r.rows})
	back.source1 = v7source{chip: v7chip{base: at.base, channel: at.channel, row: at.depth, depth: at.depth}}
	back.result = r.to
	back.chip = v7chip{base: back.source1.chip.end(1)}
	return append(ops, back), true
}
