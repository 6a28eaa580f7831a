package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Convolutions. Each image of a batch is a task, and all of them load the same weights: groups would have weights of their
// own each.

// Windows (guide A). One that is wider has another mode, in which two columns are computed at a time (record
// encoder_conv_c16_n16_k9x9_s1_g16_bias0_same); one of nine rows does not (encoder_conv_c1024_n1024_k9x1_s1_g1024_bias0_same).
const (
	v7maxColumns = 7
	v7maxRows    = 15
	v7maxImages  = 256 // of a batch
	v7smallSide  = 8   // of a result that is small to the array
)

// A v7conv is a convolution as the array has it.
type v7conv struct {
	in, out  v7size // all groups
	groups   int
	window   v7window
	weights  []uint16 // [group][output][input][y][x]
	bias     []uint16 // [group][output], or nil
	after    v7after
	exchange bool

	// Of a transposed convolution: how far apart the elements of x lie in the result, and how many of its rows and columns
	// are cut off.
	spread, cut [2]int
}

// conv selects the tasks of a convolution. What its epilogue does is in the tasks themselves, if they can say it; else other
// tasks follow.
func (b *v7build) conv(l *anec.Layer, p *anec.Conv) ([]*v7op, bool) {
	to, ok := b.surface(l.Top())
	if !ok {
		return nil, false
	}
	if ops, ok := b.attempt(func() ([]*v7op, bool) { return b.convInto(l, p, to) }); ok {
		return ops, true
	}
	stages, ok := stagesOf(l)
	if !ok || to.element != v7fp16 || len(stages) == 0 || l.Epilogue.Transpose != nil {
		return nil, false
	}
	bare := *l
	bare.Epilogue = anec.Epilogue{}
	size, images := v7sizeOf(l.Top().Type.Dims)
	room := b.scratchSurface(size, images)
	ops, ok := b.convInto(&bare, p, room)
	if !ok {
		return nil, false
	}
	c := &v7chain{b: b, ops: ops}
	ok = c.finish(v7tensor{size: size, groups: images, memory: room}, stages, to)
	return c.ops, ok
}

// convInto selects the tasks of a convolution whose result goes to a surface.
func (b *v7build) convInto(l *anec.Layer, p *anec.Conv, my *v7surface) ([]*v7op, bool) {
	x := l.Bottoms[0]
	images := x.Type.Dims[anec.N]
	c, ok := readConv(l, p)
	if !ok || images > v7maxImages {
		return nil, false
	}
	mx, ok := b.surface(x)
	if !ok || mx.element != v7fp16 || my.element != v7fp16 {
		return nil, false
	}
	if c.window.kw > v7maxColumns && !p.Transposed {
		return b.wideConv(c, images, mx, my)
	}
	parts := []*v7conv{c}
	if p.Transposed {
		if parts, ok = c.phases(); !ok {
			return nil, false
		}
	}
	var forms []*v7op
	for _, part := range parts {
		o, ok := b.convTask(part)
		if !ok {
			return nil, false
		}
		forms = append(forms, o)
	}
	// Phases lie side by side, so that all have as many columns. Where the result has fewer, it is copied from where there is
	// room for them.
	var room *v7surface
	if p.Transposed && c.out.w%c.spread[1] != 0 {
		room = b.scratchSurface(v7size{w: v7align(c.out.w, c.spread[1]), h: c.out.h, d: 1, c: c.out.c}, 1)
	}
	var ops []*v7op
	for n := range images {
		from, to := *mx, *my
		from.offset += n * mx.group
		to.offset += n * my.group
		into := to
		if room != nil {
			into = *room
		}
		for i, form := range forms {
			ops = append(ops, form.between(parts[i], i, from, into))
		}
		if room != nil {
			ops = append(ops, newBypass(c.out).fromTo(room, &to))
		}
	}
	return ops, true
}

