package e5rt_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hwx"
)

// A damaged is a bundle of which descriptor and container may be anything.
type damaged struct {
	manifest         bundle.Manifest
	descriptor, file []byte
}

func newDamaged(t testing.TB) *damaged {
	m := cache(t)
	d := &damaged{manifest: m.manifest}
	var err error
	d.descriptor, err = (&e5.Program{Functions: []*e5.Function{m.function}}).Encode()
	check(t, err)
	d.file, err = m.containers[bundle.ContainerPath(0)].Encode()
	check(t, err)
	return d
}

// run opens the bundle, and runs it for a moment if it is a small one.
func (d *damaged) run(descriptor, file []byte) (opened bool) {
	p, err := e5.Decode(descriptor)
	if err != nil {
		return false
	}
	c, err := hwx.NewFile(file)
	if err != nil {
		return false
	}
	b, err := bundle.New(d.manifest, p, map[string]*hwx.File{bundle.ContainerPath(0): c}, "", nil)
	if err != nil {
		return false
	}
	lib, err := e5rt.Open(b, e5rt.Options{Host: texts})
	if err != nil {
		return false
	}
	for _, f := range lib.Functions() {
		total := 0
		for _, list := range [][]e5rt.Port{f.Inputs(), f.Outputs(), f.States()} {
			for _, p := range list {
				total += p.Bytes
			}
		}
		if total > 1<<22 {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		f.NewOperation().Run(ctx, f.NewState()) // may fail
		cancel()
	}
	return true
}

// What is damaged is refused or runs, but does not panic.
func TestDamaged(t *testing.T) {
	d := newDamaged(t)
	if !d.run(d.descriptor, d.file) {
		t.Fatal("what is whole is not opened")
	}
	r := rand.New(rand.NewPCG(1, 1))
	opened := 0
	for range 300 {
		descriptor, file := bytes.Clone(d.descriptor), bytes.Clone(d.file)
		for range 1 + r.IntN(3) {
			data := descriptor
			if r.IntN(2) == 0 {
				data = file[:len(file)/3] // the rest is zeros
			}
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
		if d.run(descriptor, file) {
			opened++
		}
	}
	if opened == 0 || opened == 300 {
		t.Errorf("%d of 300 are opened", opened)
	}
}

func FuzzOpen(f *testing.F) {
	d := newDamaged(f)
	f.Add(d.descriptor, d.file)
	f.Fuzz(func(t *testing.T, descriptor, file []byte) { d.run(descriptor, bytes.Clone(file)) })
}
