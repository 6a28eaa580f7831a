package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Convolutions. Each image of a batch is a task, and all of them load the same weights: groups would have weights of their
// own each.

// Windows (guide A). One that is wider has another mode, in which two columns are computed at a time (record
// encoder_conv_c16_n16_k9x9_s1_g16_bias0_same); one of nine rows does not (encoder_conv_c1024_n1024_k9x1_s1_g1024_bias0_same).
const (
	maxColumns = 7
	maxRows    = 15
	maxImages  = 256 // of a batch
	smallSide  = 8   // of a result that is small to the array
)

// A convolution is a convolution as the array has it.
type convolution struct {
	in, out  units.Size // all groups
	groups   int
	window   units.Window
	weights  []uint16 // [group][output][input][y][x]
	bias     []uint16 // [group][output], or nil
	after    after
	exchange bool

	// Of a transposed convolution: how far apart the elements of x lie in the result, and how many of its rows and columns
	// are cut off.
	spread, cut [2]int
}

// conv selects the tasks of a convolution. What its epilogue does is in the tasks themselves, if they can say it; else other
// tasks follow.
func (b *builder) conv(l *anec.Layer, p *anec.Conv) ([]*units.Op, bool) {
	to, ok := b.surface(l.Top())
	if !ok {
		return nil, false
	}
	if ops, ok := b.attempt(func() ([]*units.Op, bool) { return b.convInto(l, p, to) }); ok {
		return ops, true
	}
	stages, ok := stagesOf(l)
	if !ok || to.Element != units.FP16 || len(stages) == 0 || l.Epilogue.Transpose != nil {
		return nil, false
	}
	bare := *l
	bare.Epilogue = anec.Epilogue{}
	size, images := sizeOf(l.Top().Type.Dims)
	room := b.scratchSurface(size, images)
	ops, ok := b.convInto(&bare, p, room)
	if !ok {
		return nil, false
	}
	c := &chain{b: b, ops: ops}
	ok = c.finish(operand{size: size, groups: images, memory: room}, stages, to)
	return c.ops, ok
}

// convInto selects the tasks of a convolution whose result goes to a surface.
func (b *builder) convInto(l *anec.Layer, p *anec.Conv, my *units.Surface) ([]*units.Op, bool) {
	x := l.Bottoms[0]
	images := x.Type.Dims[anec.N]
	c, ok := readConv(l, p)
	if !ok || images > maxImages {
		return nil, false
	}
	mx, ok := b.surface(x)
	if !ok || mx.Element != units.FP16 || my.Element != units.FP16 {
		return nil, false
	}
	if c.window.KW > maxColumns && !p.Transposed {
		return b.wideConv(c, images, mx, my)
	}
	parts := []*convolution{c}
	if p.Transposed {
		if parts, ok = c.phases(); !ok {
			return nil, false
		}
	}
	var forms []*units.Op
	for _, part := range parts {
		o, ok := b.convTask(part)
		if !ok {
			return nil, false
		}
		forms = append(forms, o)
	}
	// Phases lie side by side, so that all have as many columns. Where the result has fewer, it is copied from where there is
	// room for them.
	var room *units.Surface
	if p.Transposed && c.out.W%c.spread[1] != 0 {
		room = b.scratchSurface(units.Size{W: units.Align(c.out.W, c.spread[1]), H: c.out.H, D: 1, C: c.out.C}, 1)
	}
	var ops []*units.Op
	for n := range images {
		from, to := *mx, *my
		from.Offset += n * mx.Group
		to.Offset += n * my.Group
		into := to
		if room != nil {
			into = *room
		}
		for i, form := range forms {
			ops = append(ops, parts[i].between(form, i, from, into))
		}
		if room != nil {
			ops = append(ops, b.Between(b.Bypass(c.out), room, &to))
		}
	}
	return ops, true
}

