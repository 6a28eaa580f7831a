package compiler_test

import (
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

var moved = []tensor.DType{tensor.Float16, tensor.Float16, tensor.Float32, tensor.Int32, tensor.Bool, tensor.Int8, tensor.UInt16}

func (g *grower) movable(lo, hi int) ref { return g.any([2]int{lo, hi}, moved...) }

// classic is of a type that the operations have that were not extended to small integers.
func (g *grower) classic(lo, hi int) ref {
	return g.any([2]int{lo, hi}, tensor.Float16, tensor.Float32, tensor.Int32, tensor.Bool)
}

func reshape(g *grower) {
	x := g.movable(0, 5)
	n := g.values[x].Len()
	shape := []int32{int32(n)}
	for i := 0; i < 4 && len(shape) < 5; i++ { // split an extent, anywhere
		at := g.r.IntN(len(shape))
		if d := int32(1 + g.r.IntN(6)); shape[at]%d == 0 {
			shape[at] /= d
			shape = slices.Insert(shape, at, d)
		}
	}
	if g.r.IntN(4) == 0 {
		shape[g.r.IntN(len(shape))] = -1
	}
	if n == 1 && g.r.IntN(4) == 0 {
		g.add("squeeze", with{"x": x}, g.values[x].DType())
		return
	}
	g.add("reshape", with{"x": x, "shape": shape}, g.values[x].DType())
}

func transpose(g *grower) {
	x := g.movable(1, 5)
	var perm []int32
	for _, a := range g.r.Perm(g.values[x].Rank()) {
		perm = append(perm, int32(a))
	}
	g.add("transpose", with{"x": x, "perm": perm}, g.values[x].DType())
}

// window is random bounds of a slice.
func (g *grower) window(shape []int, negative bool) with {
	n := len(shape)
	begin, end, stride := make([]int32, n), make([]int32, n), make([]int32, n)
	beginMask, endMask, squeeze := make([]bool, n), make([]bool, n), make([]bool, n)
	for i, s := range shape {
		from := g.r.IntN(s)
		to := from + 1 + g.r.IntN(s-from)
		begin[i], end[i], stride[i] = int32(from), int32(to), 1
		switch g.r.IntN(8) {
		case 0:
			stride[i] = int32(1 + g.r.IntN(3))
		case 1:
			beginMask[i] = true
		case 2:
			endMask[i] = true
		case 3:
			beginMask[i], endMask[i] = true, true
		case 4:
			begin[i] -= int32(s)
		case 5:
			if negative {
				stride[i] = -int32(1 + g.r.IntN(2))
				begin[i], end[i] = int32(to-1), int32(from-1)
				if from == 0 {
					endMask[i] = true
				}
			}
		case 6:
			if g.flip() {
				squeeze[i], end[i] = true, begin[i]+1
			}
		}
	}
	args := with{"begin": begin, "end": end}
	if g.r.IntN(6) != 0 || slices.ContainsFunc(stride, func(s int32) bool { return s != 1 }) {
		args["stride"] = stride
	}
	args["begin_mask"], args["end_mask"] = beginMask, endMask
	if slices.Contains(squeeze, true) {
		args["squeeze_mask"] = squeeze
	}
	return args
}

func sliceIndex(g *grower) {
	x := g.movable(1, 5)
	args := g.window(g.values[x].Shape(), true)
	args["x"] = x
	g.add("slice_by_index", args, g.values[x].DType())
}

func sliceSize(g *grower) {
	x := g.movable(1, 5)
	var begin, size []int32
	for _, s := range g.values[x].Shape() {
		from := g.r.IntN(s)
		begin = append(begin, int32(from))
		size = append(size, int32(1+g.r.IntN(s-from)))
		if g.r.IntN(4) == 0 {
			size[len(size)-1] = -1
		}
	}
	args := with{"x": x, "begin": begin, "size": size}
	if g.r.IntN(4) == 0 { // where it begins is known only when it runs
		args["begin"] = g.numbers(begin)
		for i, s := range size {
			if s == -1 {
				size[i] = int32(g.values[x].Shape()[i]) - begin[i]
			}
		}
	}
	g.add("slice_by_size", args, g.values[x].DType())
}

// numbers makes an input of small integers.
func (g *grower) numbers(vals []int32) ref {
	id := g.input(tensor.Int32, []int{len(vals)})
	t := tensor.Of(slices.Clone(vals), len(vals))
	g.inputs[len(g.inputs)-1].value, g.values[id] = t, t
	return id
}

func (g *grower) updateSlice(x ref) ref {
	v := g.values[x]
	args := g.window(v.Shape(), false)
	args["x"] = x
	begin, end := args["begin"].([]int32), args["end"].([]int32)
	var shape []int
	stride, _ := args["stride"].([]int32)
	squeeze, _ := args["squeeze_mask"].([]bool)
	for i, s := range v.Shape() {
		from, to, by := int(begin[i]), int(end[i]), 1
		if from < 0 {
			from += s
		}
		if args["begin_mask"].([]bool)[i] {
			from = 0
		}
		if args["end_mask"].([]bool)[i] {
			to = s
		}
		if stride != nil {
			by = int(stride[i])
		}
		if squeeze != nil && squeeze[i] {
			continue
		}
		shape = append(shape, (to-from+by-1)/by)
	}
	for _, id := range g.live {
		if u := g.values[id]; u.DType() == v.DType() && slices.Equal(u.Shape(), shape) && g.flip() {
			args["update"] = id
		}
	}
	if args["update"] == nil {
		args["update"] = g.fresh(v.DType(), shape)
	}
	if g.r.IntN(4) == 0 {
		args["begin"], args["end"] = g.numbers(begin), g.numbers(end)
	}
	if made := g.add("slice_update", args, v.DType()); made != nil {
		return made[0]
	}
	return 0
}

func sliceUpdate(g *grower) { g.updateSlice(g.movable(1, 5)) }

func concat(g *grower) {
	x := g.movable(1, 5)
	v := g.values[x]
	axis := g.axis(x)
	at := (int(axis) + v.Rank()) % v.Rank()
	parts := refs{x}
	for range g.r.IntN(4) {
		if g.r.IntN(3) == 0 {
			parts = append(parts, parts[g.r.IntN(len(parts))])
			continue
		}
		shape := slices.Clone(v.Shape())
		shape[at] = 1 + g.r.IntN(4)
		part := ref(0)
		for _, id := range g.live {
			s := slices.Clone(g.values[id].Shape())
			if g.values[id].DType() == v.DType() && len(s) == len(shape) && g.flip() {
				s[at] = shape[at]
				if slices.Equal(s, shape) {
					part = id
				}
			}
		}
		if part == 0 {
			part = g.fresh(v.DType(), shape)
		}
		parts = append(parts, part)
	}
	g.r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	g.add("concat", with{"values": parts, "axis": axis, "interleave": g.r.IntN(6) == 0}, v.DType())
}

func stack(g *grower) {
	x := g.movable(0, 4)
	v := g.values[x]
	parts := refs{x}
	for range g.r.IntN(3) {
		part := x
		for _, id := range g.live {
			if g.values[id].DType() == v.DType() && slices.Equal(g.values[id].Shape(), v.Shape()) && g.flip() {
				part = id
			}
		}
		parts = append(parts, part)
	}
	g.add("stack", with{"values": parts, "axis": int32(g.r.IntN(v.Rank() + 1))}, v.DType())
}

func split(g *grower) {
	x := g.classic(1, 5)
	v := g.values[x]
	axis := g.r.IntN(v.Rank())
	n := v.Shape()[axis]
	var sizes []int32
	for n > 0 {
		s := 1 + g.r.IntN(n)
		sizes = append(sizes, int32(s))
		n -= s
	}
	types := make([]tensor.DType, len(sizes))
	for i := range types {
		types[i] = v.DType()
	}
	g.add("split", with{"x": x, "split_sizes": sizes, "axis": int32(axis)}, types...)
}

func tile(g *grower) {
	x := g.classic(1, 5)
	reps := make([]int32, g.values[x].Rank())
	for i := range reps {
		reps[i] = int32(1 + g.r.IntN(3)*g.r.IntN(2))
	}
	g.add("tile", with{"x": x, "reps": reps}, g.values[x].DType())
}

func pad(g *grower) {
	x := g.float(1, 5)
	v := g.values[x]
	n := 1 + g.r.IntN(v.Rank())
	mode := g.among("constant", "constant", "reflect", "replicate")
	if mode != "constant" {
		n = min(n, 2)
	}
	var pads []int32
	for i := range n {
		s := v.Shape()[v.Rank()-n+i]
		for range 2 {
			most := 3
			if mode == "reflect" {
				most = min(3, s)
			}
			pads = append(pads, int32(g.r.IntN(most)))
		}
	}
	args := with{"x": x, "pad": pads, "mode": mode}
	if mode == "constant" {
		args["constant_val"] = scalar(v.DType(), float32(g.r.IntN(5)-2))
	}
	g.add("pad", args, v.DType())
}

func squeeze(g *grower) {
	x := g.movable(1, 5)
	g.add("squeeze", with{"x": x}, g.values[x].DType())
}

func expand(g *grower) {
	x := g.movable(0, 4)
	r := g.values[x].Rank()
	g.add("expand_dims", with{"x": x, "axes": []int32{int32(g.r.IntN(r + 1))}}, g.values[x].DType())
}

// indices makes integers below n.
func (g *grower) indices(n int, shape []int) ref {
	id := g.fresh(tensor.Int32, shape)
	count, _ := tensor.Count(shape)
	vals := make([]int32, count)
	for i := range vals {
		vals[i] = int32(g.r.IntN(n))
		if g.r.IntN(6) == 0 {
			vals[i] -= int32(n)
		}
	}
	g.set(id, tensor.Of(vals, shape...))
	return id
}

// set gives an input or a constant another value.
func (g *grower) set(id ref, t *tensor.Tensor) {
	g.values[id] = t
	for i := range g.inputs {
		if g.inputs[i].id == id {
			g.inputs[i].value = t
		}
	}
	for _, s := range g.steps {
		if s.kind == "const" && s.outs[0] == id {
			s.args["val"] = t
		}
	}
}

func (g *grower) gathered(lo, hi int) ref {
	return g.any([2]int{lo, hi}, tensor.Float16, tensor.Float32, tensor.Int32, tensor.Int8, tensor.UInt16)
}

func gather(g *grower) {
	x := g.gathered(1, 5)
	v := g.values[x]
	axis := g.r.IntN(v.Rank())
	g.add("gather", with{"x": x, "indices": g.indices(v.Shape()[axis], g.shape(g.r.IntN(3))), "axis": int32(axis)}, v.DType())
}

func gatherAlong(g *grower) {
	x := g.gathered(1, 5)
	v := g.values[x]
	axis := g.r.IntN(v.Rank())
	shape := slices.Clone(v.Shape())
	shape[axis] = 1 + g.r.IntN(5)
	g.add("gather_along_axis", with{"x": x, "indices": g.indices(v.Shape()[axis], shape), "axis": int32(axis)}, v.DType())
}

// places makes indices of whole positions, in the first axes of a shape.
func (g *grower) places(of []int, before []int, depth int) ref {
	shape := append(slices.Clone(before), depth)
	id := g.fresh(tensor.Int32, shape)
	count, _ := tensor.Count(shape)
	vals := make([]int32, count)
	for i := range vals {
		vals[i] = int32(g.r.IntN(of[i%depth]))
	}
	g.set(id, tensor.Of(vals, shape...))
	return id
}

func gatherND(g *grower) {
	x := g.gathered(1, 5)
	v := g.values[x]
	depth := 1 + g.r.IntN(v.Rank())
	g.add("gather_nd", with{"x": x, "indices": g.places(v.Shape(), g.shape(1+g.r.IntN(2)), depth), "batch_dims": int32(0)}, v.DType())
}

// mode of a scatter. Where indices may repeat, only the last write of an update counts.
func (g *grower) mode() string { return g.among("add", "update", "max", "min", "sub", "mul") }

func scatter(g *grower) {
	x := g.numeric(1, 4)
	v := g.values[x]
	axis := g.r.IntN(v.Rank())
	before := []int{1 + g.r.IntN(4)}
	shape := slices.Concat(v.Shape()[:axis], before, v.Shape()[axis+1:])
	g.add("scatter", with{
		"data": x, "indices": g.indices(v.Shape()[axis], before), "updates": g.fresh(v.DType(), shape), "axis": int32(axis), "mode": g.mode()},
		v.DType())
}

func scatterAlong(g *grower) {
	x := g.numeric(1, 5)
	v := g.values[x]
	axis := g.r.IntN(v.Rank())
	shape := slices.Clone(v.Shape())
	shape[axis] = 1 + g.r.IntN(4)
	g.add("scatter_along_axis", with{
		"data": x, "indices": g.indices(v.Shape()[axis], shape), "updates": g.fresh(v.DType(), shape), "axis": int32(axis), "mode": g.mode()},
		v.DType())
}

func scatterND(g *grower) {
	x := g.numeric(1, 5)
	v := g.values[x]
	depth := 1 + g.r.IntN(v.Rank())
	before := []int{1 + g.r.IntN(4)}
	shape := slices.Concat(before, v.Shape()[depth:])
	g.add("scatter_nd", with{
		"data": x, "indices": g.places(v.Shape(), before, depth), "updates": g.fresh(v.DType(), shape), "mode": g.mode()}, v.DType())
}

func reverse(g *grower) {
	x := g.movable(1, 5)
	g.add("reverse", with{"x": x, "axes": g.axes(g.values[x].Rank())}, g.values[x].DType())
}

func oneHot(g *grower) {
	n := 1 + g.r.IntN(6)
	d := g.dtype()
	on, off := g.random(d, nil), g.random(d, nil)
	shape := g.shape(g.r.IntN(3))
	g.add("one_hot", with{
		"indices": g.indices(n, shape), "one_hot_vector_size": int32(n), "axis": int32(g.r.IntN(len(shape)+2) - 1), "on_value": on, "off_value": off}, d)
}

func sortLike(g *grower) {
	x := g.numeric(1, 5)
	if !g.apart(x) {
		return
	}
	v := g.values[x]
	axis := g.axis(x)
	if g.flip() {
		g.add("argsort", with{"x": x, "axis": axis, "ascending": g.flip()}, tensor.Int32)
		return
	}
	n := v.Shape()[(int(axis)+v.Rank())%v.Rank()]
	g.add("topk", with{"x": x, "k": int32(1 + g.r.IntN(n)), "axis": axis, "ascending": g.flip()}, v.DType(), tensor.Int32)
}

func cumulative(g *grower) {
	x := g.numeric(1, 5)
	g.add("cumsum", with{"x": x, "axis": int32(g.r.IntN(g.values[x].Rank())), "exclusive": g.flip(), "reverse": g.flip()}, g.values[x].DType())
}

func bands(g *grower) {
	x := g.classic(2, 5)
	g.add("band_part", with{"x": x, "lower": int32(g.r.IntN(4) - 1), "upper": int32(g.r.IntN(4) - 1)}, g.values[x].DType())
}

func windows(g *grower) {
	x := g.movable(1, 4)
	axis := g.r.IntN(g.values[x].Rank())
	n := g.values[x].Shape()[axis]
	g.add("sliding_windows", with{"x": x, "axis": int32(axis), "size": int32(1 + g.r.IntN(n)), "stride": int32(1 + g.r.IntN(2))}, g.values[x].DType())
}

func fills(g *grower) {
	x := g.classic(0, 5)
	d := g.dtype()
	g.add("fill_like", with{"ref_tensor": x, "value": g.random(d, nil)}, d)
}
