package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
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
	maxStride  = 2   // of both axes
	maxSpread  = 4   // of a transposed convolution: its stride along H
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
	mutable  bool     // the bias may change: it has to be where each output has its own
	after    after
	exchange bool

	// Of a transposed convolution: how far apart the elements of x lie in the result, and how many of its rows and columns
	// are cut off.
	spread, cut [2]int
}

// conv selects the tasks of a convolution. What its epilogue does is in the tasks themselves, if they can say it; else other
// tasks follow.
func (b *builder) conv(l *anec.Layer, p *anec.Conv) ([]*units.Op, *diag.Reason) {
	to, why := b.surface(l.Top())
	if why != nil {
		return nil, why
	}
	ops, why := b.attempt(func() ([]*units.Op, *diag.Reason) { return b.convInto(l, p, to) })
	if why == nil {
		return ops, nil
	}
	stages, apart := stagesOf(l)
	switch {
	case apart != nil:
		return nil, neither(apart, why)
	case to.Element != units.FP16 || len(stages) == 0 || l.Epilogue.Transpose != nil:
		return nil, why // the other way would be no other
	}
	bare := *l
	bare.Epilogue = anec.Epilogue{}
	size, images := sizeOf(l.Top().Type.Dims)
	room := b.scratchSurface(size, images)
	ops, apart = b.convInto(&bare, p, room)
	if apart != nil {
		return nil, neither(why, apart)
	}
	c := &chain{b: b, ops: ops}
	if apart = c.finish(operand{size: size, groups: images, memory: room}, stages, to); apart != nil {
		return nil, neither(why, apart)
	}
	return c.ops, nil
}

