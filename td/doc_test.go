package td

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// TestV256Doc holds the tables at the end of v256.md to the code.
func TestV256Doc(t *testing.T) {
	const file, marker = "v256.md", "rewrites it -->\n"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	prose, _, ok := bytes.Cut(old, []byte(marker))
	if !ok {
		t.Fatalf("%s: no line ends in %q", file, marker)
	}
	var b strings.Builder
	b.Write(prose)
	b.WriteString(marker)

	b.WriteString("\n| class | results | sources | fields, one register each |\n|---|---|---|---|\n")
	for _, r := range classRows {
		var sources, fields []string
		results := slices.Clone(r.results)
		if last := len(results) - 1; r.lastOptional {
			results[last] = "[" + results[last] + "]"
		}
		for i, s := range r.sources {
			if i >= r.needed {
				s = "[" + s + "]"
			}
			sources = append(sources, s)
		}
		for _, f := range r.fields {
			name := strings.TrimPrefix(f.Name, r.class.String()+".")
			if f.Kind != Uint {
				name += " (" + f.Kind.String() + ")"
			}
			fields = append(fields, name)
		}
		fmt.Fprintf(&b, "| %d %v | %s | %s | %s |\n", r.class, r.class, strings.Join(results, " "), strings.Join(sources, " "), strings.Join(fields, ", "))
	}

	b.WriteString("\n## Registers\n\n")
	fmt.Fprintf(&b, "Operand i stands %#x*i after operand 0, step k of the epilogue %d*k after step 0; the fields of class c begin at %#x + %#x*c.\n\n",
		operandPitch, 4*stepWords, addrClasses, classPitch)
	b.WriteString("| register | bits | field | meaning |\n|---|---|---|---|\n")
	for _, block := range []*Block{v256Main, v256.Block(addrOperands), v256.Block(addrSteps)} {
		for _, f := range block.Fields {
			if block.Addr == addrSteps && f.Addr >= addrSteps+4*stepWords {
				break
			}
			bits := fmt.Sprintf("%d:%d", f.Lo+f.Width-1, f.Lo)
			if f.Width == 1 {
				bits = fmt.Sprint(f.Lo)
			}
			fmt.Fprintf(&b, "| %#x | %s | %s | %s |\n", f.Addr, bits, f.Name, f.Doc)
		}
	}
	testkit.Golden(t, file, []byte(b.String()))
}
