package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
)

func own(t testing.TB, name string) *writtenProgram {
	t.Helper()
	for i := range writtenPrograms {
		if writtenPrograms[i].name == name {
			return &writtenPrograms[i]
		}
	}
	t.Fatalf("no program %q", name)
	return nil
}

// TestRefusals changes one field of a program that is right and sees it refused
// by the name of that field, or of the one that it contradicts.
func TestRefusals(t *testing.T) {
	const (
		relu    = "relu"
		sub     = "subtract a batch"
		linear  = "identity linear layer"
		conv    = "convolution 3x3 with bias"
		skip    = "zero-skipping convolution with stride 2"
		table   = "leaky ReLU by table"
		matmul  = "matrix product in two tasks"
		runtime = "matrix product of two inputs"
		chain   = "chain on chip"
		gain    = "gain and channel maximum"
	)
	for _, test := range []struct {
		what    string
		program string
		task    int
		field   *td.Field
		value   int
		blamed  *td.Field // nil: field itself
		msg     string
	}{
		// Forms that are not known.
		{"pooling", relu, 0, td.V7TaskType, 1, nil, "pool"},
		{"task type 7", relu, 0, td.V7TaskType, 7, nil, "type"},
		{"task type 8", relu, 0, td.V7TaskType, 8, nil, "pool"},
		{"a skipped task", relu, 0, td.V7Skip, 1, nil, "skipped"},
		{"operation 1 of the array", relu, 0, td.V7NEOperation, 1, nil, ""},
		{"operation 5 of the array", relu, 0, td.V7NEOperation, 5, nil, ""},
		{"a third non-linear function", relu, 0, td.V7NENonLinear, 3, nil, ""},
		{"no kernel format", linear, 0, td.V7NEKernelFormat, 0, nil, "fp16"},
		{"palettised kernels", linear, 0, td.V7NEPalette, 1, nil, "palettised"},
		{"kernel reuse", linear, 0, td.V7NEGroupReuse, 1, nil, "reuse"},
		{"kernel reuse of the DMA", linear, 0, td.V7KernelReuse, 1, nil, "reuse"},
		{"a stream of biases", linear, 0, td.V7KernelExtra[0].Config.Enable, 1, nil, "stream"},
		{"a second kernel base", linear, 0, td.V7KernelBaseEnable[1], 1, nil, "second base"},
		{"matrix bias", linear, 0, td.V7NEMatrixBias, 1, nil, ""},
		{"vector bias", linear, 0, td.V7NEVectorBias, 1, nil, ""},
		{"post-scale mode", linear, 0, td.V7NEPostScaleMode, 1, nil, ""},
		{"accumulator bias in a bypass", relu, 0, td.V7NEAccumulatorBias, 0x3c00, nil, "sums"},
		{"right shift", linear, 0, td.V7NERightShift, 1, nil, ""},
		{"post scale with a bias", conv, 0, td.V7NEPostScale, 0x4000, nil, "order"},
		{"bytes from the array", relu, 0, td.V7FmtO, 0, nil, "fp16"},
		{"bytes into a convolution", linear, 0, td.V7Fmt1, 0, nil, "fp16"},
		{"bytes out of a clamp", relu, 0, td.V7FmtO, 0, nil, "table"},
		{"signed bytes", runtime, 0, td.V7Fmt1, 1, nil, "bytes"},
		{"element multiply", relu, 0, td.V7ElementMultiply, 1, nil, ""},
		{"3-D kernels", conv, 0, td.V7Kernel3D, 0x2042, nil, "depth"},
		{"depth", relu, 0, td.V7Din, 2, nil, "depth"},
		{"Ox", relu, 0, td.V7Ox, 2, nil, ""},
		{"context switch", relu, 0, td.V7ContextIn, 1, nil, ""},
		{"result type 3", relu, 0, td.V7ResultConfig.Type, 3, nil, ""},
		{"source type 3", relu, 0, td.V7SourceConfig.Type, 3, nil, ""},
		{"compressed source", relu, 0, td.V7SourceConfig.CmpVec, 1, nil, "compressed"},
		{"compressed source in memory", relu, 0, td.V7Src1Format.CmpVec, 1, nil, ""},
		{"compressed result", relu, 0, td.V7ResultConfig.CmpVec, 1, nil, "compressed"},
		{"compressed result in memory", relu, 0, td.V7DstFormat.CmpVec, 1, nil, ""},
		{"channel offset of the source", relu, 0, td.V7SourceConfig.OffsetChannel, 1, nil, ""},
		{"channel offset in memory", relu, 0, td.V7Src1Format.OffsetChannel, 1, nil, ""},
		{"another memory format", relu, 0, td.V7Src1Format.Memory, 1, nil, "fp16"},
		{"a pixel offset", relu, 0, td.V7PixelOffset[2], 64, nil, ""},
		{"padding mode 2", relu, 0, td.V7PadMode, 2, nil, ""},
		{"broadcast in the array", relu, 0, td.V7Broadcast1C, 1, nil, "planar"},
		{"planar transpose in the array", relu, 0, td.V7TransposePlanar, 1, nil, "planar"},
		{"window without weights", relu, 0, td.V7KernelWidth, 3, nil, "window"},
		{"condition", sub, 0, td.V7PECondition, 2, nil, ""},
		{"operator 5", sub, 0, td.V7PEOperator, 5, nil, ""},
		{"a final function without reduction", sub, 0, td.V7PEFinal, 2, nil, "reduction"},
		{"epsilon without reduction", sub, 0, td.V7PEEpsilon, 1, nil, "reduction"},
		{"sign of source 2", sub, 0, td.V7PESource2Sign, 1, nil, ""},
		{"array's transpose in a planar task", sub, 0, td.V7TransposeArray, 1, nil, ""},
		{"planar task with a table", sub, 0, td.V7NENonLinear, 2, nil, "array"},
		{"average", chain, 3, td.V7PEReduction, 1, nil, ""},
		{"minimum of a plane", chain, 3, td.V7PEReduction, 3, nil, ""},
		{"ReLU of a reduction", chain, 3, td.V7PEReLU, 1, nil, ""},
		{"final function 3", chain, 3, td.V7PEFinal, 3, nil, ""},
		{"scale of a gain", gain, 1, td.V7PEScale, 0x4000, nil, "order"},

		// Contradictions.
		{"source 2 by DMA, but not streamed", sub, 0, td.V7Source2Streamed, 0, nil, "base"},
		{"source 2 without base", sub, 0, td.V7Read1Enable, 0, td.V7Source2DMA, "base"},
		{"source without base", relu, 0, td.V7Read0Enable, 0, nil, "base"},
		{"source DMA off", relu, 0, td.V7Src1Config.Enable, 0, nil, "DMA"},
		{"result without base", relu, 0, td.V7WriteEnable, 0, nil, "base"},
		{"two interleaves", relu, 0, td.V7DstFormat.Interleave, 2, nil, "says 1"},
		{"kernel without base", linear, 0, td.V7KernelBaseEnable[0], 0, nil, "base"},
		{"no kernel", linear, 0, td.V7KernelEnable, 0, nil, "needs"},
		{"zero-skipping in one register", skip, 0, td.V7KernelZeroSkip, 0, td.V7NEZeroSkip, "otherwise"},
		{"table without kernel", relu, 0, td.V7NENonLinear, 2, td.V7KernelEnable, "needs"},

		// Sizes.
		{"no width", relu, 0, td.V7Win, 0, nil, "1 or more"},
		{"no groups", relu, 0, td.V7Groups, 0, nil, "1 or more"},
		{"no stride", conv, 0, td.V7StrideX, 0, nil, "1 or more"},
		{"no kernel height", conv, 0, td.V7KernelHeight, 0, nil, "1 or more"},
		{"more outputs than inputs in a bypass", relu, 0, td.V7Cout, 4, td.V7UnicastInputs, ""},
		{"fewer outputs in a bypass", relu, 0, td.V7Cout, 2, td.V7UnicastInputs, ""},
		{"unicast past the source", gain, 2, td.V7UnicastInputs, 3, nil, "source has 6"},
		{"planar sizes differ", sub, 0, td.V7Hout, 2, nil, "one size"},
		{"windows right of the image", conv, 0, td.V7Wout, 9, nil, "outside"},
		{"windows above the image", conv, 0, td.V7PadTop, 3, td.V7Hout, "outside"},

		// Addresses.
		{"source past its port", relu, 0, td.V7Src1.Base, 0x4000, nil, "outside"},
		{"source before its port", relu, 0, td.V7Src1.Base, -64, nil, "outside"},
		{"rows past the port", relu, 0, td.V7Src1.Row, 0x1000, td.V7Src1.Base, "outside"},
		{"negative rows", relu, 0, td.V7Src1.Row, -64, td.V7Src1.Base, "outside"},
		{"result past its port", relu, 0, td.V7Dst.Plane, 0x2000, td.V7Dst.Base, "outside"},
		{"overlapping planes of the result", relu, 0, td.V7Dst.Plane, 0x40, td.V7Dst.Base, "overlap each other"},
		{"all rows of the result in one place", relu, 0, td.V7Dst.Row, 0, td.V7Dst.Base, "overlap each other"},
		{"result in an input port", relu, 0, td.V7WriteBase, portA, nil, "input port"},
		{"result in the constants", relu, 0, td.V7WriteBase, hwx.BaseConst, nil, "constants"},
		{"result in the text", relu, 0, td.V7WriteBase, hwx.BaseText, nil, "text"},
		{"source in the text", relu, 0, td.V7Read0Base, hwx.BaseText, td.V7Src1.Base, "text"},
		{"an empty base address", relu, 0, td.V7Read0Base, 2, nil, "no memory"},
		{"output port read before it is written", relu, 0, td.V7Read0Base, portB, td.V7Src1.Base, "no task has written"},
		{"on-chip result past the end", chain, 0, td.V7L2Result.Base, 0x1fffc0, nil, "outside"},
		{"on-chip result in one place", chain, 0, td.V7L2Result.Channel, 0, td.V7L2Result.Base, "overlap each other"},
		{"on-chip result over the kept source", chain, 0, td.V7L2Result.Base, 0x20, nil, "kept"},
		{"on-chip result over a source", chain, 2, td.V7L2Result.Base, 0x310, nil, "lies differently"},
		{"on-chip memory never written", chain, 1, td.V7L2Src2.Base, 0x1000, nil, "no task has written"},
		{"on-chip memory partly written", chain, 1, td.V7L2Src2.Row, 0x50, td.V7L2Src2.Base, "no task has written"},
		{"a source that was not kept", chain, 0, td.V7SourceConfig.Type, 2, td.V7L2Src2.Base, "no task has written"},
		{"scratch never written", runtime, 1, td.V7KernelChannel[2].Offset, 0x200, nil, "no task has written"},
		{"kernel past the constants", linear, 0, td.V7KernelChannel[15].Offset, 0x2000, nil, "outside"},
		{"kernel too short", linear, 0, td.V7KernelChannel[3].Size, 0x1c0, nil, "0x200"},
		{"engine without kernel", linear, 0, td.V7KernelChannel[3].Config.Enable, 0, nil, "no kernel stream"},
		{"too many engines", linear, 0, td.V7EnginesLog2, 5, td.V7KernelEnable, "engines"},
		{"kernels in the text", linear, 0, td.V7KernelBase[0], hwx.BaseText, nil, "text"},
		{"table too short", table, 0, td.V7KernelChannel[0].Size, 0x40, nil, "0x80"},
		{"first task missing", matmul, 1, td.V7L2Src1.Base, 0x2000, nil, "no task has written"},
	} {
		t.Run(test.what, func(t *testing.T) {
			b := newBuilder(t)
			own(t, test.program).build(b)
			b.tasks[test.task].set(test.field, test.value)
			_, err := engine.Load(b.file(), plain)
			var e *engine.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an error about %s", err, test.field)
			}
			blamed := test.blamed
			if blamed == nil {
				blamed = test.field
			}
			if e.Field != blamed || !strings.Contains(e.Msg, test.msg) || e.Task < 0 {
				t.Errorf("got: %v\nwant an error about %s with %q", err, blamed, test.msg)
			}
		})
	}
}