// convInto selects the tasks of a convolution whose result goes to a surface.
func (b *builder) convInto(l *anec.Layer, p *anec.Conv, my *units.Surface) ([]*units.Op, *diag.Reason) {
	x := l.Bottoms[0]
	images := x.Type.Dims[anec.N]
	c, why := readConv(l, p)
	if why != nil {
		return nil, why
	}
	if images > maxImages {
		return nil, tooManyImages(images)
	}
	mx, why := b.surface(x)
	if why != nil {
		return nil, why
	}
	if mx.Element != units.FP16 || my.Element != units.FP16 {
		return nil, halfOnly(x, l.Top())
	}
	if c.window.KW > maxColumns && !p.Transposed {
		return b.wideConv(c, images, mx, my)
	}
	parts := []*convolution{c}
	if p.Transposed {
		if parts, why = c.phases(); why != nil {
			return nil, why
		}
	}
	var forms []*units.Op
	for _, part := range parts {
		o, why := b.convTask(part)
		if why != nil {
			return nil, why
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
	return ops, nil
}

// wideConv is a convolution whose windows are wider than the array has them: the sum of two, of the columns up to the one that
// the result lies over, and of those behind it.
//
//	a b c d e f g h i   →   a b c d e · · · ·   +   · · · · 0 f g h i
//	        ^
func (b *builder) wideConv(c *convolution, images int, from, to *units.Surface) ([]*units.Op, *diag.Reason) {
	split := c.window.PX
	switch {
	case c.window.SX != 1 || c.window.SY != 1:
		return nil, c.tooWide("and has strides, so that it is no sum of two")
	case c.exchange || c.after != (after{scale: 1}):
		return nil, c.tooWide("and an epilogue follows, so that it is no sum of two")
	case split+1 > maxColumns:
		return nil, c.tooWide("and so has the part up to where its result lies").Measure(maxColumns, split+1)
	case c.window.KW-split > maxColumns:
		return nil, c.tooWide("and so has the part from there on").Measure(maxColumns, c.window.KW-split)
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
		form, why := b.convTask(half.conv)
		if why != nil {
			return nil, why
		}
		for n := range images {
			x, y := *from, *half.into
			x.Offset += n * from.Group
			y.Offset += n * half.into.Group
			chain.ops = append(chain.ops, half.conv.between(form, 0, x, y))
		}
	}
	_, why := chain.two(td.EWAdd, sum, last, sum, to, nil)
	return chain.ops, why
}

// tooWide declines a window with more columns than the array has.
func (c *convolution) tooWide(what string) *diag.Reason {
	return diag.Decline(diag.NativeWindow, "the window has more columns than the array, %s", what).In("KernelWidth").Measure(maxColumns, c.window.KW)
}

// tooManyImages declines a batch: its convolutions are a task each.
func tooManyImages(images int) *diag.Reason {
	return diag.Decline(diag.NativeSize, "the batch has too many images").Measure(maxImages, images)
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

// readConv reads a layer, if it is one that the array does.
func readConv(l *anec.Layer, p *anec.Conv) (*convolution, *diag.Reason) {
	weights, why := halves(l.Bottoms[1])
	if why != nil {
		return nil, why
	}
	if why := firstOf(inPlane(&p.Window), zerosBeside(&p.Window, p.PaddingMode)); why != nil {
		return nil, why
	}
	c := &convolution{groups: p.Groups, weights: weights}
	c.in, _ = sizeOf(l.Bottoms[0].Type.Dims)
	c.out, _ = sizeOf(l.Top().Type.Dims)
	if perm := l.Epilogue.Transpose; perm != nil {
		switch {
		case *perm != segment.Exchange(anec.C, anec.W):
			return nil, diag.Decline(diag.NativeEpilogue, "the result is transposed otherwise than with C and W exchanged").Measure(segment.Exchange(anec.C, anec.W), *perm)
		case p.Groups > 1 || p.Transposed:
			return nil, diag.Decline(diag.NativeRecord, "the result of a convolution with groups, or of a transposed one, is transposed, which no recorded program has")
		}
		c.exchange = true
		c.out.C, c.out.W = c.out.W, c.out.C
	}
	plain := c.foldGain(l)
	if c.after, why = afterButTranspose(plain); why != nil {
		return nil, why
	}
	bias := segment.Bottom(l, 2)
	if c.after.bias != nil {
		if bias != nil {
			return nil, twoBiases()
		}
		bias = c.after.bias
	}
	if bias != nil {
		if c.bias, why = halves(bias); why != nil {
			return nil, why
		}
		c.mutable = bias.Const != nil && bias.Const.Mutable
		if len(c.bias) != c.out.C {
			return nil, biasElements(bias, c.out.C, len(c.bias))
		}
	}
	c.window = planeWindow(&p.Window)
	if p.Transposed {
		if p.Dilation != [3]int{1, 1, 1} {
			return nil, diag.Decline(diag.NativeWindow, "the window of a transposed convolution has dilation, along D, H and W").Measure(1, p.Dilation)
		}
		c.spread, c.cut = [2]int{c.window.SY, c.window.SX}, [2]int{c.window.PY, c.window.PX}
		c.window.SX, c.window.SY = 1, 1
		return c, nil
	}
	if why := c.dilate(p.Dilation[1], p.Dilation[2]); why != nil {
		return nil, why
	}
	return c, c.evenStrides()
}

func twoBiases() *diag.Reason {
	return diag.Decline(diag.NativeEpilogue, "the layer has a bias, and its epilogue adds another; a kernel has one").In("Bias")
}

func biasElements(bias *anec.Value, want, found int) *diag.Reason {
	return about(bias, diag.Decline(diag.NativeConstant, "is a bias that has not one number for each output").Measure(want, found))
}

// foldGain multiplies a gain of the result into the weights, if none of them changes by rounding, and returns the layer
// without it. A gain that is not folded is left for the post scale.
func (c *convolution) foldGain(l *anec.Layer) *anec.Layer {
	g := l.Epilogue.GOC
	if g == nil || g.Gain == nil || g.Gain.Const == nil || !g.Gain.Const.Plain() || l.Epilogue.Pre != nil || segment.Bottom(l, 2) != nil {
		return l
	}
	if w := l.Bottoms[1].Const; g.Gain.Const.Mutable || w != nil && w.Mutable {
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
//
// A window that no array has, not even in two parts, is not written out: dilation can make it of any size.
func (c *convolution) dilate(dy, dx int) *diag.Reason {
	if dy == 1 && dx == 1 {
		return nil
	}
	kh, kw := c.window.KH, c.window.KW
	c.window.KH, c.window.KW = (kh-1)*dy+1, (kw-1)*dx+1
	if size := float64(len(c.weights)) / float64(kh*kw) * float64(c.window.KH) * float64(c.window.KW); size > maxDilated {
		if c.window.KH > maxRows || c.window.KW > 2*maxColumns {
			return c.meets()
		}
	}
	wide := make([]uint16, len(c.weights)/(kh*kw)*c.window.KH*c.window.KW)
	for i, v := range c.weights {
		plane, ky, kx := i/(kh*kw), i/kw%kh, i%kw
		wide[(plane*c.window.KH+ky*dy)*c.window.KW+kx*dx] = v
	}
	c.weights = wide
	return nil
}

// maxDilated is how many elements a kernel that the array does not take may have when it is declined by what follows.
const maxDilated = 1 << 24

// evenStrides makes the strides along both axes the same, as most records have them; along an axis with one result a stride
// says nothing. A stride of 2 along W alone is known with lanes side by side (record
// encoder_conv_c16_n16_k9x9_s1_g16_bias0_same).
func (c *convolution) evenStrides() *diag.Reason {
	w := &c.window
	switch {
	case w.SX == w.SY:
	case c.out.H == 1:
		w.SY = w.SX
	case c.out.W == 1:
		w.SX = w.SY
	case w.SX == 2 && w.SY == 1:
		if c.depthwise() {
			return diag.Decline(diag.NativeRecord, "a window goes along W in steps of 2 and along H in steps of 1, channel by channel, which no recorded program has").In("StrideX")
		}
		return nil
	}
	switch {
	case w.SX != w.SY:
		return diag.Decline(diag.NativeWindow, "the strides along W and H are not the same, as recorded programs have them").In("StrideX").Measure(w.SY, w.SX)
	case w.SX > maxStride:
		return diag.Decline(diag.NativeWindow, "the strides are larger than in any recorded program").In("StrideX").Measure(maxStride, w.SX)
	}
	return nil
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
func (c *convolution) phases() (parts []*convolution, why *diag.Reason) {
	sy, sx := c.spread[0], c.spread[1]
	switch {
	case sx != 1 && sx != 2 && sx != 4:
		return nil, diag.Decline(diag.NativeWindow, "columns of a transposed convolution lie side by side by a stride that they do not interleave by").In("Interleave").Measure("1, 2 or 4", sx)
	case sy > maxSpread:
		return nil, diag.Decline(diag.NativeWindow, "the stride of a transposed convolution along H is too large").Measure(maxSpread, sy)
	case c.exchange:
		return nil, diag.Decline(diag.NativeRecord, "the result of a transposed convolution is transposed, which no recorded program has")
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
	return parts, nil
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

// meets declines windows that the array has not, and those of which one has no element of the image.
func (c *convolution) meets() *diag.Reason {
	switch {
	case c.window.KW > maxColumns:
		return diag.Decline(diag.NativeWindow, "the window has more columns than the array").In("KernelWidth").Measure(maxColumns, c.window.KW)
	case c.window.KH > maxRows:
		return diag.Decline(diag.NativeWindow, "the window has more rows than the array").In("KernelHeight").Measure(maxRows, c.window.KH)
	case !c.window.Meets(c.in, c.out):
		return emptyWindows()
	}
	return nil
}

// emptyWindows declines padding so wide that nothing of the image is in some window.
func emptyWindows() *diag.Reason {
	return diag.Decline(diag.NativeWindow, "some windows have nothing but padding in them, which no recorded program has")
}

// convTask is the task of a convolution, before it is known where it reads and writes.
func (b *builder) convTask(c *convolution) (*units.Op, *diag.Reason) {
	if why := c.meets(); why != nil {
		return nil, why
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
		return nil, diag.Decline(diag.NativeRecord, "each output is one input times one weight, and not channel by channel, which no recorded program has").In("Groups")
	} else {
		most := b.MaxLanes / 2
		if max(out.W, out.H) <= smallSide {
			most = b.MaxLanes
		}
		k.Lanes = b.lanesFor(k.Outputs, most)
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
	if len(c.bias) == 0 || c.mutable || b.Target.Form2020 && c.bias[0] != 0 || c.after.offset != 0 || slices.ContainsFunc(c.bias, func(v uint16) bool { return v != c.bias[0] }) {
		return o, b.weigh(o, k, w, &c.after, c.bias)
	}
	// A bias that all outputs have is a number of its own (record encoder_conv_c1_n4_k3x3_s2_g1_bias1_same), in 2020 not yet
	// (golden_50e38bf9).
	o.Accumulate = c.bias[0]
	if why := b.weigh(o, k, w, &c.after, nil); why != nil {
		return o, why
	}
	if o.Post != units.One && o.Accumulate != 0 {
		return o, scaledBias()
	}
	return o, nil
}

// scaledBias declines a scale and a bias of one task: which comes first is not known.
func scaledBias() *diag.Reason {
	return diag.Decline(diag.NativeRecord, "the result has a scale and a bias, and no recorded program shows which a task does first").In("PostScale")
}

// windowChip is the layout of what the array streams in with a window; tight is that of a small image with strides.
func (b *builder) windowChip(in units.Size, tight bool) units.Chip {
	chip := units.Chip{Channel: max(b.OnChipAlign, b.ChannelBytes(in.W))}
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
