package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Every class, on more than one tile and several threads, gives the same bits
// with its result over a source: in place where the row of the class says so and
// both lie in the same way, else with a buffer between.
func TestAliasClasses(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	inPlace := make(map[td.Class]bool)
	benches := largeBenches(t)
	for _, params := range []td.Params{ // lines along other axes than those
		&td.Softmax{Axis: td.AxisC}, &td.Softmax{Axis: td.AxisH}, &td.LayerNorm{Axes: td.AxesOf(td.AxisW)}, &td.L2Norm{Axes: td.AxesOf(td.AxisC)},
	} {
		o := operand256(tensor.Float16, 1, 1, 9, 30, 40)
		benches = append(benches, newBench(t, rand.New(rand.NewPCG(3, 4)), &td.Op{Params: params, Operands: []td.Operand{o, o}}))
	}
	for _, b := range benches {
		for i := b.op.Results(); i < len(b.op.Operands); i++ {
			x, y := &b.op.Operands[i], &b.op.Operands[0]
			if !x.Present() {
				continue
			}
			if i == b.op.Results() {
				b.aliased(t, i, "")
			}
			if x.Dims == y.Dims && x.Type.Size() == y.Type.Size() {
				x.Offset, x.Strides, x.Interleave = y.Offset, y.Strides, y.Interleave
				b.memories[i] = bytes.Clone(b.memories[0])
				if x.Type != y.Type {
					b.fill(i, func(at [td.NumAxes]int) float64 { return float64(at[4]%5 + at[3]%3 - at[2]%4) })
				}
				if !b.op.InPlace(i) {
					b.aliased(t, i, "copy")
					continue
				}
				b.aliased(t, i, "in place")
				inPlace[b.op.Class()] = true
			}
		}
		epilogueOver(t, b)
	}
	for _, c := range []td.Class{td.ClassElementWise, td.ClassScaledElementWise, td.ClassNEBypass, td.ClassSoftmax,
		td.ClassLayerNormalization, td.ClassInstanceNormalization, td.ClassL2Normalization, td.ClassMinMaxNormalization, td.ClassRingBufferWriter} {
		if !inPlace[c] {
			t.Errorf("%v did not run in place", c)
		}
	}
}

// epilogueOver lets the result lie over an operand that the epilogue adds.
func epilogueOver(t *testing.T, b *bench) {
	t.Helper()
	op := *b.op
	n := op.Results() + op.Sources()
	if n >= 8 || op.Results() > 1 {
		return
	}
	added := *b
	added.op, added.memories = &op, append([][]byte(nil), b.memories...)
	op.Operands = append([]td.Operand(nil), op.Operands...)
	for len(op.Operands) < n {
		op.Operands, added.memories = append(op.Operands, td.Operand{}), append(added.memories, nil)
	}
	y := op.Operands[0]
	y.Base = n
	op.Operands, added.memories = append(op.Operands[:n], y), append(added.memories[:n], bytes.Clone(b.memories[0]))
	op.Epilogue = append([]td.MicroOp(nil), op.Epilogue...)
	op.Epilogue = append(op.Epilogue, td.MicroOp{Code: td.MicroEW, Function: uint8(td.EWAdd), Source: td.FromOperand(n)})
	if _, err := added.program(); err != nil {
		return // a class without an epilogue
	}
	added.aliased(t, n, "in place")
}

