package selection

import (
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
)

// Products of rows that lie in a tile of 8 columns, of which the array has more at hand than of one long row; a last copy
// brings them back:
//
//	x[8·h,K] ─ copy ─ [K,h,8] ─ convolution ─ [N,h,8] on chip, as [8·h,1,N] ─ copy ─ y[8·h,N]

// tileColumns is how many columns a tile has.
const tileColumns = 8

// tiled reports whether Apple's compiler lays rows in a tile: up to 64 of them, if results are much larger than sources or
// there are many weights. Where exactly it begins to is not known. Records: (rows, inputs, outputs) of (64, 256, 1024) and
// (32, 2048, 2048) are tiled, so are feed-forward layers of 64 rows; (64, 512, 1024), (64, 1024, 1024) and (32, 256, 256) are
// not.
func (r *rowBlock) tiled(factors []*factor) bool {
	if r.transposed || r.rows%tileColumns != 0 || r.rows <= tileColumns || r.rows > tileColumns*tileColumns || r.columns < 16 || len(factors) > 2 {
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
func (b *builder) tiledProducts(r rowBlock, factors []*factor) ([]*units.Op, *diag.Reason) {
	height := r.rows / tileColumns
	in := units.Size{W: r.columns, H: height, D: 1, C: tileColumns}
	source := *r.from
	source.Row = tileColumns * r.from.Plane
	resident := func(base, channels int) units.Chip {
		c := units.Chip{Base: base, Channel: 2 * tileColumns}
		c.Depth = channels * c.Channel
		c.Row = c.Depth + 0x30
		if height < tileColumns {
			c.Row = c.Depth + 0x50
		}
		return c
	}
	last := factors[len(factors)-1]
	line := b.ChannelBytes(last.outputs)
	// What a product reads lies behind what it makes, alternately; of one product, the smaller lies behind.
	far := r.rows * line
	if len(factors) > 1 {
		far = resident(0, factors[0].outputs).End(height)
	}
	first := far
	if size := resident(0, r.columns).End(height); len(factors) == 1 && size > far {
		first, far = 0, size
	}
	if 2*far >= b.OnChip {
		return nil, noRoom("a tile of rows and their products", b.OnChip/2, far)
	}
	exchange := b.Exchanged(b.Bypass(in))
	exchange.Chip = resident(first, r.columns)
	chip := units.Chip{Base: exchange.Chip.End(height), Channel: 0x40, Row: tileColumns * 0x40, Depth: tileColumns * 0x40, Group: tileColumns * 0x40}
	if first == 0 {
		chip.Base = far
	}
	if height == tileColumns {
		chip.Row += 0x20
	}
	exchange.Source1 = units.Source{Memory: &source, Chip: chip}
	exchange.Result = b.backedImage(tileColumns, height, r.columns)
	ops := []*units.Op{exchange}
	at := exchange.Chip
	for i, f := range factors {
		o := b.Bypass(units.Size{W: tileColumns, H: height, D: 1, C: f.inputs})
		o.Source1 = units.Source{Chip: at}
		if i == 0 {
			o.Source1.Memory = exchange.Result
		}
		base := 0
		if at.Base == 0 {
			base = far
		}
		most := b.MaxLanes / 2
		if i+1 < len(factors) {
			at, most = resident(base, f.outputs), b.MaxLanes
			o.Chip = at
		} else {
			// The last lies with its channels side by side: [row of the tile][column][channel].
			o.Exchange = true
			o.Chip = units.Chip{Base: base, Channel: line, Row: tileColumns * line, Depth: r.rows * line}
			at = o.Chip
		}
		if why := b.multiply(o, f, 0, f.outputs, most); why != nil {
			return nil, why
		}
		ops = append(ops, o)
	}
	back := b.Bypass(units.Size{W: last.outputs, H: 1, D: 1, C: r.rows})
	back.Source1 = units.Source{Chip: units.Chip{Base: at.Base, Channel: at.Channel, Row: at.Depth, Depth: at.Depth}}
	back.Result = r.to
	back.Chip = units.Chip{Base: back.Source1.Chip.End(1)}
	return append(ops, back), nil
}
