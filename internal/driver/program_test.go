package driver_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/driver"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// A program goes through its life: each step out of order gets its error and changes nothing.
func TestProgramLife(t *testing.T) {
	d := driver.New(target(t, "virtual"))
	c := d.NewClient(driver.AllowAll)
	ctx := patience(t)
	p, err := c.CreateProgram(linear(t, 8, 2, 1), driver.ProgramOptions{})
	check(t, err)
	expect := func(what string, err error, want driver.Code) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	_, err = p.NewInstance()
	expect("an instance of what is not loaded", err, driver.NotReady)
	expect("unloading what is not loaded", p.Unprepare(), driver.NotReady)
	q, err := p.Prepare(ctx)
	check(t, err)
	_, err = p.Prepare(ctx)
	expect("loading twice", err, driver.Busy)
	first := p.Image()

	x, err := c.NewSurface(16)
	check(t, err)
	y, err := c.NewSurface(16)
	check(t, err)
	put(x, 1, 2, 3)
	r := &driver.Request{Priority: driver.ByQoS, QoS: driver.Default, Inputs: []driver.Buffer{{Surface: x}}, Outputs: []driver.Buffer{{Surface: y}}}
	check(t, q.Run(ctx, r))
	wants(t, y, 2, 7)

	again, err := p.NewInstance()
	check(t, err)
	put(x, 5)
	check(t, again.Run(ctx, r))
	wants(t, y, 0, 11)
	if s := d.Status(); s.Programs != 1 || s.Processes != 2 || s.Client != 1 || s.State != driver.Run {
		t.Errorf("status %+v", s)
	}

	check(t, p.Unprepare())
	expect("a process of what is unloaded", q.Run(ctx, r), driver.NotReady)
	expect("likewise", again.Run(ctx, r), driver.NotReady)
	q, err = p.Prepare(ctx)
	check(t, err)
	second := p.Image()
	check(t, q.Run(ctx, r))
	for i, s := range first.Segments {
		if now := second.Segments[i]; now.Address == s.Address {
			t.Errorf("segment %s is at %#x both times", s.Name, s.Address)
		}
	}
	var text uint64 // the controller was told of the last image
	for _, m := range d.Recent() {
		if m.Command.Name == "LOAD_PROGRAM" {
			text = binary.LittleEndian.Uint64(m.Body[0x60+0x18:])
			break
		}
	}
	if !slices.ContainsFunc(second.Segments, func(s driver.Place) bool { return text >= s.Address && text < s.Address+s.Size }) {
		t.Errorf("the tasks were said to be at %#x; the image is at %v", text, second.Segments)
	}
	if first.Signature == second.Signature || bytes.Equal(first.Bytes, second.Bytes) {
		t.Error("both images are the same")
	}

	check(t, p.Destroy())
	expect("destroying twice", p.Destroy(), driver.NotFound)
	expect("a process of what is destroyed", q.Run(ctx, r), driver.NotReady)
	check(t, c.Close())
	expect("a closed client", c.Close(), driver.ExclusiveAccess)
	if s := d.Status(); s.Programs != 0 || s.Processes != 0 || s.Client != 0 {
		t.Errorf("status %+v", s)
	}
}

// A container that was changed is refused, as is one for another chip, and what is none.
func TestRefusedPrograms(t *testing.T) {
	c := driver.New(target(t, "virtual")).NewClient(driver.AllowAll)
	good := linear(t, 8, 2, 1)
	p, err := c.CreateProgram(good, driver.ProgramOptions{})
	check(t, err)
	signature := p.Signature()
	_, err = c.CreateProgram(good, driver.ProgramOptions{Signature: signature})
	check(t, err)
	bad := bytes.Clone(good)
	bad[len(bad)-1] ^= 1
	if _, err = c.CreateProgram(bad, driver.ProgramOptions{Signature: signature}); !errors.Is(err, driver.NotPrivileged) {
		t.Errorf("another container with this signature: %v", err)
	}
	if _, err = c.CreateProgram(good[:100], driver.ProgramOptions{}); !errors.Is(err, driver.BadArgument) {
		t.Errorf("a piece of a container: %v", err)
	}
	other := driver.New(target(t, "h13")).NewClient(driver.AllowAll)
	if _, err = other.CreateProgram(good, driver.ProgramOptions{}); !errors.Is(err, driver.Unsupported) {
		t.Errorf("a container for another chip: %v", err)
	}
}

