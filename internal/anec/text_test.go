package anec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// everything has each form of line and slot once.
const everything = `graph "two words"
form 2020
input %x : fp16[1,1,4,8,8]x4
input %"y \"1\"" : fp16[1,1,4,8,8]
state %s : fp16[1,1,4,8,8] -> %t
const %w : fp16[4,1,4,1,1] {data = splat(-0.25), source = weights/weight.bin+64}
const %g : fp16[1,1,4,1,1] {data = [1, 2, -0, +Inf]}
const %nan : fp16[1,1,1,1,1] {data = hex(017e)}
const %big : uint64[1,1,1,1,1] {data = hex(ffffffffffffffff)}
const %p : fp16[8,1,4,1,1] {data = uint4[8,1,4,1,1]:splat(3), table = int8[2,1,1,1,1,4,1]:[1, 2, 3, 4, 5, 6, 7, 8], table_scale = fp16[2,1,1,1,1,1,1]:splat(0.5), vector = N}
const %q : fp16[8,1,4,1,1] {data = int8[8,1,4,1,1]:splat(-3), scale = fp16[8,1,2,1,1]:splat(0.5), offset = int8[8,1,2,1,1]:splat(1)}
const %sparse : fp32[1,1,1,1,8] {data = fp16[3]:[1, 2, 3], mask = uint1[1,1,1,1,8]:[0, 1, 0, 1, 0, 1, 0, 0]}
const %cast : fp32[1,1,1,1,2] {data = fp16[1,1,1,1,2]:splat(1)}
const %empty : fp16[1,1,1,1,0] {data = []}
%a = anec.convolution(%x, %w, _) | goc %g _ | post relu : fp16[1,1,4,8,8]x4 @conv from op_1 "op 2"
%b = anec.add(%a, %"y \"1\"") {output_type = int8} | pre prelu(0.5,0) : int8[1,1,4,8,8]
%c = anec.tanh(%x) | act swish(1,0) | scale 2 -1 | ew Mult #0 | ew Sub 3 swap | ew Add %a | cast fp32 | transpose NDHCW | quant int8 %nan _ : int8[1,1,8,4,8]
%d = anec.copy(%x) | texture anec.pixel_shuffle {x = 2, y = 2} : fp16[1,1,1,16,16]
%e = anec.reduce_mean(%x) {axes = HW} | broadcast [1,1,4,8,8] : fp16[1,1,4,8,8]
%v, %i = anec.top_k(%x) {k = 2, axis = W, results = Both} : fp16[1,1,4,8,2], int32[1,1,4,8,2]
%t = anec.alias(%s) : fp16[1,1,4,8,8] from "from" ""
output %b
output %b
output %w
`

func TestText(t *testing.T) {
	g, err := Parse(everything, nil)
	if err != nil {
		t.Fatal(err)
	}
	// A missing operand at the end may be written, and is not printed.
	text := strings.Replace(everything, "anec.convolution(%x, %w, _)", "anec.convolution(%x, %w)", 1)
	if got := Print(g); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	if c := g.Value("p").Const; c.Palette == nil || c.Palette.VectorAxis != N || c.Plain() || c.StoredBytes() != 16+8+4 {
		t.Errorf("palette: %+v", c)
	}
	if c := g.Value("w").Const; c.Source != (Source{"weights/weight.bin", 64}) || !c.Plain() {
		t.Errorf("constant: %+v", c)
	}
	if bits := tensor.Data[uint16](g.Value("nan").Const.Stored)[0]; bits != 0x7e01 {
		t.Errorf("NaN became %#x", bits)
	}
	if f, ok := g.Value("g").Const.Scalar(); ok {
		t.Errorf("four elements are the scalar %g", f)
	}
}

