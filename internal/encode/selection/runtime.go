package selection

import (
	"math/bits"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Products of two live matrices. z is the image, K channels of N columns, and the rows of x are the kernel:
//
//	x[M,K] ─────────── kernel ─┐
//	z[K,N] ─ image ────────────┴─ convolution of points ─ [M,1,N] ─ y[M,N]
//
// Up to 16 rows are the streams of as many engines just as they lie. 32, 64 and multiples of 128 rows are stored anew first,
// such that the rows of an engine lie side by side, and a task makes up to 128 rows (records rrmm_r2rr_m64_k64_n64_tx0_ty0,
// env_mm_r3rr_m256_k256_n64_tx0_ty0_b1). Other numbers go in parts, from the last row on: 375 rows are 1, 2, 4 and 23 times
// 16 (record bmm_r3rr_m375_k128_n749_tx0_ty0_b2). A batch goes matrix by matrix, the last first.

// rowsAtOnce is how many rows of a kernel a task multiplies at most.
func (b *builder) rowsAtOnce() int { return kernelRows * b.Engines }

// kernelRows is how many of them one engine has.
const kernelRows = 8

// exchangedLanes is how many channels lie side by side of an image whose rows and columns were exchanged in memory.
const exchangedLanes = 8

// matrices is where the matrices of a tensor lie: one for each n and c, in rows. An axis of one matrix is there for all.
type matrices struct {
	units.Surface
	rows, columns int
	n, c          int
	perN, perC    int // bytes from one to the next
}

// matricesOf reads a tensor as matrices. perm is how the axes of the matrices were exchanged to what lies there; columns
// have to lie side by side still. The reason is about the tensor, which its caller names.
func matricesOf(s *units.Surface, d anec.Dims, perm anec.Perm) (matrices, *diag.Reason) {
	var strides anec.Dims
	strides[anec.N], strides[anec.C], strides[anec.H] = s.Group, s.Plane, s.Row
	m := matrices{Surface: *s}
	for to, from := range perm {
		switch from {
		case anec.N:
			m.n, m.perN = d[to], strides[to]
		case anec.C:
			m.c, m.perC = d[to], strides[to]
		case anec.H:
			m.rows, m.Row = d[to], strides[to]
		}
	}
	m.columns = d[anec.W]
	switch {
	case perm[anec.W] != anec.W || perm[anec.D] != anec.D:
		return m, diag.Decline(diag.NativeEpilogue, "is a product that is transposed (%v) such that its columns no longer lie side by side", perm)
	case d[anec.D] != 1:
		return m, diag.Decline(diag.NativeDepth, "has depth").Measure(1, d[anec.D])
	case s.Element != units.FP16:
		return m, diag.Decline(diag.NativeType, "is of another type than the task has").Measure(tensor.Float16, tensor.Bool)
	}
	return m, nil
}

// index is which matrix of the tensor that of a batch is.
func (m *matrices) index(n, c int) (int, int) { return min(n, m.n-1), min(c, m.c-1) }

// part is a matrix from some row on, each row a channel.
func (m *matrices) part(n, c, first int) *units.Surface {
	n, c = m.index(n, c)
	s := m.Surface
	s.Offset += n*m.perN + c*m.perC + first*m.Row
	total := m.rows * m.Row
	if m.c > 1 {
		total = m.perC
	}
	s.Row, s.Plane, s.Depth, s.Group = total, m.Row, total*m.c, total*m.c
	return &s
}

// all is every matrix of an n, rows as channels and matrices above each other.
func (m *matrices) all(n int) (*units.Surface, units.Size) {
	s := m.part(n, 0, 0)
	return s, units.Size{W: m.columns, H: m.c, D: 1, C: m.rows}
}

// scratchMatrices takes memory for matrices.
func (b *builder) scratchMatrices(n, c, rows, columns int) matrices {
	m := matrices{rows: rows, columns: columns, n: n, c: c}
	m.Surface = *b.scratchSurface(units.Size{W: columns, H: rows, D: 1, C: c}, n)
	m.perC, m.perN = m.Plane, m.Group
	return m
}

// A liveProduct is a product of two live tensors at work.
type liveProduct struct {
	*builder
	x, z, y    matrices // x with rows that are rows of y, z as it is stored
	transposeX bool     // x is stored with rows and columns exchanged
	transposeZ bool
	m, k, n    int
	post       uint16
	relu       bool

	lanes  int         // rows side by side in a stream
	room   int         // where on chip the image may begin
	onChip *units.Chip // where the results stay, one matrix behind the other; nil: they go to y
	stored storedKernel
	image  image
	ops    []*units.Op
}

// A storedKernel is the kernel as a task stored it.
type storedKernel struct {
	valid    bool
	all      bool // of every matrix, not of n and c alone
	n, c     int
	base     matrices // a stream each row
	producer int
}

// An image is the image that is on chip, or in memory.
type image struct {
	valid  bool
	n, c   int
	single bool // only matrix c, not every one of n
	memory *units.Surface
	chip   units.Chip
}

// runtimeProduct selects the tasks of a product of two live tensors.
func (b *builder) runtimeProduct(l *anec.Layer, p *anec.MatMul) ([]*units.Op, *diag.Reason) {
	after, perm, why := afterProduct(l)
	if why != nil {
		return nil, why
	}
	if after.bias != nil {
		return nil, columnBias(after.bias)
	}
	var why1, why2, why3 *diag.Reason
	f := &liveProduct{builder: b, post: tensor.ToF16(after.scale)}
	f.x, f.transposeX, why1 = b.operand(l.Bottoms[0], p.TransposeX)
	f.z, f.transposeZ, why2 = b.operand(l.Bottoms[1], p.TransposeZ)
	f.y, why3 = b.matricesAt(l.Top(), perm)
	if why := firstOf(why1, why2, why3); why != nil {
		return nil, why
	}
	f.m, f.n, f.k = f.y.rows, f.y.columns, f.z.rows
	if f.transposeZ {
		f.k = f.z.columns
	}
	f.relu = after.offset == 0 && after.act != nil && after.act.Function == td.FuncReLU
	if after.offset == 0 && (after.act == nil || f.relu) {
		return f.run()
	}
	// What a run-time kernel cannot carry, other tasks do on the way from a temporary tensor.
	y1 := f.y
	f.y = b.scratchMatrices(y1.n, y1.c, f.m, f.n)
	ops, why := f.run()
	if why != nil {
		return nil, why
	}
	finish, why := b.finish(&f.y, &y1, &after)
	return append(ops, finish...), why
}

// finish does what an epilogue says with matrices, on the way to where they are wanted.
func (b *builder) finish(from, to *matrices, after *after) (ops []*units.Op, why *diag.Reason) {
	pass := func(o *units.Op, from, to *matrices) {
		at := func(m *matrices) *units.Surface {
			s := m.Surface
			s.Plane, s.Depth, s.Group = m.perC, m.perC*m.c, m.perN
			return &s
		}
		o.Groups = from.n
		o.Result = at(to)
		o.Source1 = units.Source{Memory: at(from), Chip: b.PlanarChip(0, o.In)}
		if !o.Planar {
			o.Source1.Chip = b.stripChip(0, o.In)
		}
		o.Chip = b.Passing(o.Source1.Chip, o.In.H)
		ops = append(ops, o)
	}
	size := units.Size{W: from.columns, H: from.rows, D: 1, C: from.c}
	if after.offset != 0 {
		o := b.Planar(td.TypePlanarUnary, size)
		o.Bias = tensor.ToF16(after.offset)
		middle := *to
		if after.act != nil {
			middle = b.scratchMatrices(from.n, from.c, from.rows, from.columns)
		}
		pass(o, from, &middle)
		from = &middle
	}
	if after.act != nil {
		f, why := functionOf(after.act)
		if why != nil {
			return nil, why
		}
		o := b.Bypass(size)
		b.apply(o, f)
		pass(o, from, to)
	}
	return ops, nil
}

// kernelLanes is how many rows of a kernel lie side by side.
func (b *builder) kernelLanes(rows int) int {
	switch {
	case rows%b.rowsAtOnce() == 0:
		return kernelRows
	case rows == 2*b.Engines || rows == 4*b.Engines:
		return rows / b.Engines
	}
	return 1
}

// run makes the tasks.
func (f *liveProduct) run() ([]*units.Op, *diag.Reason) {
	f.lanes = f.kernelLanes(f.m)
	parts := rowParts(f.m, f.Engines*f.lanes)
	if n := f.y.n * f.y.c * len(parts); n > productTasks {
		return nil, tooManyTasks(productTasks, n)
	}
	for n := f.y.n - 1; n >= 0; n-- {
		for c := f.y.c - 1; c >= 0; c-- {
			for i, part := range parts {
				if why := f.multiplyPart(n, c, part, i+1 < len(parts)); why != nil {
					return nil, why
				}
			}
		}
	}
	return f.ops, nil
}

// A rowPart is some rows of a matrix.
type rowPart struct{ first, count int }

// rowParts divides rows into parts of most, a power of 2, from the last on; what is left over goes first, in powers of 2.
//
//	375 by 16: 374; 372, 373; 368 to 371; 352 to 367; ... 0 to 15
func rowParts(rows, most int) (parts []rowPart) {
	for bit := 1; bit < most; bit *= 2 {
		if rows&bit != 0 {
			rows -= bit
			parts = append(parts, rowPart{rows, bit})
		}
	}
	for rows > 0 {
		rows -= most
		parts = append(parts, rowPart{rows, most})
	}
	return parts
}

// multiplyPart makes some rows of one product. more says that others of the same matrix follow.
func (f *liveProduct) multiplyPart(n, c int, part rowPart, more bool) *diag.Reason {
	kernel, why := f.streams(n, c, part)
	if why != nil {
		return why
	}
	o := f.Bypass(units.Size{W: f.n, H: 1, D: 1, C: f.k})
	if o.Source1, why = f.imageOf(n, c, more); why != nil {
		return why
	}
	f.multiplyLive(o, part.count, f.lanes)
	o.Kernel, o.Post = kernel, f.post
	if f.relu {
		o.NonLinear = units.ReLU
	}
	if f.onChip != nil {
		o.Chip = *f.onChip
		o.Chip.Base += (c*f.m + part.first) * f.onChip.Channel
	} else {
		o.Result = f.y.part(n, c, part.first)
		o.Chip = units.Chip{Base: max(o.Source1.Chip.End(1), f.free())}
	}
	f.ops = append(f.ops, o)
	if end := max(o.Source1.Chip.End(1), o.Chip.Base); end >= f.OnChip {
		return noRoom("the image of a product", f.OnChip, end)
	}
	return nil
}

// free is the first byte on chip behind what later tasks read there.
func (f *liveProduct) free() int {
	free := 0
	if f.onChip != nil && len(f.ops) > 0 {
		free = f.room
	}
	switch i := &f.image; {
	case !i.valid || i.memory != nil:
	case i.single:
		free = max(free, i.chip.End(1))
	default:
		free = max(free, i.chip.End(f.z.c))
	}
	return free
}

// multiplyLive makes a task of the array multiply with so many rows of a kernel that is made at run time.
func (b *builder) multiplyLive(o *units.Op, rows, lanes int) {
	o.Out.C, o.Unicast, o.Unity, o.Operation = rows, 0, false, units.MultiplyAdd
	o.Engines, o.LanesLog2 = b.EnginesFor(rows), bits.Len(uint(lanes))-1
}

// streams says where the streams of a part's rows lie: in x itself if its rows are the streams, else where a task stores
// them.
func (f *liveProduct) streams(n, c int, part rowPart) (*units.Kernel, *diag.Reason) {
	kernel := &units.Kernel{Base: f.x.Base, Runtime: true, Producer: -1}
	rows, first := &f.x, part.first
	nx, cx := f.x.index(n, c)
	if f.transposeX || f.lanes > 1 || f.stored.valid {
		if s := &f.stored; !s.valid || !s.all && (s.n != nx || s.c != cx) {
			if why := f.store(nx, cx); why != nil {
				return nil, why
			}
		}
		kernel.Base, kernel.Producer = segment.Temporaries, f.stored.producer
		rows, first = &f.stored.base, part.first/f.lanes
	}
	start := rows.part(nx, cx, first).Offset
	for e := range part.count / f.lanes {
		kernel.Offsets = append(kernel.Offsets, start+e*rows.Row)
		kernel.Sizes = append(kernel.Sizes, units.Align(2*f.k*f.lanes, f.RowAlign))
	}
	return kernel, nil
}

// store makes the kernel of a matrix, or of every matrix of n if its rows become streams by themselves.
//
//	x[M,K] ─ copy ─ [M/L][K][L]: L rows side by side, by the interleave of the result
//	x[K,M] ─ copy that exchanges rows and columns ─ the same
func (f *liveProduct) store(n, c int) *diag.Reason {
	from := f.x.part(n, c, 0)
	size := units.Size{W: f.x.columns, H: 1, D: 1, C: f.x.rows}
	s := storedKernel{valid: true, n: n, c: c, producer: f.tasks + len(f.ops)}
	var o *units.Op
	switch {
	case f.transposeX && f.lanes == 1 && f.x.c > 1:
		// Every matrix at once: streams of a row lie side by side, [M][c][K].
		if f.stored.valid && f.stored.n == n {
			f.stored.c = c
			return nil
		}
		from, size = f.x.all(n)
		s.base = f.scratchMatrices(1, f.x.c, f.m, f.k)
		s.base.perC, s.base.Row = s.base.Row, f.x.c*s.base.Row
		s.base.n, s.base.perN = f.x.n, 0 // of this n alone
		o = f.Exchanged(f.Bypass(size))
		total := f.m * s.base.Row
		o.Result = &units.Surface{Base: segment.Temporaries, Offset: s.base.Offset, Row: s.base.perC, Plane: s.base.Row, Depth: total, Group: total}
	default:
		s.base = f.scratchMatrices(1, 1, f.m/f.lanes, f.k*f.lanes)
		s.base.n, s.base.c, s.base.perN, s.base.perC = f.x.n, f.x.c, 0, 0
		switch {
		case f.transposeX:
			o = f.Exchanged(f.Bypass(size))
		case f.m > f.rowsAtOnce():
			o = f.Bypass(size)
		default:
			o = f.Planar(td.TypePlanarUnary, size)
		}
		total := s.base.rows * s.base.Row
		o.Result = &units.Surface{Base: segment.Temporaries, Offset: s.base.Offset, Row: s.base.Row, Plane: s.base.Row, Depth: total, Group: total, Interleave: f.lanes}
	}
	chip := f.stripChip(f.free(), size)
	if o.Planar { // strips of 512 columns
		chip.Channel = min(f.ChannelBytes(size.W), 0x400)
		chip.Depth = size.C * chip.Channel
	}
	chip.Row, chip.Group = chip.Depth, chip.Depth
	o.Source1 = units.Source{Memory: from, Chip: chip}
	if o.Chip = (units.Chip{Base: chip.End(size.H)}); size.H > 1 { // it passes in rows of its own
		o.Chip.Channel = f.ChannelBytes(f.k)
		o.Chip.Row = f.m * o.Chip.Channel
		o.Chip.Depth, o.Chip.Group = o.Chip.Row, o.Chip.Row
	}
	f.ops = append(f.ops, o)
	f.stored = s
	if o.Chip.Base >= f.OnChip {
		return noRoom("a live matrix on the way to where it is the kernel", f.OnChip, o.Chip.Base)
	}
	return nil
}

// imageOf is z as the image of a product: from memory, and kept on chip for the parts that follow; or where it is already.
func (f *liveProduct) imageOf(n, c int, more bool) (units.Source, *diag.Reason) {
	nz, cz := f.z.index(n, c)
	i := &f.image
	if !i.valid || i.n != nz || i.single && i.c != cz {
		if f.transposeZ {
			if why := f.exchangeImage(nz, cz); why != nil {
				return units.Source{}, why
			}
		} else {
			return f.newImage(nz, cz, more || f.z.n*f.z.c < f.y.n*f.y.c), nil
		}
	}
	if i.memory != nil {
		return units.Source{Memory: i.memory, Chip: f.stripChip(f.room, units.Size{W: f.n, H: 1, D: 1, C: f.k})}, nil
	}
	chip := i.chip
	if !i.single {
		chip.Base += cz * chip.Row
	}
	chip.Row, chip.Group = chip.Depth, 0
	return units.Source{Chip: chip}, nil
}

// newImage brings a matrix of z in, and leaves it on chip if it is needed again and there is room.
func (f *liveProduct) newImage(n, c int, again bool) units.Source {
	size := units.Size{W: f.n, H: 1, D: 1, C: f.k}
	s := units.Source{Memory: f.z.part(n, c, 0), Chip: f.stripChip(f.room, size)}
	whole := units.Chip{Base: f.room, Channel: f.ChannelBytes(f.n)}
	whole.Depth = f.k * whole.Channel
	whole.Row, whole.Group = whole.Depth, whole.Depth
	f.image = image{}
	if again && whole.End(1) < f.OnChip/2 {
		s.Keep, s.Chip = true, whole
		f.image = image{valid: true, n: n, c: c, single: true, chip: whole}
	}
	return s
}

// exchangeImage exchanges rows and columns of z: of every matrix of n at once, on chip, if there is room, else of one; else it
// goes to memory.
//
//	z[N,K] ─ copy that exchanges ─ [K,1,N] on chip ─ image
func (f *liveProduct) exchangeImage(n, c int) *diag.Reason {
	from, size := f.z.all(n)
	i := image{valid: true, n: n, c: c}
	layout := func(h int) units.Chip {
		chip := units.Chip{Base: f.room, Channel: f.ChannelBytes(f.n)}
		if chip.Channel%0x80 == 0 && h == 1 {
			chip.Channel += 0x10
		}
		chip.Depth = f.k * chip.Channel
		if chip.Row = chip.Depth; chip.Channel%0x80 == 0 {
			chip.Row += 0x80
		}
		return chip
	}
	fits := func(h int) bool {
		size.H = h
		i.chip = layout(h)
		return i.chip.End(h)+f.stripChip(0, size).Row < f.OnChip/2
	}
	o := f.Bypass(size)
	switch {
	case fits(f.z.c):
	case fits(1):
		i.single = true
		from = f.z.part(n, c, 0)
	default:
		// In memory, channels lie side by side (record env_mm_r2rr_m128_k2048_n2048_tx0_ty1).
		i.single = true
		from = f.z.part(n, c, 0)
		lanes := 1
		if f.k%exchangedLanes == 0 {
			lanes = exchangedLanes
		}
		exchanged := f.scratchMatrices(1, 1, f.k/lanes, f.n*lanes)
		i.memory = exchanged.part(0, 0, 0)
		i.memory.Row, i.memory.Interleave = i.memory.Plane, lanes
	}
	o.In, o.Out = size, size
	f.Exchanged(o)
	o.Source1 = units.Source{Memory: from, Chip: f.stripChip(f.room, size)}
	o.Source1.Chip.Row = o.Source1.Chip.Depth
	if i.memory != nil {
		o.Result = i.memory
		o.Chip = f.Passing(o.Source1.Chip, 1)
	} else {
		o.Chip = i.chip
		o.Source1.Chip.Base = i.chip.End(size.H)
	}
	f.ops = append(f.ops, o)
	f.image = i
	if end := o.Source1.Chip.End(1); end >= f.OnChip {
		return noRoom("the image of a product, with rows and columns exchanged,", f.OnChip, end)
	}
	return nil
}