// wideConv is a convolution whose windows are wider than the array has them: the sum of two, of the columns up to the one that
// the result lies over, and of those behind it.
//
//	a b c d e f g h i   →   a b c d e · · · ·   +   · · · · 0 f g h i
//	        ^
func (b *v7build) wideConv(c *v7conv, images int, from, to *v7surface) ([]*v7op, bool) {
	split := c.window.px
	if c.window.sx != 1 || c.window.sy != 1 || c.exchange || c.after != (v7after{scale: 1}) || split+1 > v7maxColumns || c.window.kw-split > v7maxColumns {
		return nil, false
	}
	left, right := *c, *c
	left.window.kw, left.weights = split+1, c.columns(0, split+1)
	right.window.kw, right.window.px, right.weights, right.bias = c.window.kw-split, 0, c.columns(split, c.window.kw), nil
	for i := 0; i < len(right.weights); i += right.window.kw {
		right.weights[i] = 0
	}
	chain := &v7chain{b: b}
	size := v7size{w: c.out.w, h: c.out.h, d: 1, c: c.out.c}
	sum := v7tensor{size: size, groups: images, memory: b.scratchSurface(size, images)}
	last := v7tensor{size: size, groups: images, memory: b.scratchSurface(size, images)}
	for _, half := range []struct {
		conv *v7conv
		into *v7surface
	}{{&left, sum.memory}, {&right, last.memory}} {
		form, ok := b.convTask(half.conv)
		if !ok {
			return nil, false
		}
		for n := range images {
			x, y := *from, *half.into
			x.offset += n * from.group
			y.offset += n * half.into.group
			chain.ops = append(chain.ops, form.between(half.conv, 0, x, y))
		}
	}
	_, ok := chain.two(td.EWAdd, sum, last, sum, to, nil)
	return chain.ops, ok
}

// columns is some columns of the kernel.
func (c *v7conv) columns(from, to int) (list []uint16) {
	for at := 0; at < len(c.weights); at += c.window.kw {
		list = append(list, c.weights[at+from:at+to]...)
	}
	return list
}

// between is the task of one image, and of phase i along H.
func (form *v7op) between(c *v7conv, i int, from, to v7surface) *v7op {
	o := *form
	if c.spread[1] > 1 {
		to.interleave = c.spread[1]
	}
	if c.groups > 1 && o.unicast == 0 {
		from.group = c.in.c / c.groups * from.plane
		to.group = c.out.c / c.groups / max(c.spread[1], 1) * to.plane
	}
	if c.spread[0] > 1 {
		to.offset += i * to.row
		to.row *= c.spread[0]
	}
	o.source1.memory, o.result = &from, &to
	return &o
}

// readConv reads a layer; false if it is none that the array does.
func readConv(l *anec.Layer, p *anec.Conv) (*v7conv, bool) {
	weights, ok := halves(l.Bottoms[1])
	if !ok || !inPlane(&p.Window) || p.PaddingMode != td.PadZero && hasPadding(&p.Window) {
		return nil, false
	}
	c := &v7conv{groups: p.Groups, weights: weights}
	c.in, _ = v7sizeOf(l.Bottoms[0].Type.Dims)
	c.out, _ = v7sizeOf(l.Top().Type.Dims)
	if turn := l.Epilogue.Transpose; turn != nil {
		if *turn != exchange(anec.C, anec.W) || p.Groups > 1 || p.Transposed {
			return nil, false
		}
		c.exchange = true
		c.out.c, c.out.w = c.out.w, c.out.c
	}
	plain := c.foldGain(l)
	if c.after, ok = afterButTranspose(plain); !ok {
		return nil, false
	}
	bias := bottom(l, 2)
	if c.after.bias != nil {
		if bias != nil {
			return nil, false
		}
		bias = c.after.bias
	}
	if bias != nil {
		if c.bias, ok = halves(bias); !ok || len(c.bias) != c.out.c {
			return nil, false
		}
	}
	c.window = planeWindow(&p.Window)
	if p.Transposed {
		if p.Dilation != [3]int{1, 1, 1} {
			return nil, false
		}
		c.spread, c.cut = [2]int{c.window.sy, c.window.sx}, [2]int{c.window.py, c.window.px}
		c.window.sx, c.window.sy = 1, 1
		return c, true
	}
	c.dilate(p.Dilation[1], p.Dilation[2])
	return c, c.evenStrides()
}

