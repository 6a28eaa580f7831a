package compiler

import "github.com/espalier-ane/espalier/td"

// The tasks of products of rows with constant matrices.

// v7rows are the rows that are multiplied, and where the products go: each row a channel.
type v7rows struct {
	from, to      *v7surface
	rows, columns int
	turned        bool // from has the rows as columns already
}

// products multiplies rows with matrices, one after the other.
func (b *v7build) products(r v7rows, factors []*v7factor) ([]*v7op, bool) {
	if r.tiled(factors) {
		if ops, ok := b.attempt(func() ([]*v7op, bool) { return b.tiledProducts(r, factors) }); ok {
			return ops, true
		}
		for _, f := range factors {
			f.tasks = nil
		}
	}
	c := columnProducts{v7build: b, v7rows: r, factors: factors}
	return c.run()
}

// columnProducts is products in rows side by side, at work.
type columnProducts struct {
	*v7build
	v7rows
	factors []*v7factor
	channel int // bytes of a channel on chip
	far     int // where every second tensor lies; what passes is behind all
	end     int
	ops     []*v7op
}

// A v7held is a tensor between tasks of a product: [channels,1,rows].
type v7held struct {
	memory *v7surface
	chip   *v7chip
}

func (c *columnProducts) run() ([]*v7op, bool) {
	if c.channel = v7align(2*c.rows, 16); c.channel%0x80 == 0 {
		c.channel += 0x10
	}
	// Tensors lie by turns at the beginning and behind.
	sizes := [2]int{}
	if !c.turned {
		sizes[0] = c.columns * c.channel
	}
	for i, f := range c.factors[:len(c.factors)-1] {
		at := &sizes[(i+1)%2]
		*at = max(*at, f.outputs*c.channel)
	}
	c.far, c.end = sizes[0], sizes[0]+sizes[1]
	onChip := c.end+c.rows*min(0x100, v7align(2*c.columns, 16)) < v7chipBytes
	if !onChip {
		c.far, c.end = 0, 0
	}
	at := v7held{memory: c.from}
	if !c.turned {
		at = c.hold(0, c.columns, onChip)
		if at.chip != nil {
			at.memory = c.backed(v7align(2*c.rows, v7row), c.columns)
		}
		c.turn(at)
	}
	for i, f := range c.factors {
		var next v7held
		last := i+1 == len(c.factors)
		if !last {
			next = c.hold(i+1, f.outputs, onChip)
		}
		if !c.multiply(f, at, next, last) {
			return nil, false
		}
		at = next
	}
	return c.ops, true
}

// hold takes room for the i-th tensor.
func (c *columnProducts) hold(i, channels int, onChip bool) v7held {
	if onChip {
		chip := v7chip{channel: c.channel, row: channels * c.channel, depth: channels * c.channel}
		if i%2 == 1 {
			chip.base = c.far
		}
		return v7held{chip: &chip}
	}
	m := c.scratchMatrices(1, 1, channels, c.rows)
	return v7held{memory: m.part(0, 0, 0)}
}

// turn makes columns of rows.
func (c *columnProducts) turn(to v7held) {
	size := v7size{w: c.columns, h: 1, d: 1, c: c.rows}
	o := newBypass(size).exchanged()
	o.source1 = v7source{memory: c.from, chip: stripChip(c.end, size)}
	o.result = to.memory
	if o.chip = passing(o.source1.chip, 1); to.chip != nil {
		o.chip = *to.chip
	}
	c.ops = append(c.ops, o)
}

// multiply makes the tasks of a factor: one, or several with some of the outputs each.
func (c *columnProducts) multiply(f *v7factor, from, to v7held, last bool) bool {
	step := f.outputs
	if c.rows > v7rowsAtOnce && f.inputs*f.outputs > v7productWeights && !f.diagonal {
		step = max(32, v7productWeights/f.inputs/32*32)
	}
	for first := 0; first < f.outputs; first += step {
		size := v7size{w: c.rows, h: 1, d: 1, c: f.inputs}
		o := newBypass(size)
		o.source1 = v7source{memory: from.memory}
		if from.chip != nil {
			if o.source1.chip = *from.chip; first > 0 {
				o.source1.memory = nil
			}
		} else {
			o.source1.chip = stripChip(c.end, size)
		}
		switch {
		case last:
			result := *c.to
			result.offset += 2 * first
			o.result, o.exchange = &result, true
			o.chip = v7chip{base: max(c.end, o.source1.chip.end(1))}
		case to.chip != nil:
			o.chip = *to.chip
			o.chip.base += first * c.channel
		default:
			result := *to.memory
			result.offset += first * result.plane
			o.result = &result
			o.chip = v7chip{base: o.source1.chip.end(1)}
		}
		if o.chip.base >= v7chipBytes || !c.v7build.multiply(o, f, first, min(step, f.outputs-first), 16) {
			return false
		}
		c.ops = append(c.ops, o)
	}
	return true
}

// multiply makes a task the product with some of the rows of a matrix.
func (b *v7build) multiply(o *v7op, f *v7factor, first, count, most int) bool {
	o.out.c, o.unicast = count, 0
	if f.diagonal {
		o.unicast = 1
	}
	if made, ok := f.tasks[first]; ok {
		o.kernel, o.unity, o.operation, o.lanesLog2, o.engines = made.kernel, made.unity, made.operation, made.lanesLog2, made.engines
		o.post, o.nonLinear, o.biased = made.post, made.nonLinear, made.biased
		return true
	}
	k := td.Kernel{
		Groups: 1, Outputs: count, Inputs: f.inputs, Height: 1, Width: 1, StrideY: 1, StrideX: 1,
		Format: td.KernelFP16, Lanes: v7lanes(count, most), Engines: v7engines(count),
	}
	if f.diagonal {
		k.Inputs, k.Lanes = 1, 1
	}
	bias := f.bias
	if bias != nil {
		bias = bias[first:][:count]
	}
	if !b.weigh(o, k, td.Weights{Values: f.weights[first*k.Inputs:][:count*k.Inputs]}, &f.after, bias) {
		return false
	}
	if f.tasks == nil {
		f.tasks = map[int]v7op{}
	}
	f.tasks[first] = *o
	return true
}

// stripChip is arrayChip with narrower strips where there are very many channels.
func stripChip(base int, s v7size) v7chip {
	c := arrayChip(base, s)
	for c.end(1) >= v7chipBytes && c.channel > 16 {
		c.channel = v7align(c.channel/2, 16)
		c.depth = s.c * c.channel
		c.row, c.group = c.depth, c.depth
	}
	return c
}

// backedImage is scratch memory behind an on-chip tensor of so many channels, in rows of columns.
func (b *v7build) backedImage(columns, rows, channels int) *v7surface {
	s := b.scratchSurface(v7size{w: columns, h: rows, d: 1, c: channels}, 1)
	s.backing = true
	return s
}
