package espalier_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// This file holds the architecture: which package may import which, which
// module may be used where, and two laws about the sources themselves. It reads
// the sources in this process, so that the test cache knows what the result
// depends on.

const modulePath = "github.com/espalier-ane/espalier"

// layers has the packages on their lines. A package imports only packages of
// smaller lines, none of its own. A package that stands nowhere here is an
// error: give it a line before its first import. "/..." admits subfolders,
// which may import each other.
//
// Test files are bound by none of this, for a test may need an oracle from any
// line; Go itself refuses cycles. The rules about modules bind them too.
var layers = [][]string{
	0:  {"internal/kernel/...", "internal/diag", "internal/gate", "internal/limit", "internal/osfile", "internal/pool", "internal/trace", "internal/testkit"},
	1:  {"tensor", "hal", "internal/edit"},
	2:  {"mil", "td"},
	3:  {"coreml", "hwx", "e5", "firmware", "internal/units"},
	4:  {"internal/anec", "bundle", "internal/strided"},
	5:  {"netplist", "fit", "internal/ops", "internal/segment"},
	6:  {"internal/encode/...", "internal/engine/...", "internal/estimate", "internal/graphfile"},
	7:  {"internal/compiler", "internal/driver"},
	8:  {"e5rt"},
	9:  {"internal/host", "internal/build"}, // what e5rt must not import: the host segments, over ops; the compiler, over its cache
	10: {"aneclient", "espalier"},           // espalier is the root
	11: {"explain/...", "server"},
	12: {"cmd/espalier"},
	13: {"examples/...", "internal/conformance"}, // the latter judges the built command
}

// testsOnly are the packages that only test files may import.
var testsOnly = []string{"internal/testkit", "internal/kernel/guard"}

// never are imports that the lines would allow.
var never = []struct {
	from, to []string
	deep     bool // not through other packages either
	why      string
}{
	{
		from: []string{"internal/engine", "internal/driver"},
		to:   []string{"mil", "internal/ops", "coreml", "internal/compiler"},
		why:  "what runs is what was compiled: the bundle is the seam",
	},
	{
		from: []string{"e5rt"},
		to:   []string{"mil", "internal/ops", "coreml", "internal/compiler"},
		deep: true,
		why:  "a bundle without host segments runs without operations and compiler",
	},
	{
		from: []string{"espalier"},
		to:   []string{"internal/engine/...", "internal/driver"},
		why:  "everything runs on e5rt: there is no second road to the engine",
	},
	{
		from: []string{"cmd/espalier"},
		to:   []string{"td"},
		why:  "the command parses flags and writes; what a task says is known to explain",
	},
	{
		from: []string{"td", "hwx", "e5", "firmware"},
		to:   []string{"mil"},
		why:  "formats know bytes, not graphs",
	},
	{
		from: []string{"internal/compiler", "internal/encode/...", "internal/estimate", "internal/segment"},
		to:   []string{"internal/kernel/...", "internal/strided"},
		why:  "what an engine computes stands in the tables of td",
	},
	{
		from: []string{"internal/ops"},
		to:   []string{"internal/kernel/..."},
		deep: true,
		why:  "the yardstick shares no code with what it measures",
	},
}

// modules are the third-party packages and who may import them. Nothing else
// from outside the standard library is used, and nothing that needs cgo. A
// package's tests may use what the package may.
var modules = []struct {
	path  string   // this package and those below it
	users []string // nil: test files of any package, and testsOnly
}{
	{"google.golang.org/protobuf/encoding/protowire", []string{"coreml", "internal/trace"}},
	{"github.com/google/flatbuffers/go", []string{"e5"}},
	{"howett.net/plist", []string{"netplist"}},
	{"golang.org/x/sys", []string{"internal/osfile", "internal/kernel/..."}},
	{"github.com/klauspost/cpuid/v2", []string{"internal/kernel/..."}},
	{"github.com/rogpeppe/go-internal/cache", []string{"internal/build"}},
	{"github.com/rogpeppe/go-internal/lockedfile", []string{"internal/build"}},
	{"github.com/alecthomas/kong", []string{"cmd/espalier"}},
	{"golang.org/x/term", []string{"cmd/espalier"}},
	{"golang.org/x/image", []string{"espalier", "cmd/espalier", "server"}},
	{"golang.org/x/sync", []string{"server"}},
	{"connectrpc.com/connect", []string{"server"}},
	{"github.com/prometheus/client_golang", []string{"server"}},

	{"github.com/google/go-cmp", nil},
	{"github.com/rogpeppe/go-internal/testscript", nil},
	{"github.com/rogpeppe/go-internal/txtar", nil},
	{"pgregory.net/rapid", nil},
}