// Large constants stand outside the text.
func TestBlobs(t *testing.T) {
	g := New("g")
	values := make([]int64, 100)
	for i := range values {
		values[i] = int64(i)
	}
	c := ConstantOf(tensor.FromInt64s(tensor.UInt8, values, 1, 1, 1, 10, 10))
	v, err := g.AddConstant("w", c)
	if err != nil {
		t.Fatal(err)
	}
	g.AddOutput(v)
	text := Print(g)
	if want := LeftOut(c.Stored.Bytes()); !strings.Contains(text, "data = "+want) {
		t.Fatalf("no %s in\n%s", want, text)
	}
	if _, err := Parse(text, nil); err == nil || !strings.Contains(err.Error(), "line 2, column 32: data: the text leaves out the bytes") {
		t.Errorf("without the bytes: %v", err)
	}
	in := func(data []byte) string { return InFile("a file", 64, data) }
	text = PrintWith(g, in)
	files := map[string][]byte{"a file": append(make([]byte, 64), c.Stored.Bytes()...)}
	open := func(name string) ([]byte, error) {
		if files[name] == nil {
			return nil, fmt.Errorf("there is no %s", name)
		}
		return files[name], nil
	}
	back, err := Parse(text, open)
	if err != nil {
		t.Fatal(err)
	}
	if PrintWith(back, in) != text || !slices.Equal(back.Value("w").Const.Stored.Bytes(), c.Stored.Bytes()) {
		t.Errorf("got\n%s", Print(back))
	}
	files["a file"] = files["a file"][:163]
	if _, err := Parse(text, open); err == nil || !strings.Contains(err.Error(), "163 bytes, and 100 are wanted from byte 64 on") {
		t.Errorf("of a short file: %v", err)
	}
	if _, err := Parse(strings.Replace(text, "+64, 100", "+64, 99", 1), open); err == nil || !strings.Contains(err.Error(), "and 100, the bytes of uint8") {
		t.Errorf("of another length: %v", err)
	}
	delete(files, "a file")
	if _, err := Parse(text, open); err == nil || !strings.Contains(err.Error(), "there is no a file") {
		t.Errorf("without the file: %v", err)
	}
}

