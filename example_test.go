package espalier_test

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/explain/check"
	"github.com/espalier-ane/espalier/explain/dump"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/tensor"
)

func Example() {
	m, err := espalier.Open("testdata/models/linear_mlp/model.mlpackage")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for _, d := range m.Functions()[0].Inputs() {
		fmt.Println(d.Name, d.Type)
	}
	out, err := m.Predict(context.Background(), map[string]any{"x": make([]float32, 4*32)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out["y"].Tensor)
	// Output:
	// x fp32 array [4, 32]
	// fp32[4, 10]
}

// A Core ML developer, in CI and without a Mac: the model still gives what it gave when its outputs were recorded.
func Example_inCI() {
	m, err := espalier.Open("testdata/models/tiny_resnet/model.mlpackage")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	given, err := tensor.OpenNPZ("testdata/models/tiny_resnet/inputs.npz")
	if err != nil {
		log.Fatal(err)
	}
	inputs := map[string]any{}
	for _, a := range given {
		inputs[a.Name] = a.Tensor
	}
	out, err := m.Predict(context.Background(), inputs)
	if err != nil {
		log.Fatal(err)
	}
	expected, err := tensor.OpenNPZ("testdata/models/tiny_resnet/outputs.npz")
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range expected {
		c := tensor.Compare(out[a.Name].Tensor, a.Tensor, 0.01)
		fmt.Println(a.Name, c.Match)
	}
	// Output:
	// logits true
}

// Someone about to ship: which operations fall off the Neural Engine, and why.
func Example_beforeShipping() {
	targets, err := hal.ParseList("h13,h16")
	if err != nil {
		log.Fatal(err)
	}
	r, err := check.File(context.Background(), "testdata/models/sort_topk/model.mlpackage", check.Options{Targets: targets})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Functions {
		for _, t := range f.Targets {
			fmt.Printf("%s: %s\n", t.Name, t.Outcome(f))
		}
		for _, g := range f.Groups() {
			fmt.Println(g.ID)
		}
	}
	// Output:
	// h13: 2 segments; on the host: argsort ×3, topk ×2
	// h16: runs whole on the engine, 1 segment
	// codegen-topk
	// codegen-sort
}

// A reverse engineer: what the tasks of a hardware container say that they do, and what they do.
func Example_hardwareContainer() {
	const path = "hwx/testdata/relu16.hwx"
	r, err := dump.File(path)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for _, t := range r.Content.(*dump.Container).Tasks {
		fmt.Println(t.What)
	}
	m, err := espalier.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f := m.Functions()[0]
	x := make([]float32, 16)
	for i := range x {
		x[i] = float32(i - 8)
	}
	y := make([]float32, 16)
	err = f.PredictInto(context.Background(), map[string]any{f.Inputs()[0].Name: x}, map[string]any{f.Outputs()[0].Name: y})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
	// Output:
	// ReLU of 1 channel on 1×16, from image to probs@output
	// [0 0 0 0 0 0 0 0 0 1 2 3 4 5 6 7]
}

//go:embed testdata/models/linear_mlp
var embedded embed.FS

// A Go service that has its model inside: one file to deploy.
func ExampleOpenFS() {
	m, err := espalier.OpenFS(embedded, "testdata/models/linear_mlp/model.mlpackage")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	out, err := m.Predict(context.Background(), map[string]any{"x": make([]float32, 4*32)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out["y"].Tensor)
	// Output:
	// fp32[4, 10]
}

// A model that is written by hand, or comes over the network.
func ExampleOpenBytes() {
	m, err := espalier.OpenBytes("mean.mil", []byte(`program(1.0) {
    func main<ios17>(tensor<fp32, [2, 4]> x) {
        tensor<fp32, [2]> mean = reduce_mean(x = x, axes = tensor<int32, [1]>([1]), keep_dims = tensor<bool, []>(false))[name = tensor<string, []>("mean")];
    } -> (mean);
}`))
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	out, err := m.Predict(context.Background(), map[string]any{"x": []float32{1, 2, 3, 4, 10, 20, 30, 40}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out["mean"].Tensor.Float32s())
	// Output:
	// [2.5 25]
}

// A service that predicts all the time: memory is bound once, and a run allocates nothing. Two threads are enough here.
func ExampleFunction_Bind() {
	m, err := espalier.Config{Threads: 2}.Open("testdata/models/linear_mlp/model.mlpackage")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	ctx := context.Background()
	x, y := make([]float32, 4*32), make([]float32, 4*10)
	call, err := m.Functions()[0].Bind(ctx, map[string]any{"x": x}, map[string]any{"y": y})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 3 {
		x[0] = float32(i)
		if err := call.Run(ctx); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.1f\n", y[0])
	}
	// Output:
	// -0.1
	// 0.0
	// 0.1
}

// A service with sessions: each has a state, which can branch, and outlive the process.
func ExampleState() {
	m, err := espalier.Open("testdata/models/stateful_counter/model.mlpackage")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	ctx := context.Background()
	add := func(s *espalier.State, x ...float32) {
		if _, err := m.PredictWithState(ctx, map[string]any{"x": x}, s); err != nil {
			log.Fatal(err)
		}
		total, err := s.Tensor("total")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(total.Float32s())
	}
	s := m.NewState()
	add(s, 1, 2, 3)
	branch, err := s.Clone()
	if err != nil {
		log.Fatal(err)
	}
	add(s, 1, 1, 1)
	add(branch, 10, 10, 10)

	var file bytes.Buffer // or an os.File
	if err := s.Save(&file); err != nil {
		log.Fatal(err)
	}
	later := m.NewState()
	if err := later.Load(&file); err != nil {
		log.Fatal(err)
	}
	add(later, 1, 1, 1)
	// Output:
	// [0.5 1 1.5]
	// [0.75 1 1.25]
	// [5.25 5.5 5.75]
	// [0.875 1 1.125]
}

// A program that opens a model again, or another that does, takes what was compiled from the cache. By default it is in the
// user's folder for caches.
func ExampleConfig_cache() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for range 2 {
		m, err := espalier.Config{Cache: dir}.Open("testdata/models/linear_mlp/model.mlpackage")
		if err != nil {
			log.Fatal(err)
		}
		var p espalier.Profile
		if _, err := m.Predict(p.Watch(context.Background()), map[string]any{"x": make([]float32, 4*32)}); err != nil {
			log.Fatal(err)
		}
		fmt.Println("compiled", p.Compiled().Runs, "from the cache", p.Fetched().Runs)
		m.Close()
	}
	contents, err := espalier.ReadCache(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range contents.Entries {
		fmt.Println(filepath.Base(filepath.Dir(e.Model)), e.Function, e.Target)
	}
	// Output:
	// compiled 1 from the cache 0
	// compiled 0 from the cache 1
	// linear_mlp main virtual
}
