package hal

import (
	"fmt"
	"strings"
)

// numericsPage is docs/numerics.md.
func numericsPage() []byte {
	var p page
	p.text("# Numerics of the chips")
	p.text("What a chip does to numbers where it and plain arithmetic part. Each rule is a field of the target. This page is made from the table in `hal`:\nafter a change there, run `go test ./hal -run TestNumericsDocs -update`.")
	p.text(`A program that is compiled for a chip runs with the rules of that chip. The profile is the target's name, and after it any number of rules with another value:

    espalier run model.mlpackage -t m1 --numerics h13,saturate-at-port=0
    espalier run program.hwx --numerics h13,nan-to-inf=false,table-from-knots=false

` + "`virtual`" + ` has none of them: a value is rounded to its declared type when it is stored, half to even, and inside a task it is fp32.
Tasks of version 7, which are native to H13, and of version 256, which all other targets have, and H13 where no native encoding is certain, follow the same rules: the same tests range over both.`)
	p.text(`A rule is *measured* where it was seen on the chip, *predicted* where it follows from another chip by what a source says. Where no source has it, it is off.`)

	plain, _ := numerics(ownTier)
	p.text("## The rules")
	p.head("Rule", "virtual", "H13", "H14", "H15", "H16", "H17", "H18")
	columns := []string{"virtual", "h13", "h14", "h15", "h16", "h17", "h18"}
	for _, r := range Rules() {
		cells := []string{fmt.Sprintf("[`%s`](#%s)", r.Name, r.Name)}
		for _, name := range columns {
			t, err := Lookup(name)
			if err != nil {
				panic("bug: " + err.Error())
			}
			cells = append(cells, r.Value(t.Numerics))
		}
		p.row(cells...)
	}
	p.text("")
	for _, r := range Rules() {
		p.text("### %s", r.Name)
		p.text("%s.", capital(r.Doc))
		off := fmt.Sprintf("- Off: `%s=%s`.", r.Name, r.Value(plain))
		if r.Value(plain) == "true" {
			off = fmt.Sprintf("- Plain arithmetic does so too. The other way: `%s=false`.", r.Name)
		}
		p.text("- Concerns: %s.\n- Source: %s.\n%s\n%s", r.Where, r.Source, off, ruleTargets(&r, plain))
	}

	p.text("## What the guide publishes")
	p.text(`Each row of its chapter on numerics is a test: from a program to its result, compiled for H13 in native tasks and in extensions, and absent on ` + "`virtual`" + `
(` + "`TestPublishedNumerics`" + ` in internal/encode/v7, and once more task by task in internal/engine). Rows that come out otherwise are below.`)
	p.text(`- A linear layer with a single input is cut off at the port, a convolution of one product is not. So the compiler leaves such a layer a product of matrices on chips with the rule,
  and gives a convolution of one product the task of a depthwise one: an array task of one product is cut off unless it is in unicast.
- The logarithm of 0, -45440, is -2^16 times the fp16 number next to ln 2. It is what comes out if a chip takes the end of its table for base 2, -inf, as if its exponent were one
  like others. So do most rows of edge behaviour: with inf as 2^16 and NaN as 2^16 and more, inf-inf and 0·inf are 0, NaN is stored as inf, and NaN in a variance is a large finite number.
  That is a reading of the rows, and no rule here follows from it: what inf·0.5 gives was not published.`)

	p.text("## Native tasks and extensions")
	p.text(`A layer for H13 becomes native tasks or an extension. Both follow the same rules, and ` + "`TestNativeTasksAgreeWithExtensions`" + ` holds them to each other: sums of products are added up
in the same blocks of 256 with the bias first, softmax, attention and normalizations round between their stages, quotients are products with the reciprocal of a table. Five of six programs there give
the same bits. The rest differ by the rounding between two tasks where an extension takes one step, or have a function that an extension computes and tasks make of tables.`)

	p.text("## NaN and infinity")
	p.text(`A NaN or an infinity among the inputs of an operation comes out where it comes out on the host, on every target (` + "`TestSpecialNumbersAgree`" + ` in internal/compiler), but for the rules
above and for six operations in native tasks of H13, where it spreads further: a task multiplies and adds up, and 0·NaN and 0·inf are NaN.`)
	p.text(`- ` + "`resize`, `resize_bilinear`, `resize_nearest_neighbor`, `upsample_bilinear` and `upsample_nearest_neighbor`" + ` are sums of products with weights, some of which are 0, over a neighbourhood:
  a NaN or an infinity is NaN in all results whose neighbourhood it is in.
- ` + "`prelu`" + ` is a sum of products with both slopes: infinity has the slope of its own sign and 0 times the other, and gives NaN.`)

	p.text("## What is not modelled")
	p.text(`- The tables of the finer sigmoid, of sin, cos and atan, and the seams of their arguments, published as errors of 0.04 to 0.12: no source has the knots. They are computed.
- Published are -0.000543 as gelu of 0, -0.001259 as swish of 0, and 0.0059 as the worst error of gelu. The tables that Apple's compiler emits in the records have -0.000754 and -0.001704 as
  the knots at 0, and the worst error of gelu is 0.0061. These tables are fits: the least squares over all normal fp16 numbers give their knots to two units. With 7,500 more samples at 0
  the same least squares give the published numbers at 0, of both functions. So the chip that was measured had tables of another version of the fit, of which there is no record.
  A task carries its table, and the engine evaluates what it carries: the records' numbers. ` + "`TestFittedTables`" + ` in internal/engine holds both readings.
- Powers of two tensors as an extension are computed; by tables, a power of a negative number is 1.
- Published is that a dot product gives the same bits as a matrix multiply and as a multiplication with a sum over it, since both became one kernel. Here the latter are two tasks,
  and the products are rounded to fp16 between them: no record has the two in a row.
- Which of the two roundings of 2049 the M5 does, and why: M1 gives 2048, M5 2050.
- The order in which the array adds, and what one unit in the last place at the edges of tiles depends on.`)
	return p.Bytes()
}

// ruleTargets lists the targets that have a rule on, by how it is known.
func ruleTargets(r *Rule, plain Numerics) string {
	var text strings.Builder
	found := false
	for _, status := range []Status{Measured, Decoded, Predicted, Unknown} {
		var names []string
		source := ""
		for _, t := range Targets() {
			fact := numericsFactOf(t, r.Name)
			if t.Family != Virtual && fact.status == status && r.Value(t.Numerics) != r.Value(plain) {
				names, source = append(names, t.Name), fact.source
			}
		}
		if len(names) == 0 {
			continue
		}
		found = true
		fmt.Fprintf(&text, "- On, %v: %s", status, strings.Join(names, ", "))
		if status != Measured {
			fmt.Fprintf(&text, " (%s)", source)
		}
		text.WriteString(".\n")
	}
	switch {
	case !found && r.Value(plain) == "true":
		return "- Every target does."
	case !found:
		return "- On no target by default."
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