// wideConv is a convolution whose windows are wider than the array has them: the sum of two, of the columns up to the one that
// the result lies over, and of those behind it.
//
//	a b c d e f g h i   →   a b c d e · · · ·   +   · · · · 0 f g h i
//	        ^
func (b *builder) wideConv(c *convolution, images int, from, to *units.Surface) ([]*units.Op, bool) {
	split := c.window.PX
	if c.window.SX != 1 || c.window.SY != 1 || c.exchange || c.after != (after{scale: 1}) || split+1 > maxColumns || c.window.KW-split > maxColumns {
		return nil, false
	}
	left, right := *c, *c
	left.window.KW, left.weights = split+1, c.columns(0, split+1)
	right.window.KW, right.window.PX, right.weights, right.bias = c.window.KW-split, 0, c.columns(split, c.window.KW), nil
	for i := 0; i < len(right.weights); i += right.window.KW {
		right.weights[i] = 0
	}
	chain := &chain{b: b}
	size := units.Size{W: c.out.W, H: c.out.H, D: 1, C: c.out.C}
	sum := operand{size: size, groups: images, memory: b.scratchSurface(size, images)}
	last := operand{size: size, groups: images, memory: b.scratchSurface(size, images)}
	for _, half := range []struct {
		conv *convolution
		into *units.Surface
	}{{&left, sum.memory}, {&right, last.memory}} {
		form, ok := b.convTask(half.conv)
		if !ok {
			return nil, false
		}
		for n := range images {
			x, y := *from, *half.into
			x.Offset += n * from.Group
			y.Offset += n * half.into.Group
			chain.ops = append(chain.ops, half.conv.between(form, 0, x, y))
		}
	}
	_, ok := chain.two(td.EWAdd, sum, last, sum, to, nil)
	return chain.ops, ok
}

// columns is some columns of the kernel.
func (c *convolution) columns(from, to int) (list []uint16) {
	for at := 0; at < len(c.weights); at += c.window.KW {
		list = append(list, c.weights[at+from:at+to]...)
	}
	return list
}

// between is the task of one image, and of phase i along H.
func (c *convolution) between(form *units.Op, i int, from, to units.Surface) *units.Op {
	o := *form
	if c.spread[1] > 1 {
		to.Interleave = c.spread[1]
	}
	if c.groups > 1 && o.Unicast == 0 {
		from.Group = c.in.C / c.groups * from.Plane
		to.Group = c.out.C / c.groups / max(c.spread[1], 1) * to.Plane
	}
	if c.spread[0] > 1 {
		to.Offset += i * to.Row
		to.Row *= c.spread[0]
	}
	o.Source1.Memory, o.Result = &from, &to
	return &o
}

// readConv reads a layer; false if it is none that the array does.
func readConv(l *anec.Layer, p *anec.Conv) (*convolution, bool) {
	weights, ok := halves(l.Bottoms[1])
	if !ok || !inPlane(&p.Window) || p.PaddingMode != td.PadZero && segment.HasPadding(&p.Window) {
		return nil, false
	}
	c := &convolution{groups: p.Groups, weights: weights}
	c.in, _ = sizeOf(l.Bottoms[0].Type.Dims)
	c.out, _ = sizeOf(l.Top().Type.Dims)
	if turn := l.Epilogue.Transpose; turn != nil {
		if *turn != segment.Exchange(anec.C, anec.W) || p.Groups > 1 || p.Transposed {
			return nil, false
		}
		c.exchange = true
		c.out.C, c.out.W = c.out.W, c.out.C
	}
	plain := c.foldGain(l)
	if c.after, ok = afterButTranspose(plain); !ok {
		return nil, false
	}
	bias := segment.Bottom(l, 2)
	if c.after.bias != nil {
		if bias != nil {
			return nil, false
		}
		bias = c.after.bias
	}
	if bias != nil {
		if c.bias, ok = halves(bias); !ok || len(c.bias) != c.out.C {
			return nil, false
		}
	}
	c.window = planeWindow(&p.Window)
	if p.Transposed {
		if p.Dilation != [3]int{1, 1, 1} {
			return nil, false
		}
		c.spread, c.cut = [2]int{c.window.SY, c.window.SX}, [2]int{c.window.PY, c.window.PX}
		c.window.SX, c.window.SY = 1, 1
		return c, true
	}
	c.dilate(p.Dilation[1], p.Dilation[2])
	return c, c.evenStrides()
}

