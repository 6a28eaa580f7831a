package compiler_test

import (
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

// placed adds the strides and the padding of a convolution or pooling over so many axes.
func (g *grower) placed(n int, args with) {
	strides, pads := make([]int32, n), make([]int32, 2*n)
	for i := range n {
		strides[i] = int32(1 + g.r.IntN(3)*g.r.IntN(2))
		pads[2*i], pads[2*i+1] = int32(g.r.IntN(3)), int32(g.r.IntN(3))
	}
	args["strides"] = strides
	args["pad_type"] = g.among("valid", "same", "custom", "same_lower")
	if args["pad_type"] == "custom" {
		args["pad"] = pads
	}
}

func conv(g *grower) {
	x := g.float(3, 5)
	v := g.values[x]
	n := v.Rank() - 2
	in := v.Shape()[1]
	groups := 1
	if g.r.IntN(3) == 0 {
		groups = []int{in, 1 + g.r.IntN(in)}[g.r.IntN(2)]
	}
	if in%groups != 0 {
		groups = 1
	}
	out := groups * (1 + g.r.IntN(4))
	shape := []int{out, in / groups}
	dilations := make([]int32, n)
	for i := range n {
		shape = append(shape, 1+g.r.IntN(3))
		dilations[i] = int32(1 + g.r.IntN(2)*g.r.IntN(2))
	}
	args := with{"x": x, "groups": int32(groups), "dilations": dilations}
	g.placed(n, args)
	if g.r.IntN(4) == 0 {
		args["weight"] = g.input(v.DType(), shape)
		for i := range dilations {
			dilations[i] = 1
		}
	} else {
		args["weight"] = g.random(v.DType(), shape)
	}
	if g.flip() {
		args["bias"] = g.random(v.DType(), []int{out})
	}
	g.add("conv", args, v.DType())
}

func convTranspose(g *grower) {
	x := g.float(3, 5)
	v := g.values[x]
	n := v.Rank() - 2
	in := v.Shape()[1]
	groups := 1
	if g.r.IntN(3) == 0 {
		groups = in
	}
	out := 1 + g.r.IntN(3)
	shape := []int{in, out}
	dilations := make([]int32, n)
	for i := range n {
		shape = append(shape, 1+g.r.IntN(3))
		dilations[i] = int32(1 + g.r.IntN(2)*g.r.IntN(2))
	}
	args := with{"x": x, "groups": int32(groups), "dilations": dilations, "weight": g.random(v.DType(), shape)}
	g.placed(n, args)
	if args["pad_type"] == "same_lower" {
		args["pad_type"] = "same"
	}
	if g.flip() {
		args["bias"] = g.random(v.DType(), []int{out * groups})
	}
	g.add("conv_transpose", args, v.DType())
}

func pool(g *grower) {
	x := g.float(3, 5)
	n := g.values[x].Rank() - 2
	kind := g.among("avg_pool", "max_pool", "l2_pool")
	args := with{"x": x}
	sizes := make([]int32, n)
	for i := range sizes {
		sizes[i] = int32(1 + g.r.IntN(3))
	}
	args["kernel_sizes"] = sizes
	g.placed(n, args)
	args["ceil_mode"] = g.r.IntN(4) == 0
	if pads, ok := args["pad"].([]int32); ok {
		for i := range n { // of what lies in the padding alone, there is no average and no maximum
			pads[2*i], pads[2*i+1] = min(pads[2*i], sizes[i]-1), min(pads[2*i+1], sizes[i]-1)
		}
	}
	if kind == "avg_pool" {
		args["exclude_padding_from_average"] = g.flip()
	}
	g.add(kind, args, g.values[x].DType())
}

func matmul(g *grower) {
	x := g.any([2]int{1, 5}, tensor.Float16, tensor.Float16, tensor.Float32, tensor.Int32)
	v := g.values[x]
	tx, ty := v.Rank() > 1 && g.flip(), g.flip()
	k := v.Shape()[v.Rank()-1]
	if tx {
		k = v.Shape()[v.Rank()-2]
	}
	n := 1 + g.r.IntN(6)
	shape := []int{k, n}
	if ty {
		shape = []int{n, k}
	}
	if v.Rank() > 2 && g.r.IntN(3) > 0 {
		batch := slices.Clone(v.Shape()[:v.Rank()-2])
		for i := range batch {
			if g.r.IntN(3) == 0 {
				batch[i] = 1
			} else if batch[i] == 1 {
				batch[i] = 1 + g.r.IntN(3)
			}
		}
		shape = append(batch[g.r.IntN(len(batch)):], shape...)
	}
	if v.Rank() > 1 && g.r.IntN(8) == 0 {
		shape, ty, tx = []int{v.Shape()[v.Rank()-1]}, false, false
	}
	y := g.fresh(v.DType(), shape)
	g.add("matmul", with{"x": x, "y": y, "transpose_x": tx, "transpose_y": ty}, v.DType())
}

func linear(g *grower) {
	x := g.any([2]int{1, 5}, tensor.Float16, tensor.Float32, tensor.Float16, tensor.Int32)
	v := g.values[x]
	n := 1 + g.r.IntN(8)
	args := with{"x": x, "weight": g.random(v.DType(), []int{n, v.Shape()[v.Rank()-1]})}
	if g.flip() {
		args["bias"] = g.random(v.DType(), []int{n})
	}
	g.add("linear", args, v.DType())
}

func attention(g *grower) {
	q := g.float(3, 5)
	v := g.values[q]
	s, e := 1+g.r.IntN(6), 1+g.r.IntN(6)
	batch := v.Shape()[:v.Rank()-2]
	args := with{
		"query": q,
		"key":   g.fresh(v.DType(), append(slices.Clone(batch), s, v.Shape()[v.Rank()-1])),
		"value": g.fresh(v.DType(), append(slices.Clone(batch), s, e)),
	}
	if g.flip() {
		shape := []int{v.Shape()[v.Rank()-2], s}
		if g.flip() {
			shape[0] = 1
		}
		if g.flip() {
			shape = append(slices.Clone(batch), shape...)
		}
		mask := v.DType()
		if g.flip() {
			mask = tensor.Bool
		}
		args["attn_mask"] = g.fresh(mask, shape)
	}
	g.add("scaled_dot_product_attention", args, v.DType())
}

func einsum(g *grower) {
	x := g.float(3, 4)
	v := g.values[x]
	s := v.Shape()
	if v.Rank() == 4 {
		y := g.fresh(v.DType(), []int{s[0], s[3], s[2], 1 + g.r.IntN(5)})
		g.add("einsum", with{"values": refs{x, y}, "equation": "nchw,nwhu->nchu"}, v.DType())
		return
	}
	y := g.fresh(v.DType(), []int{s[2], s[1], 1 + g.r.IntN(5)})
	g.add("einsum", with{"values": refs{x, y}, "equation": "abc,cbd->abd"}, v.DType())
}

func resize(g *grower) {
	x := g.float(3, 4)
	d := g.values[x].DType()
	h, w := int32(1+g.r.IntN(9)), int32(1+g.r.IntN(9))
	modes := []string{"DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "UNALIGN_CORNERS", "OFFSET_CORNERS"}
	switch g.r.IntN(3) {
	case 0:
		g.add("resize_bilinear", with{"x": x, "target_size_height": h, "target_size_width": w, "sampling_mode": g.among(modes...)}, d)
	case 1:
		g.add("resize_nearest_neighbor", with{"x": x, "target_size_height": h, "target_size_width": w}, d)
	default:
		n := 1 + g.r.IntN(2)
		g.add("resize", with{
			"x": x, "shape": []int32{h, w}[:n], "resized_dims": uint32(n),
			"interpolation_mode": g.among("LINEAR", "NEAREST_NEIGHBOR"), "sampling_mode": g.among(modes...)}, d)
	}
}

func upsample(g *grower) {
	x := g.float(3, 5)
	d := g.values[x].DType()
	args := with{"x": x, "scale_factor_height": int32(1 + g.r.IntN(3)), "scale_factor_width": int32(1 + g.r.IntN(3))}
	if g.flip() {
		g.add("upsample_nearest_neighbor", args, d)
		return
	}
	args["align_corners"] = g.flip()
	g.add("upsample_bilinear", args, d)
}

func shuffles(g *grower) {
	f := 1 + g.r.IntN(3)
	up := g.flip()
	shape := []int{1 + g.r.IntN(2), 1 + g.r.IntN(3), f * (1 + g.r.IntN(3)), f * (1 + g.r.IntN(3))}
	if up {
		shape[1] *= f * f
	}
	x := ref(0)
	for _, id := range g.live {
		if s := g.values[id].Shape(); g.values[id].DType().IsFloat() && len(s) == 4 && g.flip() {
			x = id
		}
	}
	if x == 0 {
		x = g.fresh(tensor.Float16, shape)
	}
	d := g.values[x].DType()
	switch {
	case up && g.flip():
		g.add("pixel_shuffle", with{"x": x, "upscale_factor": int32(f)}, d)
	case up:
		g.add("depth_to_space", with{"x": x, "block_size": int32(f)}, d)
	case g.flip():
		g.add("space_to_depth", with{"x": x, "block_size": int32(f)}, d)
	case g.flip():
		g.add("pixel_unshuffle", with{"x": x, "downscale_factor": uint32(f)}, d)
	case g.flip():
		g.add("space_to_batch", with{"x": x, "block_shape": []int32{int32(f), int32(f)}, "paddings": tensor.Of([]int32{0, 0, 0, 0}, 2, 2)}, d)
	default:
		g.add("batch_to_space", with{"x": x, "block_shape": []int32{int32(f), 1}, "crops": tensor.Of([]int32{0, 0, 0, 0}, 2, 2)}, d)
	}
}

func crop(g *grower) {
	x := g.float(3, 5)
	g.add("crop", with{"x": x, "crop_height": []int32{int32(g.r.IntN(2)), int32(g.r.IntN(2))}, "crop_width": []int32{int32(g.r.IntN(2)), int32(g.r.IntN(2))}},
		g.values[x].DType())
}

func cropResize(g *grower) {
	x := g.float(4, 4)
	d := g.values[x].DType()
	modes := []string{"DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "UNALIGN_CORNERS", "OFFSET_CORNERS"}
	boxes := tensor.FromFloat32s(d, []float32{0.1, 0.2, 0.75, 0.9, 0, 0, 1, 1}, 2, 4)
	id := g.fresh(d, []int{2, 4})
	g.set(id, boxes)
	g.add("crop_resize", with{
		"x": x, "boxes": id, "box_indices": []int32{0, int32(g.r.IntN(g.values[x].Shape()[0]))}, "target_height": int32(1 + g.r.IntN(5)), "target_width": int32(1 + g.r.IntN(5)),
		"normalized_coordinates": true, "sampling_mode": g.among(modes...)}, d)
}

func recurrent(g *grower) {
	x := g.float(3, 3)
	v := g.values[x]
	d := v.DType()
	h := 1 + g.r.IntN(3)
	b, in := v.Shape()[1], v.Shape()[2]
	if v.Shape()[0] > 6 {
		return
	}
	sequence := g.flip()
	direction := g.among("forward", "reverse")
	state := func() ref { return g.fresh(d, []int{b, h}) }
	switch g.r.IntN(3) {
	case 0:
		g.add("lstm", with{
			"x": x, "initial_h": state(), "initial_c": state(), "weight_ih": g.random(d, []int{4 * h, in}), "weight_hh": g.random(d, []int{4 * h, h}),
			"direction": direction, "output_sequence": sequence}, d, d, d)
	case 1:
		g.add("gru", with{
			"x": x, "initial_h": state(), "weight_ih": g.random(d, []int{3 * h, in}), "weight_hh": g.random(d, []int{3 * h, h}),
			"direction": direction, "output_sequence": sequence}, d, d)
	default:
		g.add("rnn", with{
			"x": x, "initial_h": state(), "weight_ih": g.random(d, []int{h, in}), "weight_hh": g.random(d, []int{h, h}),
			"direction": direction, "output_sequence": sequence}, d, d)
	}
}
