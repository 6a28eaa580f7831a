package driver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/driver"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// BenchmarkDeadline has a deadline stop a program that runs away, 200 times, and prints how much later than it the request was over: on the clock,
// and how much processor time the whole process had for it, from its submission on.
//
//	go test ./internal/driver -run - -bench Deadline -benchtime 1x
func BenchmarkDeadline(b *testing.B) {
	d := driver.New(target(b, "virtual"))
	p := load(b, d.NewClient(driver.AllowAll), long(b, 400), 8)
	const after = time.Millisecond
	for b.Loop() {
		var wall, cpu []float64
		for range 200 {
			r := p.request(driver.Default)
			began, spent := time.Now(), processTime()
			r.Deadline = began.Add(after)
			if err := p.Run(context.Background(), r); !errors.Is(err, driver.Timeout) {
				b.Fatal(err)
			}
			wall = append(wall, (time.Since(began)-after).Seconds()*1e3)
			cpu = append(cpu, (processTime()-spent).Seconds()*1e3)
		}
		slices.Sort(wall)
		slices.Sort(cpu)
		b.ReportMetric(wall[190], "p95-late-ms")
		b.ReportMetric(cpu[190], "p95-cpu-ms")
	}
}

// product is a program of some 60 µs.
func product(t testing.TB) []byte {
	still := func(h, w int) td.Operand {
		return td.Operand{Base: hwx.BasePorts, Type: tensor.Float16, Interleave: 1, Dims: [td.NumAxes]int{1, 1, 1, h, w}}
	}
	y := td.Dense(hwx.BaseScratch, 0, tensor.Float16, [td.NumAxes]int{1, 1, 1, 16, 128})
	y.Strides[td.AxisH] = 256
	dims := [td.NumAxes]int{1, 1, 1, 1, 8}
	return container(t, []hwx.PortSpec{port("x", hwx.In, 8), port("y", hwx.Out, 8)},
		&td.Op{Params: &td.MatMul{}, Operands: []td.Operand{y, still(16, 64), still(64, 128)}},
		&td.Op{Params: &td.Copy{}, Operands: []td.Operand{td.Dense(hwx.BasePorts+1, 0, tensor.Float16, dims), td.Dense(hwx.BasePorts, 0, tensor.Float16, dims)}})
}

// BenchmarkTwoThreads has two threads submit, and says how much more is done than by one: on the M1's profile, which has one command in flight
// (1.04 there), and on ours.
func BenchmarkTwoThreads(b *testing.B) {
	for _, name := range []string{"h13", "virtual"} {
		b.Run(name, func(b *testing.B) {
			row := *target(b, "virtual")
			row.Driver.InFlight = target(b, name).Driver.InFlight
			d := driver.New(&row)
			file := product(b)
			run := func(threads int) float64 {
				var wg sync.WaitGroup
				var list []*bench
				for range threads {
					list = append(list, load(b, d.NewClient(driver.AllowAll), file, 8))
				}
				began := time.Now()
				for _, p := range list {
					wg.Go(func() {
						r := p.request(driver.Default)
						for range 100 {
							if err := p.Run(context.Background(), r); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
				return float64(threads) / time.Since(began).Seconds()
			}
			var one, two []float64
			for b.Loop() {
				one, two = append(one, run(1)), append(two, run(2))
			}
			slices.Sort(one)
			slices.Sort(two)
			b.ReportMetric(two[len(two)/2]/one[len(one)/2], "x-of-one")
			b.ReportMetric(two[len(two)-1]/one[len(one)-1], "x-by-the-fastest")
		})
	}
}

// BenchmarkChain runs 12 small programs one by one, and as a chain.
func BenchmarkChain(b *testing.B) {
	const links = 12
	ctx := context.Background()
	for _, n := range []int{64, 4096} {
		c := driver.New(target(b, "virtual")).NewClient(driver.AllowAll)
		surfaces := []*driver.Surface{mapped(b, c, n)}
		a := driver.ChainArgs{Priority: driver.ByQoS, QoS: driver.Default}
		var alone []*driver.Process
		var requests []*driver.Request
		for i := range links {
			surfaces = append(surfaces, mapped(b, c, n))
			p, err := c.CreateProgram(linear(b, n, 1, 1), driver.ProgramOptions{})
			check(b, err)
			q, err := p.Prepare(ctx)
			check(b, err)
			alone = append(alone, q)
			in, out := buffers(surfaces[i]), buffers(surfaces[i+1])
			requests = append(requests, &driver.Request{Priority: driver.ByQoS, QoS: driver.Default, Inputs: in, Outputs: out})
			a.Links = append(a.Links, driver.Link{Program: p, Inputs: in, Outputs: out})
		}
		a.OutputSets, a.Links[links-1].Outputs = [][]driver.Buffer{a.Links[links-1].Outputs}, nil
		h, err := c.PrepareChain(a)
		check(b, err)
		check(b, h.EnqueueOutputSet(driver.OutputSet{OpenLoop: true}))
		b.Run(fmt.Sprintf("apart/%d", n), func(b *testing.B) {
			for b.Loop() {
				for i, q := range alone {
					check(b, q.Run(ctx, requests[i]))
				}
			}
		})
		b.Run(fmt.Sprintf("chain/%d", n), func(b *testing.B) {
			for b.Loop() {
				check(b, h.Execute(ctx, driver.InputsReady{}))
			}
		})
	}
}