// foldGain multiplies a gain of the result into the weights, if none of them changes by rounding, and returns the layer
// without it. A gain that is not folded is left for the post scale.
func (c *v7conv) foldGain(l *anec.Layer) *anec.Layer {
	g := l.Epilogue.GOC
	if g == nil || g.Gain == nil || g.Gain.Const == nil || !g.Gain.Const.Plain() || l.Epilogue.Pre != nil || bottom(l, 2) != nil {
		return l
	}
	gains := g.Gain.Const.Stored.Float64s()
	if len(gains) == 1 && g.Offset == nil {
		return l // as Apple's compiler has it: in the post scale (chain_attn_s64_dh64)
	}
	folded := make([]uint16, len(c.weights))
	for i, w := range c.weights {
		o := i / (len(c.weights) / c.out.c)
		v := float64(tensor.F16(w)) * gains[o%len(gains)]
		if folded[i] = tensor.ToF16(float32(v)); float64(tensor.F16(folded[i])) != v {
			return l
		}
	}
	c.weights = folded
	plain := *l
	plain.Epilogue.GOC = nil
	if g.Offset != nil {
		plain.Epilogue.GOC = &anec.GainOffset{Offset: g.Offset}
	}
	return &plain
}

// dilate writes zeros between the elements of the kernel.
//
//	dilation 2   a b c   →   a 0 b 0 c
func (c *v7conv) dilate(dy, dx int) {
	if dy == 1 && dx == 1 {
		return
	}
	kh, kw := c.window.kh, c.window.kw
	c.window.kh, c.window.kw = (kh-1)*dy+1, (kw-1)*dx+1
	wide := make([]uint16, len(c.weights)/(kh*kw)*c.window.kh*c.window.kw)
	for i, v := range c.weights {
		plane, ky, kx := i/(kh*kw), i/kw%kh, i%kw
		wide[(plane*c.window.kh+ky*dy)*c.window.kw+kx*dx] = v
	}
	c.weights = wide
}

// evenStrides makes the strides along both axes the same, as most records have them; along an axis with one result a stride
// says nothing. A stride of 2 along W alone is known with lanes side by side (record
// encoder_conv_c16_n16_k9x9_s1_g16_bias0_same).
func (c *v7conv) evenStrides() bool {
	w := &c.window
	switch {
	case w.sx == w.sy:
	case c.out.h == 1:
		w.sy = w.sx
	case c.out.w == 1:
		w.sx = w.sy
	case w.sx == 2 && w.sy == 1:
		return !c.depthwise()
	}
	return w.sx == w.sy && w.sx <= 2
}

// depthwise reports whether each channel is convolved by itself.
func (c *v7conv) depthwise() bool { return c.groups > 1 && c.groups == c.in.c && c.out.c == c.in.c }

// phases takes a transposed convolution apart by the rows of the result, which lie as far apart as the elements of x are
// spread. Columns are taken apart too: those of one phase are a channel, and channels lie interleaved.
//
//	spread 2, kernel a b c, nothing cut    y[0] = a·x[0]              columns 0 2 4 …: c·x[m-1] + a·x[m]
//	                                       y[1] = b·x[0]              columns 1 3 5 …: b·x[m]
//	                                       y[2] = c·x[0] + a·x[1]
//
// So y[s·m + r] sums w[k]·x[m - t] over all k = s·t + r + cut.
func (c *v7conv) phases() (parts []*v7conv, ok bool) {
	sy, sx := c.spread[0], c.spread[1]
	if sx != 1 && sx != 2 && sx != 4 || sy > 4 || c.exchange {
		return nil, false
	}
	left, all := phaseWindow(c.window.kw, sx, c.cut[1], 0, sx)
	ins, outs := c.in.c/c.groups, c.out.c/c.groups
	for r := range min(sy, c.out.h) {
		top, height := phaseWindow(c.window.kh, sy, c.cut[0], r, r+1)
		width := all
		if ins*height*width == 1 {
			width = 2 // a sum, if of one element and of 0 times its neighbour
		}
		part := *c
		part.window = v7window{kw: width, kh: height, sx: 1, sy: 1, px: left, py: top}
		part.out = v7size{w: (c.out.w + sx - 1) / sx, h: (c.out.h - r + sy - 1) / sy, d: 1, c: c.out.c * sx}
		part.weights = make([]uint16, c.out.c*sx*ins*height*width)
		for i := range part.weights {
			kx, ky, input := i%width, i/width%height, i/(width*height)%ins
			o := i / (width * height * ins) // [group][output][column phase]
			group, output, column := o/(outs*sx), o/sx%outs, o%sx
			y, x := (top-ky)*sy+r+c.cut[0], (left-kx)*sx+column+c.cut[1]
			if y >= 0 && y < c.window.kh && x >= 0 && x < c.window.kw {
				part.weights[i] = c.weights[(((group*ins+input)*outs+output)*c.window.kh+y)*c.window.kw+x]
			}
		}
		if c.bias != nil {
			part.bias = nil
			for _, v := range c.bias {
				part.bias = append(part.bias, slices.Repeat([]uint16{v}, sx)...)
			}
		}
		parts = append(parts, &part)
	}
	return parts, true
}