// H13 has so many slots, and says so; what is given back is used again.
func TestSlots(t *testing.T) {
	row := *target(t, "virtual")
	row.Driver.Programs, row.Driver.Processes = 3, 5
	c := driver.New(&row).NewClient(driver.AllowAll)
	ctx := patience(t)
	var programs []*driver.Program
	for range 3 {
		p, err := c.CreateProgram(linear(t, 8, 2, 1), driver.ProgramOptions{})
		check(t, err)
		_, err = p.Prepare(ctx)
		check(t, err)
		programs = append(programs, p)
	}
	p, err := c.CreateProgram(linear(t, 8, 2, 1), driver.ProgramOptions{})
	check(t, err)
	if _, err := p.Prepare(ctx); !errors.Is(err, driver.NoResources) {
		t.Errorf("a fourth program: %v", err)
	}
	for range 2 {
		_, err := programs[0].NewInstance()
		check(t, err)
	}
	if _, err := programs[0].NewInstance(); !errors.Is(err, driver.NoResources) {
		t.Errorf("a sixth process: %v", err)
	}
	check(t, programs[1].Destroy())
	_, err = p.Prepare(ctx)
	check(t, err)
	if p.Slot() != 1 {
		t.Errorf("the program is in slot %d", p.Slot())
	}
}

// What the engine computes does not depend on where the image is: programs of H13 with all their addresses moved give the same bits.
func TestImage(t *testing.T) {
	t.Run("ours", func(t *testing.T) { testImages(t, "../../hwx/testdata/*.hwx", 4) })
	t.Run("Apple's", func(t *testing.T) { testImages(t, filepath.Join(testkit.Shared(t, "hwx"), "*.hwx"), 10) })
}

func testImages(t *testing.T, pattern string, least int) {
	paths, err := filepath.Glob(pattern)
	check(t, err)
	chip := target(t, "h13")
	c := driver.New(chip).NewClient(driver.AllowAll)
	ran := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		check(t, err)
		file, err := hwx.NewFile(data)
		check(t, err)
		plain, err := engine.Load(file, chip.Numerics)
		if err != nil {
			continue // it is the engine's business to say why
		}
		p, err := c.CreateProgram(data, driver.ProgramOptions{})
		check(t, err)
		q, err := p.Prepare(context.Background())
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		there := plain.NewContext()
		r := &driver.Request{Priority: driver.ByQoS, QoS: driver.Default}
		var outputs []*driver.Surface
		var at []int
		for side, list := range [][]engine.Port{p.Procedures()[0].Inputs, p.Procedures()[0].Outputs} {
			for symbol, port := range list {
				s, err := c.NewSurface(port.Bytes())
				check(t, err)
				if side == 0 {
					for i := range s.Bytes() {
						s.Bytes()[i] = byte(i*7+symbol) & 0x3b // no infinity and no NaN
					}
					surface, err := there.Surface(port.Name)
					check(t, err)
					copy(surface, s.Bytes())
					r.Inputs = append(r.Inputs, driver.Buffer{Surface: s, Symbol: symbol})
				} else {
					r.Outputs = append(r.Outputs, driver.Buffer{Surface: s, Symbol: symbol})
					outputs = append(outputs, s)
				}
			}
		}
		for i, port := range plain.Ports() {
			if port.Direction != engine.Input {
				at = append(at, i)
			}
		}
		check(t, plain.RunAll(context.Background(), there))
		check(t, q.Run(context.Background(), r))
		for i, s := range outputs {
			want, err := there.SurfaceAt(at[i])
			check(t, err)
			if !bytes.Equal(s.Bytes(), want[:len(s.Bytes())]) {
				t.Errorf("%s: output %d differs", filepath.Base(path), i)
			}
		}
		if base := p.Image().Segments[0].Address; base >= 0x3000_0000 {
			t.Errorf("%s: the image is at %#x", path, base)
		}
		check(t, p.Destroy())
		ran++
	}
	if ran < least {
		t.Errorf("%d programs ran", ran)
	}
}