// aliased compares the result in memory of its own with that in memory of source
// i, made in the given way, if there is one.
func (b *bench) aliased(t *testing.T, i int, way string) {
	t.Helper()
	p, err := b.program()
	if err != nil {
		t.Fatalf("%v: %v", b.op.Class(), err)
	}
	var own, shared [][]byte
	all := make([]byte, max(len(b.memories[0]), len(b.memories[i])))
	for k, m := range b.memories {
		port := Port{Name: fmt.Sprint("port", k), memory: k, bytes: len(m)}
		if k < b.op.Results() {
			port.Direction = Output
		}
		p.ports = append(p.ports, port)
		own, shared = append(own, bytes.Clone(m)), append(shared, bytes.Clone(m))
	}
	copy(all, b.memories[i])
	shared[0], shared[i] = all[:len(shared[0])], all[:len(shared[i])]
	for _, surfaces := range [][][]byte{own, shared} {
		c := p.NewContext()
		if err := c.BindAll(surfaces); err != nil {
			t.Fatal(err)
		}
		if err := p.RunAll(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		if copied := c.between[i] != nil; way != "" && &surfaces[0] == &shared[0] && copied != (way == "copy") {
			t.Errorf("%v: source %d is copied: %t", b.op.Class(), i, copied)
		}
	}
	for k := range b.op.Results() {
		o, err := p.placeOperand(&b.op.Operands[k])
		if err != nil {
			t.Fatal(err)
		}
		o.region.eachRun(func(at, n int) bool {
			same := bytes.Equal(own[k][at:at+n], shared[k][at:at+n])
			if !same {
				t.Errorf("%v: result %d over source %d has other bits at byte %d", b.op.Class(), k, i, at)
			}
			return same
		})
	}
}

// Ports of the programs of TestAliasTasks: 16 halves each, inputs x and w, outputs
// y and z, states s and u, and scratch.
const (
	aliasX = iota
	aliasW
	aliasY
	aliasZ
	aliasS
	aliasU
	aliasScratch
)

var aliasNames = []string{"x", "w", "y", "z", "s", "u"}

const aliasBytes = 32

// part is n halves of a memory from the first on, step halves apart.
func part(memory, first, n, step int) td.Operand {
	o := td.Dense(memory, int64(2*first), tensor.Float16, [td.NumAxes]int{1, 1, 1, 1, n})
	o.Strides[td.AxisW] = int64(2 * step)
	return o
}

func whole(memory int) td.Operand { return part(memory, 0, 16, 1) }

func moving(to, from td.Operand) *td.Op {
	return &td.Op{Params: &td.Copy{}, Operands: []td.Operand{to, from}, Epilogue: []td.MicroOp{{Code: td.MicroScaleBias, A: 2, B: 1}}}
}

// aliasProgram binds operations on the ports.
func aliasProgram(t *testing.T, ops ...*td.Op) *Program {
	t.Helper()
	p := &Program{bases: new([256]uint64), numerics: benchNumerics}
	for i := range aliasScratch + 1 {
		kind := []memoryKind{input, input, output, output, state, state, scratch}[i]
		p.bases[i] = uint64(i+1) << 32
		p.memories = append(p.memories, memory{kind: kind, addr: p.bases[i], size: aliasBytes})
		if kind.port() {
			p.ports = append(p.ports, Port{Name: aliasNames[i], Direction: Direction(i / 2), memory: i, bytes: aliasBytes})
		}
	}
	for _, op := range ops {
		task, err := op.Task(td.V256)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.bind(t.Context(), []td.Placed{{Task: task}}); err != nil {
			t.Fatal(err)
		}
	}
	p.pack(t.Context())
	return p
}

// The order of tasks, and the regions that they touch, say what may share memory.
func TestAliasTasks(t *testing.T) {
	backwards := part(aliasX, 15, 16, -1)
	for _, test := range []struct {
		name  string
		ops   []*td.Op
		ports [2]int
		shift int    // bytes, of the second after the first
		want  string // "in place", "copy" or "refused"
	}{
		{"each element", []*td.Op{moving(whole(aliasY), whole(aliasX))}, [2]int{aliasX, aliasY}, 0, "in place"},
		{"the next element", []*td.Op{moving(whole(aliasY), whole(aliasX))}, [2]int{aliasX, aliasY}, 2, "copy"},
		{"the one before", []*td.Op{moving(whole(aliasY), whole(aliasX))}, [2]int{aliasX, aliasY}, -2, "copy"},
		{"side by side", []*td.Op{moving(whole(aliasY), whole(aliasX))}, [2]int{aliasX, aliasY}, aliasBytes, "in place"},
		{"backwards", []*td.Op{moving(whole(aliasY), backwards)}, [2]int{aliasX, aliasY}, 0, "copy"},
		{"through scratch", []*td.Op{moving(whole(aliasScratch), backwards), moving(whole(aliasY), whole(aliasScratch))}, [2]int{aliasX, aliasY}, 0, "in place"},
		{"written, then read", []*td.Op{moving(whole(aliasY), whole(aliasX)), moving(whole(aliasZ), whole(aliasX))}, [2]int{aliasX, aliasY}, 0, "copy"},
		{"read, then written", []*td.Op{moving(whole(aliasY), whole(aliasX)), moving(whole(aliasZ), whole(aliasX))}, [2]int{aliasX, aliasZ}, 0, "in place"},
		{"halves, one after the other", []*td.Op{
			moving(part(aliasY, 0, 8, 1), part(aliasX, 0, 8, 1)), moving(part(aliasY, 8, 8, 1), part(aliasX, 8, 8, 1)),
		}, [2]int{aliasX, aliasY}, 0, "in place"},
		{"halves, exchanged", []*td.Op{
			moving(part(aliasY, 8, 8, 1), part(aliasX, 0, 8, 1)), moving(part(aliasY, 0, 8, 1), part(aliasX, 8, 8, 1)),
		}, [2]int{aliasX, aliasY}, 0, "copy"},
		{"what is written is not read", []*td.Op{moving(part(aliasY, 0, 8, 2), part(aliasX, 0, 8, 1))}, [2]int{aliasX, aliasY}, 16, "in place"},
		{"between the elements", []*td.Op{moving(part(aliasY, 0, 8, 2), part(aliasX, 0, 8, 2))}, [2]int{aliasX, aliasY}, 2, "in place"},
		{"two inputs", []*td.Op{moving(whole(aliasY), whole(aliasX)), moving(whole(aliasZ), whole(aliasW))}, [2]int{aliasX, aliasW}, 4, "in place"},
		{"two outputs", []*td.Op{moving(whole(aliasY), whole(aliasX)), moving(whole(aliasZ), whole(aliasX))}, [2]int{aliasY, aliasZ}, 4, "refused"},
		{"two outputs, one in the gaps", []*td.Op{
			moving(part(aliasY, 0, 8, 2), part(aliasX, 0, 8, 1)), moving(part(aliasZ, 0, 8, 2), part(aliasX, 0, 8, 1)),
		}, [2]int{aliasY, aliasZ}, 2, "in place"},
		{"a state that is written after", []*td.Op{moving(whole(aliasY), whole(aliasX)), moving(whole(aliasS), whole(aliasY))}, [2]int{aliasX, aliasS}, 0, "in place"},
		{"a state that is written before", []*td.Op{moving(whole(aliasS), whole(aliasW)), moving(whole(aliasY), whole(aliasX))}, [2]int{aliasX, aliasS}, 0, "copy"},
		{"a state that is read", []*td.Op{moving(whole(aliasY), whole(aliasS))}, [2]int{aliasX, aliasS}, 0, "in place"},
		{"a state and an output", []*td.Op{moving(whole(aliasY), whole(aliasS))}, [2]int{aliasY, aliasS}, 0, "refused"},
		{"a state and the end of an output", []*td.Op{moving(whole(aliasY), whole(aliasS))}, [2]int{aliasY, aliasS}, aliasBytes - 2, "refused"},
		{"two states", []*td.Op{moving(whole(aliasY), whole(aliasS)), moving(whole(aliasU), whole(aliasX))}, [2]int{aliasS, aliasU}, 0, "refused"},
		{"two states that are read", []*td.Op{moving(whole(aliasY), whole(aliasS)), moving(whole(aliasZ), whole(aliasU))}, [2]int{aliasS, aliasU}, 2, "in place"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := aliasProgram(t, test.ops...)
			shared, own := make([][]byte, len(p.ports)), make([][]byte, len(p.ports))
			all := make([]byte, 3*aliasBytes)
			shared[test.ports[0]] = all[aliasBytes:][:aliasBytes]
			shared[test.ports[1]] = all[aliasBytes+test.shift:][:aliasBytes]
			for i := range shared {
				if shared[i] == nil {
					shared[i] = make([]byte, aliasBytes)
				}
				for k := range shared[i] {
					shared[i][k] = byte(7*i + 5*k)
				}
			}
			for i := range own {
				own[i] = bytes.Clone(shared[i])
			}
			c := p.NewContext()
			if err := c.BindAll(own); err != nil {
				t.Fatal(err)
			}
			if err := p.RunAll(context.Background(), c); err != nil {
				t.Fatal(err)
			}
			err := c.BindAll(shared)
			got := "in place"
			var overlap *OverlapError
			switch {
			case errors.As(err, &overlap):
				got = "refused"
				for _, i := range test.ports {
					if !strings.Contains(err.Error(), fmt.Sprintf("%v %q", p.ports[i].Direction, aliasNames[i])) {
						t.Errorf("%q does not name %s", err, aliasNames[i])
					}
				}
			case err != nil:
				t.Fatal(err)
			case c.between[test.ports[0]] != nil:
				got = "copy"
			}
			if got != test.want {
				t.Fatalf("%s, want %s", got, test.want)
			}
			if got == "refused" {
				for i := range own {
					if surface, _ := c.SurfaceAt(i); &surface[0] != &own[i][0] {
						t.Errorf("%s has other memory after the refusal", aliasNames[i])
					}
				}
				return
			}
			ctx := context.Background()
			if err := p.RunAll(ctx, c); err != nil {
				t.Fatal(err)
			}
			for i, port := range p.ports {
				written := coverage{}
				for _, a := range p.memories[i].accesses {
					if a.writes {
						written.add(&a.region)
					}
				}
				for k := range aliasBytes {
					one := newRegion(k, 1, nil, nil)
					if _, is := written.common(&one); is && own[i][k] != shared[i][k] {
						t.Fatalf("byte %d of %s is %d, want %d", k, port.Name, shared[i][k], own[i][k])
					}
				}
			}
			if n := testkit.Allocs(10, func() {
				if c.BindAll(shared) != nil || p.RunAll(ctx, c) != nil {
					t.Error("it fails when it runs again")
				}
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// A port that is copied is what the caller bound, for all that the caller does.
func TestAliasSurfaces(t *testing.T) {
	p := aliasProgram(t, moving(whole(aliasY), part(aliasX, 15, 16, -1)), moving(whole(aliasZ), whole(aliasW)))
	c := p.NewContext()
	surface, err := c.Surface("x") // made by the context
	if err == nil {
		err = c.Bind("y", surface)
	}
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Surface("x"); err != nil || &again[0] != &surface[0] || c.between[aliasX] == nil {
		t.Errorf("x has other memory than before, or there is no copy: %v", err)
	}
	for i := range surface {
		surface[i] = byte(i)
	}
	if err := p.RunAll(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	want := tensor.ToF16(2*tensor.F16(0x1f1e) + 1)
	if got := uint16(surface[0]) | uint16(surface[1])<<8; got != want {
		t.Errorf("y begins with %#x, want %#x", got, want)
	}
	// With memory of its own, there is no copy any more.
	if err := c.Bind("y", make([]byte, aliasBytes)); err != nil || c.between[aliasX] != nil || &c.memories[aliasX][0] != &surface[0] {
		t.Errorf("x is still copied: %v", err)
	}
	if err := c.BindAll(nil); err == nil {
		t.Error("memory for no port is bound")
	}
}