// TestBadPrograms damages what is not a field of a task.
func TestBadPrograms(t *testing.T) {
	thread := func(f *hwx.File) *hwx.ProgramThread {
		p, err := f.Program()
		if err != nil {
			t.Fatal(err)
		}
		return p.Thread
	}
	for _, test := range []struct {
		what   string
		change func(b *builder)
		damage func(f *hwx.File)
		msg    string
	}{
		{what: "a task list that loops", damage: func(f *hwx.File) {
			f.Text().Data[0x200+4*7+1] = 0x02 // the second task, at 0x200, is its own successor
		}, msg: "comes back"},
		{what: "a list that leaves the text", damage: func(f *hwx.File) { f.Text().Data[4*7+2] = 1 }, msg: "not in the text"},
		{what: "a list shorter than said", damage: func(f *hwx.File) { thread(f).Tasks = 5 }, msg: "5"},
		{what: "no target", damage: func(f *hwx.File) { f.Header.CPUSubtype = 77 }, msg: "subtype"},
		{what: "an unknown register", change: func(b *builder) {
			b.tasks[1].Records = append(b.tasks[1].Records, td.Record{Addr: 0x40000, Words: []uint32{1}})
		}, msg: "register 0x40000 = 0x1"},
		{what: "an unknown bit", change: func(b *builder) {
			w, _ := b.tasks[1].Word(0x8800)
			if err := b.tasks[1].SetWord(0x8800, w|1<<31); err != nil {
				t.Fatal(err)
			}
		}, msg: "register 0x8800"},
	} {
		t.Run(test.what, func(t *testing.T) {
			b := newBuilder(t)
			own(t, "chain on chip").build(b)
			if test.change != nil {
				test.change(b)
			}
			f := b.file()
			if test.damage != nil {
				test.damage(f)
			}
			_, err := engine.Load(f, plain)
			if err == nil || !strings.Contains(err.Error(), test.msg) {
				t.Errorf("got %v, want an error with %q", err, test.msg)
			}
		})
	}
}