// A source is one Go file of the module.
type source struct {
	file    string // slash-separated, from the root
	pkg     string // as in layers
	imports []string
	text    []byte
}

func (s source) isTest() bool { return strings.HasSuffix(s.file, "_test.go") }

func TestLayers(t *testing.T) {
	for _, complaint := range checkImports(sources(t)) {
		t.Error(complaint)
	}
}

// unversioned are the packages that name no version of task descriptors: what tasks are like is known to the encoders, and to
// the decoders of the engine.
var unversioned = []string{"internal/compiler", "internal/segment", "internal/units", "internal/anec", "internal/ops", "e5rt", "espalier"}

func TestVersionsAreNamedByEncodersAlone(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isTest() && matches(s.pkg, unversioned) {
			for _, complaint := range checkVersions(s.file, s.text) {
				t.Error(complaint)
			}
		}
	}
}

func TestFileNames(t *testing.T) {
	for _, s := range sources(t) {
		if complaint := checkFileName(s.file, s.text); complaint != "" {
			t.Error(complaint)
		}
	}
}

func TestPanicsAreBugs(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isTest() {
			for _, complaint := range checkPanics(s.file, s.text) {
				t.Error(complaint)
			}
		}
	}
}

// sources reads the Go files of the module, for every platform. Like the go
// command, it leaves out testdata, names that begin with a dot or underscore,
// and nested modules.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		base := d.Name()
		hidden := strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
		if d.IsDir() {
			_, noModule := os.Stat(filepath.Join(name, "go.mod"))
			if hidden || base == "testdata" || noModule == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if hidden || filepath.Ext(base) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s := source{file: filepath.ToSlash(name), text: text}
		if s.pkg = path.Dir(s.file); s.pkg == "." {
			s.pkg = "espalier"
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// matches reports whether pkg is one of the patterns or below one that ends in
// "/...".
func matches(pkg string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		tree, isTree := strings.CutSuffix(pattern, "/...")
		return pkg == tree || isTree && strings.HasPrefix(pkg, tree+"/")
	})
}

// lineOf returns the line of a package and the entry that gives it, or -1.
func lineOf(pkg string) (line int, entry string) {
	for line, entries := range layers {
		for _, entry := range entries {
			if matches(pkg, []string{entry}) {
				return line, entry
			}
		}
	}
	return -1, ""
}

// checkImports returns a complaint for each import that breaks a rule.
func checkImports(all []source) []string {
	var complaints []string
	complain := func(file, format string, args ...any) {
		complaints = append(complaints, file+": "+fmt.Sprintf(format, args...))
	}
	graph := map[string][]string{} // who imports whom, without tests
	for _, s := range all {
		line, entry := lineOf(s.pkg)
		if line < 0 {
			complain(s.file, "package %s stands on no line of the layers", s.pkg)
			continue
		}
		for _, imported := range s.imports {
			own, isOwn := ownPackage(imported)
			switch {
			case imported == "C":
				complain(s.file, "cgo is not used here")
			case isOwn:
				target, targetEntry := lineOf(own)
				switch {
				case target < 0:
					complain(s.file, "imports %s, which stands on no line of the layers", own)
				case s.isTest():
					// Free, see layers.
				case matches(own, testsOnly):
					complain(s.file, "imports %s, which is for test files only", own)
				case target >= line && entry != targetEntry:
					complain(s.file, "%s (line %d) imports %s (line %d)", s.pkg, line, own, target)
				}
				if !s.isTest() && !slices.Contains(graph[s.pkg], own) {
					graph[s.pkg] = append(graph[s.pkg], own)
				}
			case !isStandard(imported) && !mayUse(s, imported):
				complain(s.file, "package %s may not import %s", s.pkg, imported)
			}
		}
	}
	for _, law := range never {
		for _, from := range slices.Sorted(maps.Keys(graph)) {
			if !matches(from, law.from) {
				continue
			}
			for _, way := range ways(graph, from, law.to, law.deep) {
				complain(from, "never imports %s: %s", strings.Join(way, ", which imports "), law.why)
			}
		}
	}
	return complaints
}

