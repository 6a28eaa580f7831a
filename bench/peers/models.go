package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"

	"github.com/espalier-ane/espalier/tensor"
)

// twins are the networks that both sides have, with the largest difference of
// their results that fp16 explains, in root mean squares of the output.
var twins = []struct {
	name      string
	tolerance float64
}{
	{"resnet50", 0.05}, {"mobilenet_v2", 0.05}, {"minilm_l6", 0.05}, {"vit_s16", 0.05}, {"whisper_tiny_enc", 0.05},
	{"unet_sd_small", 0.05}, {"gpt2_decode", 0.05},
	{"micro_conv3x3", 0.02}, {"micro_sdpa_decomposed", 0.02}, {"micro_linear", 0.02}, {"micro_block_decomposed", 0.02},
	{"micro_backward", 0.02}, {"micro_conv1x1", 0.02},
}

// packageName is the name of our side's file in the folder of a network.
const packageName = "model.mlpackage"

// A Result is one network on both sides.
type Result struct {
	Model      string  `json:"model"`
	ISA        string  `json:"isa"` // what ESPALIER_ISA asked for
	Threads    int     `json:"threads"`
	Ours       Times   `json:"ours"`
	Peer       Times   `json:"peer"`
	Ratio      float64 `json:"ratio"`      // median of the peer by ours; 0 without a peer
	Difference float64 `json:"difference"` // of the results, the largest in root mean squares
	Others     float64 `json:"others"`     // share of the machine that other processes used meanwhile
	Error      string  `json:"error,omitempty"`
}

// measure runs a network on both sides in turn.
func (b *bench) measure(ctx context.Context, name string, tolerance float64, threads int) (r Result) {
	r = Result{Model: name, ISA: b.isa, Threads: threads}
	if err := b.measureInto(ctx, &r, tolerance); err != nil {
		r.Error = err.Error()
	}
	return r
}

func (b *bench) measureInto(ctx context.Context, r *Result, tolerance float64) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.Threads))
	dir, err := b.complete(r.Model)
	if err != nil {
		return err
	}
	ours, err := openOurs(ctx, filepath.Join(dir, packageName), "virtual", r.Threads)
	if err != nil {
		return err
	}
	defer ours.close()
	us := &side{run: ours.run}
	meter := startMeter()
	defer func() { r.Others = meter.others() }()
	if b.ort == nil {
		err := interleave(b.rounds, us)
		r.Ours = timesOf(us.runs)
		return err
	}
	twin, err := b.ort.open(filepath.Join(dir, "onnx", "model.onnx"), r.Threads)
	if err != nil {
		return err
	}
	defer twin.close()
	if err := twin.bind(ours.inputs); err != nil {
		return err
	}
	peer := &side{run: twin.run}
	if err := interleave(b.rounds, us, peer); err != nil {
		return err
	}
	r.Ours, r.Peer = timesOf(us.runs), timesOf(peer.runs)
	r.Ratio = r.Peer.Median / r.Ours.Median
	for _, p := range twin.outputs {
		d, err := difference(ours.outputs[p.name], p.t)
		if err != nil {
			return fmt.Errorf("the output %s: %w", p.name, err)
		}
		if math.IsNaN(d) {
			return fmt.Errorf("the output %s has numbers that are not finite", p.name)
		}
		r.Difference = max(r.Difference, d)
		if d > tolerance {
			return fmt.Errorf("the output %s differs by %.3g root mean squares, at most %.3g are fine", p.name, d, tolerance)
		}
	}
	return nil
}

// difference is the largest one between two results, in root mean squares of the
// second. It is NaN if one of them has a number that is not finite.
func difference(got, want *tensor.Tensor) (float64, error) {
	if got == nil {
		return 0, fmt.Errorf("we have no such output")
	}
	if got.Len() != want.Len() {
		return 0, fmt.Errorf("ours has shape %v, the twin's %v", got.Shape(), want.Shape())
	}
	g, w := got.Float64s(), want.Float64s()
	most, squares := 0.0, 0.0
	for i := range w {
		d := math.Abs(g[i] - w[i])
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return math.NaN(), nil
		}
		most = max(most, d)
		squares += w[i] * w[i]
	}
	if squares == 0 {
		return most, nil
	}
	return most / math.Sqrt(squares/float64(len(w))), nil
}