// TestUnknownTable refuses a table of a form that nobody knows.
func TestUnknownTable(t *testing.T) {
	b := newBuilder(t)
	own(t, "leaky ReLU by table").build(b)
	b.constants.Data[2*42] = 0x0e
	_, err := engine.Load(b.file(), plain)
	var e *engine.Error
	if !errors.As(err, &e) || e.Field != td.V7NENonLinear || !strings.Contains(e.Msg, "0xe") {
		t.Errorf("got %v", err)
	}
}

// TestEveryField puts extreme values into every field of programs that are
// right: whatever loads must run.
func TestEveryField(t *testing.T) {
	loaded, refused := 0, 0
	for _, o := range writtenPrograms {
		b := newBuilder(t)
		o.build(b)
		for _, task := range b.tasks {
			for _, block := range td.LayoutOf(td.V7).Blocks {
				for _, f := range block.Fields {
					before, ok := task.Get(f)
					if !ok || f.Confidence == td.Named || isLink(f) || isLateChannel(f) {
						continue
					}
					for _, v := range []uint32{0, f.Of(1 << f.Lo), f.Of(1 << (f.Lo + f.Width - 1)), f.Of(f.Mask())} {
						if v == before {
							continue
						}
						if err := task.Set(f, v); err != nil {
							t.Fatal(err)
						}
						if runs(t, b.file()) {
							loaded++
						} else {
							refused++
						}
					}
					if err := task.Set(f, before); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	t.Logf("%d changes run, %d are refused", loaded, refused)
}

// isLink reports the fields that the builder sets, and the one that makes the
// header longer.
func isLink(f *td.Field) bool {
	return f == td.V7NextOffset || f == td.V7NextWords || f == td.V7ExtraWord
}

// isLateChannel reports kernel channels that are like the first two.
func isLateChannel(f *td.Field) bool {
	for _, c := range td.V7KernelChannel[2:] {
		if f == c.Config.Enable || f == c.Offset || f == c.Size {
			return true
		}
	}
	return false
}

// runs loads a container, and runs it for a while if it needs little memory.
func runs(t testing.TB, f *hwx.File) bool {
	t.Helper()
	numerics := h13(t)
	if f.Header.CPUSubtype == virtualSubtype(t) {
		numerics = plain
	}
	p, err := engine.Load(f, numerics)
	if err != nil {
		return false
	}
	if p.DispatchBytes() < 8<<20 {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		if err := p.RunAll(ctx, p.NewContext()); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
	}
	return true
}

func virtualSubtype(t testing.TB) uint32 {
	t.Helper()
	target, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	return target.CPUSubtype
}

// FuzzLoad changes words of programs that are right: each six bytes of changes
// are the place of a word in the text, and what to put there.
func FuzzLoad(f *testing.F) {
	var programs [][]byte
	for _, o := range writtenPrograms {
		b := newBuilder(f)
		o.build(b)
		programs = append(programs, b.bytes())
	}
	for _, file := range []*hwx.File{
		virtualFile(f, "virtual", td.V256, gainThenShift()...),
		virtualFile(f, "h13", td.V7, gainThenShift()...),
		virtualFile(f, "virtual", td.V256, longProduct(3)),
		ownFile(f, false, ones, append(derivedSum(), decodeOnce())...),
	} {
		data, err := file.Encode()
		if err != nil {
			f.Fatal(err)
		}
		programs = append(programs, data)
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(testkit.Root(f)), "shared", "hwx", "*.hwx"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && len(data) < 1<<16 {
			programs = append(programs, data)
		}
	}
	for i := range programs {
		f.Add(uint8(i), []byte{11, 0, 64, 0, 31, 244})
	}
	f.Fuzz(func(t *testing.T, program uint8, changes []byte) {
		data := bytes.Clone(programs[int(program)%len(programs)])
		file, err := hwx.NewFile(data)
		if err != nil {
			t.Fatal(err)
		}
		text := file.Text().Data
		for ; len(changes) >= 6; changes = changes[6:] {
			word := int(binary.LittleEndian.Uint16(changes)) % (len(text) / 4)
			copy(text[4*word:], changes[2:6])
		}
		runs(t, file)
	})
}

// TestKeptOverSource2 refuses a task that keeps its source where it reads
// another: which comes first is not known.
func TestKeptOverSource2(t *testing.T) {
	size := dims{3, 1, 8}
	for at, want := range map[int]string{0: "kept overlaps", 0x20: "kept overlaps", 0x30: ""} {
		b := newBuilder(t)
		b.port("x", hwx.In, 1, 3, 1, 8)
		b.port("y", hwx.Out, 1, 3, 1, 8)
		b.bypass(size, false).from(portA, portSurface(size)).toChip(chip{0, 16, 48})
		b.task(td.TypePlanarBinary, size, size, false).from(portA, portSurface(size)).
			keep(chip{at, 16, 48}).withChip(chip{0, 16, 48}).to(portB, portSurface(size))
		_, err := engine.Load(b.file(), plain)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("kept at %#x: got %v, want %q", at, err, want)
		}
	}
}