// foldGain multiplies a gain of the result into the weights, if none of them changes by rounding, and returns the layer
// without it. A gain that is not folded is left for the post scale.
func (c *convolution) foldGain(l *anec.Layer) *anec.Layer {
	g := l.Epilogue.GOC
	if g == nil || g.Gain == nil || g.Gain.Const == nil || !g.Gain.Const.Plain() || l.Epilogue.Pre != nil || segment.Bottom(l, 2) != nil {
		return l
	}
	gains := g.Gain.Const.Stored.Float64s()
	if len(gains) == 1 && g.Offset == nil {
		return l // as Apple's compiler has it: in the post scale (chain_attn_s64_dh64)
	}
	folded := make([]uint16, len(c.weights))
	for i, w := range c.weights {
		o := i / (len(c.weights) / c.out.C)
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
func (c *convolution) dilate(dy, dx int) {
	if dy == 1 && dx == 1 {
		return
	}
	kh, kw := c.window.KH, c.window.KW
	c.window.KH, c.window.KW = (kh-1)*dy+1, (kw-1)*dx+1
	wide := make([]uint16, len(c.weights)/(kh*kw)*c.window.KH*c.window.KW)
	for i, v := range c.weights {
		plane, ky, kx := i/(kh*kw), i/kw%kh, i%kw
		wide[(plane*c.window.KH+ky*dy)*c.window.KW+kx*dx] = v
	}
	c.weights = wide
}

// evenStrides makes the strides along both axes the same, as most records have them; along an axis with one result a stride
// says nothing. A stride of 2 along W alone is known with lanes side by side (record
// encoder_conv_c16_n16_k9x9_s1_g16_bias0_same).
func (c *convolution) evenStrides() bool {
	w := &c.window
	switch {
	case w.SX == w.SY:
	case c.out.H == 1:
		w.SY = w.SX
	case c.out.W == 1:
		w.SX = w.SY
	case w.SX == 2 && w.SY == 1:
		return !c.depthwise()
	}
	return w.SX == w.SY && w.SX <= 2
}

// depthwise reports whether each channel is convolved by itself.
func (c *convolution) depthwise() bool {
	return c.groups > 1 && c.groups == c.in.C && c.out.C == c.in.C
}

// phases takes a transposed convolution apart by the rows of the result, which lie as far apart as the elements of x are
// spread. Columns are taken apart too: those of one phase are a channel, and channels lie interleaved.
//
//	spread 2, kernel a b c, nothing cut    y[0] = a·x[0]              columns 0 2 4 …: c·x[m-1] + a·x[m]
//	                                       y[1] = b·x[0]              columns 1 3 5 …: b·x[m]
//	                                       y[2] = c·x[0] + a·x[1]
//
// So y[s·m + r] sums w[k]·x[m - t] over all k = s·t + r + cut.
func (c *convolution) phases() (parts []*convolution, ok bool) {
	sy, sx := c.spread[0], c.spread[1]
	if sx != 1 && sx != 2 && sx != 4 || sy > 4 || c.exchange {
		return nil, false
	}
	left, all := phaseWindow(c.window.KW, sx, c.cut[1], 0, sx)
	ins, outs := c.in.C/c.groups, c.out.C/c.groups
	for r := range min(sy, c.out.H) {
		top, height := phaseWindow(c.window.KH, sy, c.cut[0], r, r+1)
		width := all
		if ins*height*width == 1 {
			width = 2 // a sum, if of one element and of 0 times its neighbour
		}
		part := *c
		part.window = units.Window{KW: width, KH: height, SX: 1, SY: 1, PX: left, PY: top}
		part.out = units.Size{W: (c.out.W + sx - 1) / sx, H: (c.out.H - r + sy - 1) / sy, D: 1, C: c.out.C * sx}
		part.weights = make([]uint16, c.out.C*sx*ins*height*width)
		for i := range part.weights {
			kx, ky, input := i%width, i/width%height, i/(width*height)%ins
			o := i / (width * height * ins) // [group][output][column phase]
			group, output, column := o/(outs*sx), o/sx%outs, o%sx
			y, x := (top-ky)*sy+r+c.cut[0], (left-kx)*sx+column+c.cut[1]
			if y >= 0 && y < c.window.KH && x >= 0 && x < c.window.KW {
				part.weights[i] = c.weights[(((group*ins+input)*outs+output)*c.window.KH+y)*c.window.KW+x]
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
func (c *convolution) meets() bool {
	return c.window.KW <= maxColumns && c.window.KH <= maxRows && c.window.Meets(c.in, c.out)
}

// convTask is the task of a convolution, before it is known where it reads and writes.
func (b *builder) convTask(c *convolution) (*units.Op, bool) {
	if !c.meets() {
		return nil, false
	}
	strided := c.window.SX > 1
	in, out := c.in, c.out
	o := b.Bypass(in)
	o.Small = max(out.W, out.H) <= smallSide && c.window.SX == c.window.SY // as all records have it
	o.Unicast, o.Window, o.Exchange = 0, c.window, c.exchange
	k := td.Kernel{
		Groups: c.groups, Outputs: out.C / c.groups, Inputs: in.C / c.groups,
		Height: c.window.KH, Width: c.window.KW, StrideY: c.window.SY, StrideX: c.window.SX,
		Format: td.KernelFP16, ZeroSkip: strided, Small: o.Small,
	}
	single := k.Inputs*k.Height*k.Width == 1                           // no sum, so that the array's port must let it pass
	if c.groups == in.C && out.C == in.C && (c.groups > 1 || single) { // depthwise
		o.Unicast = 1
		k.Groups, k.Outputs, k.Inputs, k.Lanes = 1, out.C, 1, 1
	} else if single {
		return nil, false
	} else {
		most := 16
		if max(out.W, out.H) <= smallSide {
			most = 32
		}
		k.Lanes = lanesFor(k.Outputs, most)
		if c.window.SX != c.window.SY {
			k.Lanes = max(k.Lanes, 2)
		}
		o.Groups = c.groups
		in.C, out.C = k.Inputs, k.Outputs
	}
	k.Engines = b.EnginesFor(k.Outputs)
	o.In, o.Out = in, out
	o.Source1.Chip = b.windowChip(in, strided && o.Small)
	o.Chip = b.Passing(o.Source1.Chip, in.H)
	w := td.Weights{Values: c.weights}
	if len(c.bias) == 0 || c.after.offset != 0 || slices.ContainsFunc(c.bias, func(v uint16) bool { return v != c.bias[0] }) {
		return o, b.weigh(o, k, w, &c.after, c.bias)
	}
	// A bias that all outputs have is a number of its own (record encoder_conv_c1_n4_k3x3_s2_g1_bias1_same).
	o.Accumulate = c.bias[0]
	return o, b.weigh(o, k, w, &c.after, nil) && (o.Post == units.One || o.Accumulate == 0)
}

// windowChip is the layout of what the array streams in with a window; tight is that of a small image with strides.
func (b *builder) windowChip(in units.Size, tight bool) units.Chip {
	chip := units.Chip{Channel: max(16, b.ChannelBytes(in.W))}
	if in.C*chip.Channel >= b.OnChip/2 {
		chip.Channel = min(chip.Channel, 0x100) // in strips, as without a window
	}
	chip.Depth = in.C * chip.Channel
	chip.Row, chip.Group = chip.Depth, chip.Depth
	if chip.Depth%0x100 == 0 {
		chip.Row += 0x30
		if tight || chip.Depth == 0x200 {
			chip.Row = chip.Depth + 0x20
		}
	}
	chip.Row = max(chip.Row, 0x20)
	return chip
}