// ownPackage returns the name in layers of an import path of this module.
func ownPackage(imported string) (pkg string, ok bool) {
	if imported == modulePath {
		return "espalier", true
	}
	return strings.CutPrefix(imported, modulePath+"/")
}

// isStandard reports whether a path is of the standard library: as for the go
// command, its first element has no dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// mayUse reports whether modules lets the file import a third-party package.
func mayUse(s source, imported string) bool {
	for _, m := range modules {
		if !matches(imported, []string{m.path + "/..."}) {
			continue
		}
		if m.users == nil {
			return s.isTest() || matches(s.pkg, testsOnly)
		}
		return matches(s.pkg, m.users)
	}
	return false
}

// ways returns how from comes to import one of to, directly or, if deep, through
// others: for each package of to that it reaches, a way to it.
func ways(graph map[string][]string, from string, to []string, deep bool) [][]string {
	var found [][]string
	seen := map[string]bool{from: true}
	queue := [][]string{nil} // ways not yet followed further, without from itself
	for len(queue) > 0 {
		way := queue[0]
		queue = queue[1:]
		last := from
		if len(way) > 0 {
			last = way[len(way)-1]
		}
		for _, next := range graph[last] {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clone(way), next)
			switch {
			case matches(next, to):
				found = append(found, longer)
			case deep:
				queue = append(queue, longer)
			}
		}
	}
	return found
}

// platforms are the names of systems and processors that, after the last
// underscore of a file's name, make the go command leave the file out
// elsewhere: internal/syslist of Go 1.26.
var platforms = strings.Fields(`
	aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd
	openbsd plan9 solaris wasip1 windows zos

	386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64
	mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x
	sparc sparc64 wasm`)

// checkFileName complains of a file that is left out on some platforms by its
// name alone. The operation sliding_windows would vanish from all builds but
// those for Windows, without a word. A file that means it says it a second
// time, with a //go:build line that names the platform.
func checkFileName(file string, text []byte) string {
	name := strings.TrimSuffix(strings.TrimSuffix(path.Base(file), ".go"), "_test")
	_, suffixes, _ := strings.Cut(name, "_") // what stands first is never a platform
	last := suffixes[strings.LastIndex(suffixes, "_")+1:]
	if !slices.Contains(platforms, last) || buildTags(text)[last] {
		return ""
	}
	return fmt.Sprintf("%s: the name restricts the file to %s; rename it, or say //go:build %s if that is meant", file, last, last)
}

// buildTags returns the tags that the file's //go:build line names.
func buildTags(text []byte) map[string]bool {
	tags := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "package ") {
			break
		}
		if !constraint.IsGoBuild(line) {
			continue
		}
		if expr, err := constraint.Parse(line); err == nil {
			expr.Eval(func(tag string) bool {
				tags[tag] = true
				return true
			})
		}
	}
	return tags
}

