package compiler_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/tensor"
)

var (
	randomSeed  = flag.Uint64("random.seed", 1, "the first seed of the random programs")
	randomCount = flag.Int("random.count", 150, "how many random programs are compiled and run")

	randomTargets = flag.String("random.targets", "", "the targets that so many large programs are compiled and run for, or all")
)

// TestRandomPrograms holds random functions that were compiled to the host evaluator, and compiles each twice: the second time with
// everything shuffled that no result may depend on.
//
//	go test ./internal/compiler -run RandomPrograms -random.count 20000 -random.seed 7000
func TestRandomPrograms(t *testing.T) { randomPrograms(t, "virtual", growth{}, randomNumber()) }

// On H13, with the numerics of virtual, native tasks and extension records stand side by side in the same memory.
func TestRandomProgramsOnH13(t *testing.T) { randomPrograms(t, "h13", growth{}, randomNumber()) }

// On any target, large ones of which any value may be an output: a few here, as many as are asked for by
//
//	make random N=20000 TARGET=h13 SEED=1
func TestRandomTargets(t *testing.T) {
	count, list := randomNumber(), *randomTargets
	if list == "" {
		count, list = 6, "virtual,h13,h14,h16,h17"
	}
	targets, err := hal.ParseList(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		t.Run(target.Name, func(t *testing.T) { randomPrograms(t, target.Name, growth{large: true, every: true}, count) })
	}
}

func randomNumber() int {
	if testing.Short() {
		return min(*randomCount, 50)
	}
	return *randomCount
}

func randomPrograms(t *testing.T, target string, how growth, count int) {
	failures := 0
	for i := range count {
		seed := *randomSeed + uint64(i)
		p := grow(seed, target, how)
		fault := check(p, seed)
		if fault == nil {
			continue
		}
		kind := fault.kind
		small, least := minimize(p, func(p *program) *failure {
			if f := check(p, seed); f != nil && f.kind == kind {
				return f
			}
			return nil
		}, fault)
		t.Errorf("seed %d: %s: %v\n%v", seed, least.kind, least.err, small)
		if failures++; failures >= 10 {
			t.Fatal("and perhaps more")
		}
	}
}

// A failure is what is wrong with a program, and at which stage.
type failure struct {
	kind string
	err  error
}

// check takes a program over both roads. nil: they agree.
func check(p *program, seed uint64) (fault *failure) {
	stage := "build"
	defer func() {
		if r := recover(); r != nil {
			fault = &failure{"panic in " + stage, fmt.Errorf("%v\n%s", r, debug.Stack())}
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	built, err := p.build()
	if err != nil {
		return &failure{stage, err}
	}
	stage = "evaluate"
	want, err := p.evaluate(ctx, built, ops.Virtual)
	if err != nil {
		return &failure{stage, err}
	}
	wide, err := p.evaluate(ctx, built, ops.FP32)
	if err != nil {
		return &failure{stage, err}
	}
	stage = "compile"
	r, err := p.compile(ctx, built, 0)
	if err != nil {
		return &failure{stage, err}
	}
	stage = "shuffled compile"
	again, err := p.compile(ctx, built, seed+1)
	if err != nil {
		return &failure{stage, err}
	}
	first, err := bundleBytes(r.Bundle)
	if err != nil {
		return &failure{stage, err}
	}
	second, err := bundleBytes(again.Bundle)
	if err != nil {
		return &failure{stage, err}
	}
	if !bytes.Equal(first, second) {
		return &failure{stage, fmt.Errorf("seed %d gives other bytes", seed+1)}
	}
	stage = "run"
	got, err := p.run(ctx, r)
	if err != nil {
		return &failure{stage, err}
	}
	halves := p.halves()
	for n := range want {
		for i, id := range p.outputs {
			if err := p.agree(halves[id], got[n].outputs[i], want[n].outputs[i], wide[n].outputs[i]); err != nil {
				return &failure{"values", fmt.Errorf("run %d: %s: %w", n, valueName(id), err)}
			}
		}
		for i, s := range p.states {
			if err := p.agree(halves[s.id], got[n].states[i], want[n].states[i], wide[n].states[i]); err != nil {
				return &failure{"values", fmt.Errorf("run %d: state %s: %w", n, valueName(s.id), err)}
			}
		}
	}
	return nil
}

// bundleBytes are the files of a bundle, one after the other.
func bundleBytes(b *bundle.Bundle) ([]byte, error) {
	c := b.Content()
	var all bytes.Buffer
	all.Write(c.Program)
	io.WriteString(&all, c.Host)
	for _, blob := range slices.Concat(c.Containers, c.Weights) {
		io.WriteString(&all, blob.Path)
		if err := blob.Write(&all); err != nil {
			return nil, err
		}
	}
	return all.Bytes(), nil
}

// halves finds the values that are fp16, or computed from such: a cast to fp32 makes nothing more exact.
func (p *program) halves() map[ref]bool {
	half := map[ref]bool{}
	for id, v := range p.values {
		half[id] = v.DType() == tensor.Float16
	}
	for range p.runs() { // what a state is left with is read by the next
		for _, s := range p.steps {
			any := false
			s.reads(func(id ref) { any = any || half[id] })
			for _, id := range s.outs {
				half[id] = half[id] || any
			}
			if s.kind == "write_state" {
				id := s.args["input"].(ref)
				half[id] = half[id] || any
			}
		}
	}
	return half
}

// agree compares a result with that of the evaluator. Tasks do not round between the layers that they fuse, so how far they may be
// apart is measured by what rounding makes of the result at all: the distance between evaluations with and without.
func (p *program) agree(half bool, got, want, wide *tensor.Tensor) error {
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("a %v, expected a %v", got, want)
	}
	if !want.DType().IsFloat() {
		if g, w := got.Int64s(), want.Int64s(); !slices.Equal(g, w) {
			return fmt.Errorf("%s of %v", difference(g, w), want)
		}
		return nil
	}
	g, w, x := got.Float64s(), want.Float64s(), wide.Float64s()
	most, rounding := 0.0, 0.0
	for i := range w {
		most = max(most, math.Abs(w[i]))
		rounding = max(rounding, math.Abs(w[i]-x[i]))
	}
	unit, least := 1e-4, 1e-5 // sums of thousands of products cancel
	switch {
	case half && p.target != "virtual": // a layer may be several tasks, with fp16 between them
		unit, least = 2e-2, 2e-3
	case want.DType() == tensor.Float16:
		unit = 3e-3
	}
	allowed := 8*rounding + unit*most + least
	for i := range w {
		if d := math.Abs(g[i] - w[i]); d > allowed || math.IsNaN(g[i]) != math.IsNaN(w[i]) {
			return fmt.Errorf("element %d of %v is %v, expected %v, give or take %.2g", i, want, g[i], w[i], allowed)
		}
	}
	return nil
}

func difference(got, want []int64) string {
	for i := range got {
		if got[i] != want[i] {
			return fmt.Sprintf("element %d is %d, expected %d:", i, got[i], want[i])
		}
	}
	return "length"
}
