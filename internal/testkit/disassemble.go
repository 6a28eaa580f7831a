package testkit

import (
	"debug/elf"
	"debug/gosym"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Disassemble returns the instructions of a function of the test whose names match, in
// their order, as the system's disassembler reads them: for those that are spelled as
// bytes. It skips the test where there is no disassembler, or one that does not know
// them.
func Disassemble(t testing.TB, function, names string) (instructions []string) {
	t.Helper()
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
	path := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(path, codeOf(t, file, function), 0o666); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(objdump, "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\b((?:`+names+`)\b[^\n#]*)`).FindAllStringSubmatch(string(text), -1) {
		instructions = append(instructions, strings.Join(strings.Fields(m[1]), " "))
	}
	if instructions == nil && strings.Contains(string(text), "(bad)") {
		t.Skip("this objdump does not know the instructions")
	}
	return instructions
}

// codeOf is the machine code of a function: the longest of its name, of which others
// are wrappers.
func codeOf(t testing.TB, file *elf.File, name string) (code []byte) {
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