// versionName is the name of a version of task descriptors, in code, in a comment or in a text: V7 or v7, alone or as a part of a
// name; "version 7", "versions 7 and 256", version256Task; and a version that is compared with a number.
var versionName = regexp.MustCompile(`(?:^|[^A-Za-z0-9])[vV](?:7|10|11|256)(?:\D|$)` +
	`|[a-z0-9]V(?:7|10|11|256)(?:\D|$)` +
	`|(?i:versions?[ _-]?(?:\d+,? (?:and|or|to) )?(?:7|10|11|256)(?:\D|$))` +
	`|(?i:version\w*\)? *(?:[=!<>]=|[<>=:]|:=) *(?:7|10|11|256)(?:\D|$))`)

// checkVersions complains of a file, and of each of its lines, that names a version of task descriptors.
func checkVersions(file string, text []byte) []string {
	var complaints []string
	if versionName.MatchString(path.Base(file)) {
		complaints = append(complaints, file+": a version of task descriptors is named by the file")
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if n++; versionName.MatchString(line) {
			complaints = append(complaints, fmt.Sprintf("%s:%d: a version of task descriptors is named: %s", file, n, strings.TrimSpace(line)))
		}
	}
	return complaints
}

var panicCall = regexp.MustCompile(`\bpanic\(`)

// checkPanics complains of each line that panics over anything but a bug. The
// law is one that grep can hold: panic("bug: …") or a formatted form of it on
// one line, or a panic that is passed on, marked by the comment "re-raise".
func checkPanics(file string, text []byte) []string {
	var complaints []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if panicCall.MatchString(line) && !strings.HasPrefix(line, "//") &&
			!strings.Contains(line, `"bug: `) && !strings.HasSuffix(line, "// re-raise") {
			complaints = append(complaints, fmt.Sprintf(`%s:%d: a panic is for the impossible and begins with "bug: ": %s`, file, n, line))
		}
	}
	return complaints
}