// Graphs may stand one after the other.
func TestSeveralGraphs(t *testing.T) {
	const one, two = "graph one\ninput %x : fp16[1,1,3,8,8]\n%y = anec.copy(%x) : fp16[1,1,3,8,8]\noutput %y\n", "graph two\ninput %x : fp16[1,1,3,8,9]\noutput %x\n"
	all, err := ParseAll("# both\n\n"+one+"# and\n"+two, nil)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d graphs, %v", len(all), err)
	}
	if got := Print(all[0].Graph) + Print(all[1].Graph); got != one+two {
		t.Errorf("got\n%s", got)
	}
	if all[0].Line != 3 || all[1].Line != 8 || all[0].Lines["y"] != 5 {
		t.Errorf("lines %d, %d and %v", all[0].Line, all[1].Line, all[0].Lines)
	}
	if _, err := Parse(one+two, nil); err == nil || !strings.Contains(err.Error(), "line 5, column 1: a second graph") {
		t.Errorf("as one: %v", err)
	}
	for text, want := range map[string]bool{one: true, "\ufeff# x\n \ngraph\n": true, "graphic": false, "input %x": false, "": false, "#": false, "graph": false} {
		if IsText([]byte(text)) != want {
			t.Errorf("%q is text: %v", text, !want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const head = "graph g\ninput %x : fp16[1,1,3,8,8]\n"
	for _, c := range []struct{ text, want string }{
		{"grph g", `line 1, column 1: a line begins with "grph"`},
		{head + "input %x : fp16[1,1,3,8,8]", `line 3, column 12: input "x": a value "x" is there already`},
		{head + "input %y : fp16[1,1,3,8]", "want 5 extents"},
		{head + "input %y : fp17[1,1,3,8,8]", "unknown element type"},
		{head + "input %y : string[1,1,3,8,8]", "none that a task can hold"},
		{head + "input %y : fp16[1,1,3,8,-8]", "not those of a tensor"},
		{head + "input %y : fp16[99999999,99999999,99999999,1,1]", "not those of a tensor"},
		{head + "input %y : fp16[1,1,3,8,8]x5", "interleave 5"},
		{head + "input %y : fp16[1,1,3,8,8] more", `"more" is left over`},
		{head + "output %z", `there is no value "z" above`},
		{head + "output _", "not there"},
		{head + "%y = anec.copie(%x) : fp16[1,1,3,8,8]", `line 3, column 6: there is no operation "anec.copie": is it "anec.copy"?`},
		{head + "%y = anec.copy(%z) : fp16[1,1,3,8,8]", `no value "z"`},
		{head + "%y = anec.copy(%x) : fp16[1,1,3,8,7]", "the rule says fp16[1,1,3,8,8]"},
		{head + "%y = anec.copy(%x", `line 3, column 18: want ",", found ""`},
		{head + "%y = anec.copy(%x) {axis = C} : fp16[1,1,3,8,8]", "line 3, column 21: anec.copy has no attribute axis"},
		{head + "%y = anec.softmax(%x) {axes = Q} : fp16[1,1,3,8,8]", "not a set of axes"},
		{head + "%y = anec.neuron(%x) {type = rely} : fp16[1,1,3,8,8]", `"rely" is not known`},
		{head + "%y = anec.transpose(%x) {perm = [N, D]} : fp16[1,1,3,8,8]", "2 numbers, want 5"},
		{head + "%y = anec.copy(%x) | polish : fp16[1,1,3,8,8]", `"polish" is no slot`},
		{head + "%y = anec.copy(%x) | goc _ _ : fp16[1,1,3,8,8]", "both missing"},
		{head + "%y = anec.copy(%x) | goc %x _ : fp16[1,1,3,8,8]", "gain has extents"},
		{head + "%y = anec.copy(%x) | ew Add #1 : fp16[1,1,3,8,8]", "not before it"},
		{head + "%y = anec.copy(%x) | texture anec.softmax {axes = C} : fp16[1,1,3,8,8]", "does not go into the texture slot"},
		{head + "%y = anec.copy(%x) | transpose NDCHH : fp16[1,1,3,8,8]", "not a permutation"},
		{head + "%y = anec.copy(%x) | quant fp16 %x _ : fp16[1,1,3,8,8]", "want an integer type"},
		{head + "%y, %z = anec.copy(%x) : fp16[1,1,3,8,8], fp16[1,1,3,8,8]", "2 names for 1 tops"},
		{head + "const %c : fp16[1,1,1,1,2] {data = [1]}", "1 elements, want 2"},
		{head + "const %c : uint8[1,1,1,1,1] {data = [256]}", `"256" is no uint8`},
		{head + "const %c : fp32[1,1,100000,10000,1] {data = splat(1)}", "more than"},
		{head + "const %c : fp16[1,1,1,1,2]", "no elements"},
		{head + "const %c : fp16[1,1,1,1,2] {data = splat(1), offset = fp16[1,1,1,1,1]:[1]}", "an offset without"},
		{head + "const %c : fp16[1,1,1,1,4] {data = splat(1), scale = fp16[1,1,1,1,3]:splat(1)}", "do not divide"},
		{head + "const %c : fp16[1,1,1,1,4] {data = splat(1), table = fp16[4]:splat(1), vector = W}", "has 7 axes"},
		{head + "const %c : fp16[1,1,1,1,4] {data = fp16[2]:splat(1), mask = fp16[1,1,1,1,4]:splat(1)}", "mask is of fp16"},
		{"state %s : fp16[1,1,1,1,1] -> %t", `leaves "t", which is not there`},
	} {
		if _, err := Parse(c.text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot %v, want %q", c.text, err, c.want)
		}
	}
}

// Whatever graph is built, its text reads back to the same text, however it is
// stored.
func TestRandomGraphs(t *testing.T) {
	for seed := range uint64(300) {
		r := grower{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), graph: New("a graph")}
		g := r.grow()
		if err := Verify(g); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		text := Print(g)
		back, err := Parse(text, nil)
		if err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, text)
		}
		Shuffle(back, r.Rand)
		if got := Print(back); got != text {
			t.Fatalf("seed %d: got\n%swant\n%s", seed, got, text)
		}
	}
}

// A grower makes a random graph of the cases of the shape rules, with epilogues.
type grower struct {
	*testing.T
	*rand.Rand
	graph *Graph
}

func (r *grower) coin() bool { return r.IntN(2) == 0 }

// text returns a few characters, of which some must be quoted.
func (r *grower) text() string {
	b := make([]byte, 1+r.IntN(5))
	for i := range b {
		b[i] = byte(' ' + r.IntN('~'-' '+1))
	}
	return string(b)
}

