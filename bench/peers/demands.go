package main

import "slices"

// A demand is what the ratio of a network is to be: ONNX Runtime's median by ours.
type demand struct {
	models              []string
	plain1, plain2      bounds // without tiles, on 1 and on 2 threads
	tiles, forcedToAVX2 bounds // on any number of threads
}

type bounds struct{ least, goal float64 } // 0: none

var demands = []demand{
	{[]string{"resnet50", "unet_sd_small"}, bounds{1.0, 1.2}, bounds{0.9, 1.1}, bounds{1.3, 1.7}, bounds{0.5, 0}},
	{[]string{"mobilenet_v2"}, bounds{1.05, 1.3}, bounds{0.95, 1.2}, bounds{1.1, 0}, bounds{0.6, 0}},
	{[]string{"minilm_l6", "vit_s16"}, bounds{1.3, 1.6}, bounds{1.1, 1.5}, bounds{1.5, 0}, bounds{0.6, 0}},
	{[]string{"whisper_tiny_enc"}, bounds{1.3, 1.6}, bounds{1.2, 0}, bounds{2, 0}, bounds{0.7, 0}},
	{[]string{"gpt2_decode"}, bounds{1.5, 1.8}, bounds{1.5, 0}, bounds{1.5, 0}, bounds{1.3, 0}},
	{
		[]string{"micro_conv3x3", "micro_sdpa_decomposed", "micro_linear", "micro_block_decomposed", "micro_backward", "micro_conv1x1"},
		bounds{1.0, 0}, bounds{1.0, 0}, bounds{1.0, 0}, bounds{},
	},
}

// beside is how much of the demands without tiles is left, for a machine that has
// tiles and is told not to use them.
const beside = 0.95

// demanded returns what is demanded of a result on a machine with tiles or without.
func demanded(r *Result, machineHasTiles bool) bounds {
	for _, d := range demands {
		if !slices.Contains(d.models, r.Model) {
			continue
		}
		plain := d.plain1
		if r.Threads > 1 {
			plain = d.plain2
		}
		switch {
		case r.ISA == "avx2":
			return d.forcedToAVX2
		case r.ISA == "avx512" && machineHasTiles:
			return bounds{beside * plain.least, plain.goal}
		case r.ISA == "avx512", r.ISA == auto && !machineHasTiles:
			return plain
		case r.ISA == auto, r.ISA == "amx":
			return d.tiles
		}
	}
	return bounds{}
}