// The rules bite: made-up imports, each with the complaint that it must give.
func TestLayersBite(t *testing.T) {
	own := func(pkg string) string { return modulePath + "/" + pkg }
	for _, c := range []struct {
		file, imports string
		want          string // part of the complaint; "" when all is well
	}{
		{"mil/x.go", own("tensor"), ""},
		{"mil/x.go", "encoding/json", ""},
		{"tensor/x.go", own("mil"), "tensor (line 1) imports mil (line 2)"},
		{"tensor/x.go", own("hal"), "tensor (line 1) imports hal (line 1)"},
		{"tensor/x_test.go", own("mil"), ""},
		{"tensor/x.go", modulePath, "tensor (line 1) imports espalier (line 10)"},
		{"cmd/espalier/x.go", modulePath, ""},
		{"espalier.go", own("coreml"), ""},
		{"espalier.go", own("server"), "espalier (line 10) imports server (line 11)"},
		{"util/x.go", "fmt", "package util stands on no line"},
		{"util/x_test.go", "fmt", "package util stands on no line"},
		{"mil/text/x.go", "fmt", "package mil/text stands on no line"},
		{"mil/x.go", own("util"), "imports util, which stands on no line"},
		{"internal/kernel/gemm/x.go", own("internal/kernel"), ""},
		{"internal/kernel/gemm/x.go", own("internal/pool"), "internal/kernel/gemm (line 0) imports internal/pool (line 0)"},

		{"mil/x.go", own("internal/testkit"), "for test files only"},
		{"mil/x_test.go", own("internal/testkit"), ""},
		{"internal/testkit/x.go", own("tensor"), "internal/testkit (line 0) imports tensor (line 1)"},

		{"internal/engine/x.go", own("bundle"), ""},
		{"internal/engine/x.go", own("mil"), "internal/engine: never imports mil: what runs"},
		{"internal/engine/x.go", own("internal/ops"), "never imports internal/ops: what runs"},
		{"internal/engine/x.go", own("coreml"), "never imports coreml: what runs"},
		{"internal/engine/x.go", own("internal/compiler"), "never imports internal/compiler: what runs"},
		{"internal/engine/x_test.go", own("internal/ops"), ""},
		{"internal/driver/x.go", own("internal/engine"), ""},
		{"internal/driver/x.go", own("firmware"), ""},
		{"internal/driver/x.go", own("mil"), "internal/driver: never imports mil: what runs"},
		{"internal/driver/x.go", own("internal/compiler"), "internal/driver (line 7) imports internal/compiler (line 7)"},
		{"e5rt/x.go", own("internal/driver"), ""},
		{"espalier.go", own("internal/driver"), "never imports internal/driver: everything runs on e5rt"},
		{"e5rt/x.go", own("internal/ops"), "e5rt: never imports internal/ops: a bundle without host segments"},
		{"internal/host/x.go", own("internal/ops"), ""},
		{"espalier.go", own("internal/engine"), "espalier: never imports internal/engine: everything runs on e5rt"},
		{"espalier.go", own("internal/engine/v7"), "never imports internal/engine/v7: everything runs on e5rt"},
		{"espalier.go", own("e5rt"), ""},
		{"cmd/espalier/x.go", own("td"), "cmd/espalier: never imports td: the command parses flags"},
		{"cmd/espalier/x_test.go", own("td"), ""},
		{"cmd/espalier/x.go", own("explain/dump"), ""},
		{"explain/dump/x.go", own("explain/model"), ""},
		{"explain/dump/x.go", own("td"), ""},
		{"hwx/x.go", own("mil"), "hwx: never imports mil: formats"},
		{"td/x.go", own("mil"), "td: never imports mil: formats"},
		{"internal/compiler/x.go", own("internal/strided"), "internal/compiler: never imports internal/strided: what an engine computes"},
		{"internal/encode/v7/x.go", own("internal/kernel/half"), "internal/encode/v7: never imports internal/kernel/half: what an engine computes"},
		{"internal/ops/x.go", own("internal/kernel/gemm"), "never imports internal/kernel/gemm: the yardstick"},

		{"mil/x.go", "C", "cgo"},
		{"mil/x_test.go", "C", "cgo"},
		{"coreml/x.go", "google.golang.org/protobuf/encoding/protowire", ""},
		{"coreml/x.go", "google.golang.org/protobuf/proto", "package coreml may not import"},
		{"mil/x.go", "google.golang.org/protobuf/encoding/protowire", "package mil may not import"},
		{"mil/x_test.go", "google.golang.org/protobuf/encoding/protowire", "package mil may not import"},
		{"internal/osfile/x.go", "golang.org/x/sys/unix", ""},
		{"internal/kernel/gemm/x.go", "golang.org/x/sys/unix", ""},
		{"tensor/x.go", "golang.org/x/sys/unix", "package tensor may not import"},
		{"cmd/espalier/x.go", "github.com/alecthomas/kong", ""},
		{"espalier.go", "github.com/alecthomas/kong", "package espalier may not import"},
		{"espalier.go", "golang.org/x/image/draw", ""},
		{"espalier.go", "golang.org/x/imagery", "package espalier may not import"},
		{"mil/x_test.go", "github.com/google/go-cmp/cmp", ""},
		{"internal/testkit/x.go", "github.com/google/go-cmp/cmp", ""},
		{"mil/x.go", "github.com/google/go-cmp/cmp", "package mil may not import"},
		{"internal/build/x.go", "github.com/rogpeppe/go-internal/cache", ""},
		{"e5rt/x.go", "github.com/rogpeppe/go-internal/testscript", "package e5rt may not import"},
		{"mil/x.go", "github.com/stranger/thing", "package mil may not import"},
	} {
		s := source{file: c.file, pkg: path.Dir(c.file), imports: []string{c.imports}}
		if s.pkg == "." {
			s.pkg = "espalier"
		}
		got := strings.Join(checkImports([]source{s}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s importing %s: got %q, want %q", c.file, c.imports, got, c.want)
		}
	}
}

// A deep law sees through packages on the way; the others do not.
func TestLayersBiteDeep(t *testing.T) {
	got := checkImports([]source{
		{file: "internal/ops/x.go", pkg: "internal/ops", imports: []string{modulePath + "/mil"}},
		{file: "internal/engine/x.go", pkg: "internal/engine", imports: []string{modulePath + "/bundle"}},
		{file: "bundle/x.go", pkg: "bundle", imports: []string{modulePath + "/mil"}},
		{file: "mil/x.go", pkg: "mil", imports: []string{modulePath + "/tensor"}},
		{file: "tensor/x.go", pkg: "tensor", imports: []string{modulePath + "/internal/kernel"}},
	})
	want := []string{"internal/ops: never imports mil, which imports tensor, which imports internal/kernel: the yardstick shares no code with what it measures"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFileNamesBite(t *testing.T) {
	for _, c := range []struct {
		file, text string
		ok         bool
	}{
		{"internal/ops/slidingwindows.go", "package ops\n", true},
		{"internal/ops/sliding_windows.go", "package ops\n", false},
		{"internal/ops/sliding_windows_test.go", "package ops\n", false},
		{"internal/ops/windows.go", "package ops\n", true},
		{"internal/ops/windows_sliding.go", "package ops\n", true},
		{"map_windows.go", "//go:build windows\n\npackage osfile\n", true},
		{"map_windows.go", "// A comment.\n\n//go:build windows && !race\n\npackage osfile\n", true},
		{"map_windows.go", "//go:build linux\n\npackage osfile\n", false},
		{"map_windows.go", "package osfile\n\n//go:build windows\n", false},
		{"gemm_avx2_amd64.go", "//go:build amd64\n\npackage kernel\n", true},
		{"gemm_avx2_amd64.go", "package kernel\n", false},
		{"map_unix.go", "package osfile\n", true}, // not a suffix that counts
	} {
		if got := checkFileName(c.file, []byte(c.text)); (got == "") != c.ok {
			t.Errorf("%s, %q: got %q", c.file, c.text, got)
		}
	}
}

func TestVersionsBite(t *testing.T) {
	for line, ok := range map[string]bool{
		"if t.Version == td.V7 {":                         false,
		"func newV7Build() *build {":                      false,
		"if isV7 {":                                       false,
		"layout := td.LayoutV256":                         false,
		"task_v7 := 1":                                    false,
		"func version256Task() {":                         false,
		"// of versions 7 and 256":                        false,
		"// of versions 11, 256 or others":                false,
		"// between versions 5 and 7":                     false,
		"if t.TaskVersion == 7 {":                         false,
		"if uint16(t.TaskVersion) != 256 {":               false,
		"x := Task{Version: 11}":                          false,
		"w.set(td.V7Cout, 1)":                             false,
		"v7build := newBuild()":                           false,
		"// as version 256 has it":                        false,
		`import "example.org/internal/encode/v256"`:       false,
		"// H13's own tasks":                              true,
		"func (v *value) version() int { return 7 }":      true,
		"// every value of the seven, version by version": true,
	} {
		if got := checkVersions("x.go", []byte(line+"\n")); (got == nil) != ok {
			t.Errorf("%s: got %q", line, got)
		}
	}
	for file, ok := range map[string]bool{"task_v7.go": false, "v256.go": false, "encodeV7.go": false, "v7/task.go": true, "seven.go": true, "convert.go": true} {
		if got := checkVersions(file, nil); (got == nil) != ok {
			t.Errorf("%s: got %q", file, got)
		}
	}
}

func TestPanicsBite(t *testing.T) {
	for line, ok := range map[string]bool{
		`panic("bug: no such kind")`:                   true,
		`panic(fmt.Sprintf("bug: kind %d", k))`:        true,
		`panic(p) // re-raise`:                         true,
		`// panic(err) would be wrong here`:            true,
		`dontpanic("never")`:                           true,
		`panic("no such kind")`:                        false,
		`panic(err)`:                                   false,
		`default: panic(fmt.Sprintf("kind %d", kind))`: false,
	} {
		if got := checkPanics("x.go", []byte("package x\n\n"+line+"\n")); (got == nil) != ok {
			t.Errorf("%s: got %q", line, got)
		}
	}
}