// phaseWindow is the window over x of the results of phases from lo to hi: how many elements there are before the one that
// the result lies over, and how many in all.
func phaseWindow(kernel, spread, cut, lo, hi int) (before, length int) {
	after := 0
	for r := lo; r < hi; r++ {
		for k := range kernel {
			if (k-r-cut)%spread == 0 {
				t := (k - r - cut) / spread
				before, after = max(before, t), max(after, -t)
			}
		}
	}
	return before, before + 1 + after
}

// meets reports whether the array has such windows, and every one has an element of the image.
func (c *v7conv) meets() bool {
	return c.window.kw <= v7maxColumns && c.window.kh <= v7maxRows && c.window.meets(c.in, c.out)
}

// convTask is the task of a convolution, before it is known where it reads and writes.
func (b *v7build) convTask(c *v7conv) (*v7op, bool) {
	if !c.meets() {
		return nil, false
	}
	strided := c.window.sx > 1
	in, out := c.in, c.out
	o := newBypass(in)
	o.small = max(out.w, out.h) <= v7smallSide && c.window.sx == c.window.sy // as all records have it
	o.unicast, o.window, o.exchange = 0, c.window, c.exchange
	k := td.Kernel{
		Groups: c.groups, Outputs: out.c / c.groups, Inputs: in.c / c.groups,
		Height: c.window.kh, Width: c.window.kw, StrideY: c.window.sy, StrideX: c.window.sx,
		Format: td.KernelFP16, ZeroSkip: strided, Small: o.small,
	}
	single := k.Inputs*k.Height*k.Width == 1                           // no sum, so that the array's port must let it pass
	if c.groups == in.c && out.c == in.c && (c.groups > 1 || single) { // depthwise
		o.unicast = 1
		k.Groups, k.Outputs, k.Inputs, k.Lanes = 1, out.c, 1, 1
	} else if single {
		return nil, false
	} else {
		most := 16
		if max(out.w, out.h) <= v7smallSide {
			most = 32
		}
		k.Lanes = v7lanes(k.Outputs, most)
		if c.window.sx != c.window.sy {
			k.Lanes = max(k.Lanes, 2)
		}
		o.groups = c.groups
		in.c, out.c = k.Inputs, k.Outputs
	}
	k.Engines = v7engines(k.Outputs)
	o.in, o.out = in, out
	o.source1.chip = windowChip(in, strided && o.small)
	o.chip = passing(o.source1.chip, in.h)
	w := td.Weights{Values: c.weights}
	if len(c.bias) == 0 || c.after.offset != 0 || slices.ContainsFunc(c.bias, func(v uint16) bool { return v != c.bias[0] }) {
		return o, b.weigh(o, k, w, &c.after, c.bias)
	}
	// A bias that all outputs have is a number of its own (record encoder_conv_c1_n4_k3x3_s2_g1_bias1_same).
	o.accumulate = c.bias[0]
	return o, b.weigh(o, k, w, &c.after, nil) && (o.post == v7One || o.accumulate == 0)
}

// windowChip is the layout of what the array streams in with a window; tight is that of a small image with strides.
func windowChip(in v7size, tight bool) v7chip {
	chip := v7chip{channel: max(16, v7align(2*in.w, 16))}
	if in.c*chip.channel >= v7chipBytes/2 {
		chip.channel = min(chip.channel, 0x100) // in strips, as without a window
	}
	chip.depth = in.c * chip.channel
	chip.row, chip.group = chip.depth, chip.depth
	if chip.depth%0x100 == 0 {
		chip.row += 0x30
		if tight || chip.depth == 0x200 {
			chip.row = chip.depth + 0x20
		}
	}
	chip.row = max(chip.row, 0x20)
	return chip
}
