// Command hidden-layers authors layers that no model converter emits and runs them: fused attention, a stereo cost volume, and a
// function of one's own as a table.
//
//	go run ./examples/hidden-layers
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/fit"
	"github.com/espalier-ane/espalier/netplist"
	"github.com/espalier-ane/espalier/tensor"
)

// attention is listing 26.3 of the guide: a native layer named directly, not a decomposition.
func attention() *netplist.Builder {
	g := netplist.New("G")
	q := g.Input("q", tensor.Float16, 1, 8, 197, 64)
	k := g.Input("k", tensor.Float16, 1, 8, 197, 64)
	v := g.Input("v", tensor.Float16, 1, 8, 197, 64)
	scale := g.Const("scale", tensor.Scalar(float32(1/math.Sqrt(64))))
	attn := g.BridgeNode("attn", "SDPA", netplist.Params{
		"SubtractMax": true, // the default is false, wrong for a softmax
	}, q, k, v, scale) // a fifth operand would be a mask that is added
	g.Output(attn)
	return g
}

// stereo is the cost of matching two pictures at each of five disparities: cost[d, x] = |aux[x] - ref[x+d]|.
func stereo() *netplist.Builder {
	g := netplist.New("stereo")
	aux := g.Input("aux", tensor.Float16, 1, 1, 4, 12)
	ref := g.Input("ref", tensor.Float16, 1, 1, 4, 16)
	g.Output(g.Unit("cost", "CostVolume", netplist.Params{"DisparityDirection": 0, "DisparityRange": 4}, aux, ref))
	return g
}

// bump is a Gaussian, which no activation of the engine is, as a table of 33 knots. Target virtual runs it; no chip's compiler takes
// a table, and fit.Result.Basis has the layers that do the same there.
func bump() (*netplist.Builder, error) {
	table, err := fit.Table(func(x float64) float64 { return math.Exp(-x * x) }, fit.Domain{Min: -4, Max: 4}, fit.Options{})
	if err != nil {
		return nil, err
	}
	if table.Scale != 1 || table.Offset != 0 {
		return nil, errors.New("the knots of the table do not lie where the function is")
	}
	g := netplist.New("bump")
	x := g.Input("x", tensor.Float16, 1, 1, 1, 9)
	knots := g.Const("knots", tensor.Of(table.Halfwords(), len(table.Halfwords())))
	g.Output(g.Unit("y", "NeuronCustom", nil, x, knots))
	return g, nil
}

// write builds a list and puts it and its weights into a folder.
func write(g *netplist.Builder, dir string) (string, error) {
	file, weights, err := g.Build()
	if err != nil {
		return "", err
	}
	return file.Save(dir, netplist.XML, weights)
}

// wave fills an array of n elements.
func wave(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	return x
}

func run(dir string) error {
	ctx := context.Background()
	table, err := bump()
	if err != nil {
		return err
	}
	for _, e := range []struct {
		list   *netplist.Builder
		inputs map[string]any
		output string
	}{
		{attention(), map[string]any{"q": wave(8 * 197 * 64), "k": wave(8 * 197 * 64), "v": wave(8 * 197 * 64)}, "attn"},
		{stereo(), map[string]any{"aux": wave(4 * 12), "ref": wave(5 + 4*16)[5:]}, "cost"},
		{table, map[string]any{"x": []float32{-4, -2, -1, -0.5, 0, 0.5, 1, 2, 4}}, "y"},
	} {
		path, err := write(e.list, filepath.Join(dir, e.output))
		if err != nil {
			return err
		}
		m, err := espalier.Open(path)
		if err != nil {
			return err
		}
		out, err := m.Predict(ctx, e.inputs)
		if err := errors.Join(err, m.Close()); err != nil {
			return err
		}
		t := out[e.output].Tensor
		fmt.Printf("%-5s %v  %.3f …\n", e.output, t, t.Float32s()[:min(t.Len(), 5)])
	}
	return nil
}

func main() {
	dir, err := os.MkdirTemp("", "hidden-layers")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := run(dir); err != nil {
		log.Fatal(err)
	}
}