func (r *grower) grow() *Graph {
	for range 1 + r.IntN(8) {
		c := shapeCases[r.IntN(len(shapeCases))]
		if strings.HasPrefix(c.want, "error:") {
			continue
		}
		name, fields, _ := strings.Cut(c.layer, " ")
		kind, _ := KindOf(name)
		s := Spec{Params: NewParams(kind)}
		if err := setFields(fields, s.Params, &s.OutputType); err != nil {
			r.Fatal(err)
		}
		for _, word := range strings.Fields(c.bottoms) {
			s.Bottoms = append(s.Bottoms, r.bottom(word))
		}
		if len(strings.Fields(c.want)) == 1 {
			s.Epilogue = r.epilogue()
		}
		s.Name = r.graph.FreshName(r.text())
		for range r.IntN(3) {
			s.Origin = append(s.Origin, r.text())
		}
		l, err := r.graph.Add(s)
		if err != nil {
			r.Fatalf("%s: %v", c.layer, err)
		}
		if r.coin() {
			r.graph.AddOutput(l.Top())
		}
	}
	return r.graph
}

// bottom takes a value of the type that is there already, or adds one.
func (r *grower) bottom(word string) *Value {
	if !strings.HasPrefix(word, "!") && word != "_" && r.coin() {
		for _, v := range r.graph.Values {
			if v.Type.String() == word {
				return v
			}
		}
	}
	v, err := addBottom(r.graph, r.graph.FreshName("v"), word)
	if err != nil {
		r.Fatal(err)
	}
	return v
}

func (r *grower) epilogue() (e Epilogue) {
	if r.coin() {
		e.Pre = &Activation{td.FuncReLUN, r.Float32(), -r.Float32()}
	}
	if r.coin() {
		e.GOC = &GainOffset{Offset: r.bottom("!fp16[1,1,1,1,1]")}
	}
	steps := []Step{
		{Code: td.MicroScaleBias, A: 2, B: float32(math.Inf(-1))},
		{Code: td.MicroActivation, Function: td.FuncGELU},
		{Code: td.MicroEW, EW: td.EWMult, Earlier: 1},
		{Code: td.MicroEW, EW: td.EWSub, A: 3, Swap: true},
		{Code: td.MicroTypeCast, Type: tensor.Int8},
		{Code: td.MicroEW, EW: td.EWAdd},
	}
	for range r.IntN(4) {
		s := steps[r.IntN(len(steps))]
		if s.EW == td.EWAdd {
			s.Operand = r.bottom("fp16[1,1,1,1,1]")
		}
		e.Steps = append(e.Steps, s)
	}
	if r.coin() {
		perm := r.perm()
		e.Transpose = &perm
	}
	return e
}

func (r *grower) perm() (p Perm) {
	for i, a := range r.Perm(NumAxes) {
		p[i] = td.Axis(a)
	}
	return p
}

func TestPerm(t *testing.T) {
	r := grower{Rand: rand.New(rand.NewPCG(1, 1))}
	dims := Dims{2, 3, 5, 7, 11}
	for range 100 {
		p, q := r.perm(), r.perm()
		if got, want := p.Then(q).Apply(dims), q.Apply(p.Apply(dims)); got != want {
			t.Errorf("%v then %v: %v, want %v", p, q, got, want)
		}
		if p.Then(p.Inverse()) != Identity || !p.Valid() {
			t.Errorf("%v and its inverse %v", p, p.Inverse())
		}
	}
	if (Perm{N, N, C, H, W}).Valid() || (Perm{N, D, C, H, 9}).Valid() {
		t.Error("an axis twice, or one that is none, is a permutation")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add(diamond)
	for _, c := range shapeCases {
		if l, err := c.build(); err == nil {
			var b strings.Builder
			printLayer(&b, l)
			f.Add("input %x0 : fp16[1,1,3,8,8]\n" + b.String())
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text, nil)
		if err != nil {
			return
		}
		once := Print(g)
		back, err := Parse(once, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, once)
		}
		if again := Print(back); again != once {
			t.Errorf("got\n%swant\n%s", again, once)
		}
	})
}
