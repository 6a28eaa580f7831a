package selection

import (
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// The tasks of products of rows with constant matrices.

// rowBlock are the rows that are multiplied, and where the products go: each row a channel.
type rowBlock struct {
	from, to      *units.Surface
	rows, columns int
	transposed    bool // from has the rows as columns already
}

// products multiplies rows with matrices, one after the other.
func (b *builder) products(r rowBlock, factors []*factor) ([]*units.Op, *diag.Reason) {
	if r.tiled(factors) {
		if ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.tiledProducts(r, factors) }); why == nil {
			return ops, nil
		}
		for _, f := range factors {
			f.tasks = nil
		}
	}
	c := columnProducts{builder: b, rowBlock: r, factors: factors}
	return c.run()
}

// columnProducts is products in rows side by side, at work.
type columnProducts struct {
	*builder
	rowBlock
	factors []*factor
	channel int // bytes of a channel on chip
	far     int // where every second tensor lies; what passes is behind all
	end     int
	ops     []*units.Op
}

// A held is a tensor between tasks of a product: [channels,1,rows].
type held struct {
	memory *units.Surface
	chip   *units.Chip
}

func (c *columnProducts) run() ([]*units.Op, *diag.Reason) {
	if c.channel = c.ChannelBytes(c.rows); c.channel%0x80 == 0 {
		c.channel += 0x10
	}
	// Tensors lie alternately at the beginning and behind.
	sizes := [2]int{}
	if !c.transposed {
		sizes[0] = c.columns * c.channel
	}
	for i, f := range c.factors[:len(c.factors)-1] {
		at := &sizes[(i+1)%2]
		*at = max(*at, f.outputs*c.channel)
	}
	c.far, c.end = sizes[0], sizes[0]+sizes[1]
	onChip := c.end+c.rows*min(0x100, c.ChannelBytes(c.columns)) < c.OnChip
	if !onChip {
		c.far, c.end = 0, 0
	}
	at := held{memory: c.from}
	if !c.transposed {
		at = c.hold(0, c.columns, onChip)
		if at.chip != nil {
			at.memory = c.backed(c.RowBytes(c.rows), c.columns)
		}
		c.load(at)
	}
	for i, f := range c.factors {
		var next held
		last := i+1 == len(c.factors)
		if !last {
			next = c.hold(i+1, f.outputs, onChip)
		}
		if why := c.multiply(f, at, next, last); why != nil {
			return nil, why
		}
		at = next
	}
	return c.ops, nil
}

// hold takes room for the i-th tensor.
func (c *columnProducts) hold(i, channels int, onChip bool) held {
	if onChip {
		chip := units.Chip{Channel: c.channel, Row: channels * c.channel, Depth: channels * c.channel}
		if i%2 == 1 {
			chip.Base = c.far
		}
		return held{chip: &chip}
	}
	m := c.scratchMatrices(1, 1, channels, c.rows)
	return held{memory: m.part(0, 0, 0)}
}

// load brings rows in as columns.
func (c *columnProducts) load(to held) {
	size := units.Size{W: c.columns, H: 1, D: 1, C: c.rows}
	o := c.Exchanged(c.Bypass(size))
	o.Source1 = units.Source{Memory: c.from, Chip: c.stripChip(c.end, size)}
	o.Result = to.memory
	if o.Chip = c.Passing(o.Source1.Chip, 1); to.chip != nil {
		o.Chip = *to.chip
	}
	c.ops = append(c.ops, o)
}

// multiply makes the tasks of a factor: one, or several with some of the outputs each.
func (c *columnProducts) multiply(f *factor, from, to held, last bool) *diag.Reason {
	step := f.outputs
	if c.rows > c.rowsAtOnce() && f.inputs*f.outputs > productWeights && !f.diagonal {
		step = max(32, productWeights/f.inputs/32*32)
	}
	for first := 0; first < f.outputs; first += step {
		size := units.Size{W: c.rows, H: 1, D: 1, C: f.inputs}
		o := c.Bypass(size)
		o.Source1 = units.Source{Memory: from.memory}
		if from.chip != nil {
			if o.Source1.Chip = *from.chip; first > 0 {
				o.Source1.Memory = nil
			}
		} else {
			o.Source1.Chip = c.stripChip(c.end, size)
		}
		switch {
		case last:
			result := *c.to
			result.Offset += 2 * first
			o.Result, o.Exchange = &result, true
			o.Chip = units.Chip{Base: max(c.end, o.Source1.Chip.End(1))}
		case to.chip != nil:
			o.Chip = *to.chip
			o.Chip.Base += first * c.channel
		default:
			result := *to.memory
			result.Offset += first * result.Plane
			o.Result = &result
			o.Chip = units.Chip{Base: o.Source1.Chip.End(1)}
		}
		if o.Chip.Base >= c.OnChip {
			return noRoom("the columns of a product", c.OnChip, o.Chip.Base)
		}
		if why := c.builder.multiply(o, f, first, min(step, f.outputs-first), c.MaxLanes/2); why != nil {
			return why
		}
		c.ops = append(c.ops, o)
	}
	return nil
}

// multiply makes a task the product with some of the rows of a matrix.
func (b *builder) multiply(o *units.Op, f *factor, first, count, most int) *diag.Reason {
	o.Out.C, o.Unicast = count, 0
	if f.diagonal {
		o.Unicast = 1
	}
	if made, ok := f.tasks[first]; ok {
		o.Kernel, o.Unity, o.Operation, o.LanesLog2, o.Engines = made.Kernel, made.Unity, made.Operation, made.LanesLog2, made.Engines
		o.Post, o.NonLinear, o.Biased = made.Post, made.NonLinear, made.Biased
		return nil
	}
	k := td.Kernel{
		Groups: 1, Outputs: count, Inputs: f.inputs, Height: 1, Width: 1, StrideY: 1, StrideX: 1,
		Format: td.KernelFP16, Lanes: b.lanesFor(count, most), Engines: b.EnginesFor(count),
	}
	if f.diagonal {
		k.Inputs, k.Lanes = 1, 1
	}
	bias := f.bias
	if bias != nil {
		bias = bias[first:][:count]
	}
	if why := b.weigh(o, k, td.Weights{Values: f.weights[first*k.Inputs:][:count*k.Inputs]}, &f.after, bias); why != nil {
		return why
	}
	if f.tasks == nil {
		f.tasks = map[int]units.Op{}
	}
	f.tasks[first] = *o
	return nil
}

// stripChip is arrayChip with narrower strips where there are very many channels.
func (b *builder) stripChip(base int, s units.Size) units.Chip {
	c := b.ArrayChip(base, s)
	for c.End(1) >= b.OnChip && c.Channel > b.OnChipAlign {
		c.Channel = units.Align(c.Channel/2, b.OnChipAlign)
		c.Depth = s.C * c.Channel
		c.Row, c.Group = c.Depth, c.Depth
	}
	return c
}

// backedImage is scratch memory behind an on-chip tensor of so many channels, in rows of columns.
func (b *builder) backedImage(columns, rows, channels int) *units.Surface {
	s := b.scratchSurface(units.Size{W: columns, H: rows, D: 1, C: channels}, 1)
	s.Backing = true
	return s
}
