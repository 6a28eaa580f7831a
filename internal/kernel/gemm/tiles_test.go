//go:build amd64

package gemm

import (
	"debug/elf"
	"debug/gosym"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The instructions that are spelled as bytes are what a disassembler reads, in their
// order.
func TestTileInstructions(t *testing.T) {
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("there is no objdump, which disassembles")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(exe)
	if err != nil {
		t.Skip("the test is no ELF file: ", err)
	}
	defer file.Close()
	products := []string{"tdpbf16ps tmm0,tmm4,tmm6", "tdpbf16ps tmm1,tmm4,tmm7", "tdpbf16ps tmm2,tmm5,tmm6", "tdpbf16ps tmm3,tmm5,tmm7"}
	halves := []string{"vcvtne2ps2bf16 zmm2,zmm1,zmm0", "vcvtne2ps2bf16 zmm3,zmm1,zmm0"}
	for name, want := range map[string][]string{
		"gemm.addTiles": slices.Concat(
			[]string{"ldtilecfg [rax]"},
			[]string{"tileloadd tmm0,[rdi+rdx*1+0x0]", "tileloadd tmm1,[rdi+rdx*1+0x40]", "tileloadd tmm2,[rsi+rdx*1+0x0]", "tileloadd tmm3,[rsi+rdx*1+0x40]"},
			[]string{"tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3"},
			[]string{"tileloadd tmm6,[rbx+rcx*1+0x0]", "tileloadd tmm7,[rbx+rcx*1+0x400]", "tileloadd tmm4,[rax+rcx*1+0x800]", "tileloadd tmm5,[rax+rcx*1+0xc00]"},
			products,
			[]string{"tileloadd tmm4,[rax+rcx*1+0x0]", "tileloadd tmm5,[rax+rcx*1+0x400]"},
			products,
			[]string{"tileloadd tmm6,[rbx+rcx*1+0x800]", "tileloadd tmm7,[rbx+rcx*1+0xc00]"},
			products,
			[]string{"tilestored [rdi+rdx*1+0x0],tmm0", "tilestored [rdi+rdx*1+0x40],tmm1", "tilestored [rsi+rdx*1+0x0],tmm2", "tilestored [rsi+rdx*1+0x40],tmm3"},
			[]string{"tilerelease"},
		),
		"gemm.splitRows": halves,
		"gemm.splitSide": halves,
	} {
		path := filepath.Join(t.TempDir(), "code")
		if err := os.WriteFile(path, codeOf(t, file, name), 0o666); err != nil {
			t.Fatal(err)
		}
		text, err := exec.Command(objdump, "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), strings.Fields(want[len(want)/2])[0]) && strings.Contains(string(text), "(bad)") {
			t.Skip("this objdump does not know tiles")
		}
		var got []string
		for _, m := range regexp.MustCompile(`\b((?:ldtilecfg|tile\w+|tdp\w+|vcvtne2\w+)[^\n#]*)`).FindAllStringSubmatch(string(text), -1) {
			got = append(got, strings.Join(strings.Fields(m[1]), " "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the disassembler reads\n%s\nexpected\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// codeOf is the machine code of a function: the longest of its name, of which others
// are wrappers.
func codeOf(t *testing.T, file *elf.File, name string) (code []byte) {
	text, lines := file.Section(".text"), file.Section(".gopclntab")
	if text == nil || lines == nil {
		t.Skip("the test has no table of functions")
	}
	data, err := lines.Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range table.Funcs {
		if !strings.Contains(f.Name, name) || int(f.End-f.Entry) <= len(code) {
			continue
		}
		code = make([]byte, f.End-f.Entry)
		if _, err := text.ReadAt(code, int64(f.Entry-text.Addr)); err != nil {
			t.Fatal(err)
		}
	}
	if code == nil {
		t.Fatalf("there is no function %s", name)
	}
	return code
}
