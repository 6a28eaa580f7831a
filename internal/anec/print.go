package anec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The text of a graph, one statement for each value that is given and for each
// layer. Layers look as in the compiler's dialect:
//
//	graph main
//	input %x : fp16[1,1,3,8,8]
//	state %cache : fp16[1,1,2,64,8] -> %cache.1
//	const %w : fp16[4,1,3,3,3] {data = splat(0.5)}
//	%y = anec.convolution(%x, %w) {kernel_sizes = [3, 3]} | goc _ %b | post relu : fp16[1,1,4,6,6] @conv from conv_0 relu_1
//	output %y
//
// Attributes stand where they differ from NewParams; dialect.go has their names and
// those of the operations. "_" is an optional operand that is not there. "|" begins
// a slot of the epilogue, in their order. The types are those of the tops. "@" gives
// the layer's name where it differs from its first top's, "from" its origin. "form
// 2020" behind the name of a graph is Form2020. A statement may go on in the next
// line within brackets, and "//" begins a comment.
//
// The lines go by Order and ID alone, so that a graph has one text, however it is
// stored. Parse reads it back.

// Print returns the text of a graph, which leaves out the bytes of large constants.
func Print(g *Graph) string { return PrintWith(g, LeftOut) }

// PrintWith is Print that asks what stands for the bytes of large constants: LeftOut, InFile.
func PrintWith(g *Graph, large func(data []byte) string) string {
	p := printer{large}
	var b strings.Builder
	fmt.Fprintf(&b, "graph %s\n", quoted(g.Name))
	if g.Form2020 {
		b.WriteString("form 2020\n")
	}
	for _, v := range g.Inputs {
		fmt.Fprintf(&b, "input %s : %v\n", ref(v), v.Type)
	}
	for _, s := range g.States {
		fmt.Fprintf(&b, "state %s : %v -> %s", ref(s.Before), s.Before.Type, ref(s.After))
		if s.Name != s.Before.Name {
			fmt.Fprintf(&b, " @%s", quoted(s.Name))
		}
		b.WriteByte('\n')
	}
	constants := slices.Clone(g.Values)
	constants = slices.DeleteFunc(constants, func(v *Value) bool { return v.Const == nil })
	slices.SortFunc(constants, func(a, b *Value) int { return a.ID - b.ID })
	for _, v := range constants {
		fmt.Fprintf(&b, "const %s : %v%s\n", ref(v), v.Type, p.constant(v.Const))
	}
	for _, l := range g.Order() {
		printLayer(&b, l)
	}
	for _, v := range g.Outputs {
		fmt.Fprintf(&b, "output %s\n", ref(v))
	}
	return b.String()
}

type printer struct {
	large func(data []byte) string
}

func printLayer(b *strings.Builder, l *Layer) {
	operation, spoken := operationOf(l.Params)
	fmt.Fprintf(b, "%s = %s(%s)", refs(l.Tops), operation, refs(l.Bottoms))
	var list []string
	if l.OutputType != tensor.Invalid {
		list = append(list, fmt.Sprintf("%s = %v", outputType, l.OutputType))
	}
	b.WriteString(braced(append(list, formatAttributes(l.Params, spoken)...)))
	printEpilogue(b, &l.Epilogue)
	for i, v := range l.Tops {
		fmt.Fprintf(b, "%s %v", [...]string{" :", ","}[min(i, 1)], v.Type)
	}
	if l.Name != l.Tops[0].Name {
		fmt.Fprintf(b, " @%s", quoted(l.Name))
	}
	if len(l.Origin) > 0 {
		b.WriteString(" from")
		for _, o := range l.Origin {
			fmt.Fprintf(b, " %s", quoted(o))
		}
	}
	b.WriteByte('\n')
}

func printEpilogue(b *strings.Builder, e *Epilogue) {
	if e.Texture != nil {
		operation, spoken := operationOf(e.Texture)
		fmt.Fprintf(b, " | texture %s%s", operation, braced(formatAttributes(e.Texture, spoken)))
	}
	if e.Broadcast != (Dims{}) {
		fmt.Fprintf(b, " | broadcast %v", e.Broadcast)
	}
	if e.Pre != nil {
		fmt.Fprintf(b, " | pre %s", formatActivation(*e.Pre))
	}
	if e.GOC != nil {
		fmt.Fprintf(b, " | goc %s %s", ref(e.GOC.Gain), ref(e.GOC.Offset))
	}
	if e.Post != nil {
		fmt.Fprintf(b, " | post %s", formatActivation(*e.Post))
	}
	for i := range e.Steps {
		printStep(b, &e.Steps[i])
	}
	if e.Transpose != nil {
		b.WriteString(" | transpose ")
		for _, a := range e.Transpose {
			b.WriteString(a.String())
		}
	}
	if e.Quant != nil {
		fmt.Fprintf(b, " | quant %v %s %s", e.Quant.Type, ref(e.Quant.Scale), ref(e.Quant.Zero))
	}
}

// printStep writes a step: "scale A B", "act f(A,B)", "cast type" or "ew kind
// second", where the second value is an operand, "#0" for what the slots before
// made, "#1" for what step 0 made, or a number; "swap" may follow.
func printStep(b *strings.Builder, s *Step) {
	switch s.Code {
	case td.MicroScaleBias:
		fmt.Fprintf(b, " | scale %s %s", formatFloat(s.A), formatFloat(s.B))
	case td.MicroActivation:
		fmt.Fprintf(b, " | act %s", formatActivation(Activation{s.Function, s.A, s.B}))
	case td.MicroTypeCast:
		fmt.Fprintf(b, " | cast %v", s.Type)
	default:
		second := formatFloat(s.A)
		if s.Operand != nil {
			second = ref(s.Operand)
		} else if s.Earlier > 0 {
			second = "#" + strconv.Itoa(s.Earlier-1)
		}
		fmt.Fprintf(b, " | ew %v %s", s.EW, second)
		if s.Swap {
			b.WriteString(" swap")
		}
	}
}

// formatActivation writes a function, with its constants unless both are 0.
func formatActivation(a Activation) string {
	if a.A == 0 && a.B == 0 {
		return a.Function.String()
	}
	return fmt.Sprintf("%v(%s,%s)", a.Function, formatFloat(a.A), formatFloat(a.B))
}

// braced is a list of attributes; "" of none.
func braced(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " {" + strings.Join(list, ", ") + "}"
}

func refs(values []*Value) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = ref(v)
	}
	return strings.Join(names, ", ")
}

// ref names a value, "_" for none.
func ref(v *Value) string {
	if v == nil {
		return "_"
	}
	return "%" + quoted(v.Name)
}

// quoted returns a name as it is, or quoted if it has other than plain
// characters.
func quoted(name string) string {
	for _, r := range name {
		if !plainRune(r) {
			return strconv.Quote(name)
		}
	}
	if name == "" || name == "from" || strings.Contains(name, "//") {
		return strconv.Quote(name)
	}
	return name
}

func plainRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./-", r)
}
