// Peers measures this project beside ONNX Runtime: the same networks, the same
// weights, the same inputs, in turn in one process. See README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// A bench is what the measurements share.
type bench struct {
	models  string // the folder of the networks
	cache   string // ours, of what is downloaded and made
	isa     string // what ESPALIER_ISA asks for
	threads []int
	rounds  int
	ort     *ort // nil if it is missing
}

// auto stands for no ESPALIER_ISA: we choose.
const auto = "auto"

// drawn is another where weights are drawn in another way.
const drawn = "-2"

// complete makes a network complete and returns its folder.
func (b *bench) complete(name string) (string, error) {
	dir := filepath.Join(b.cache, "models", name+drawn)
	return dir, complete(filepath.Join(b.models, name), dir)
}

// options are the command line, and what it says.
type options struct {
	folder, cache               string
	models, parts, threads, isa string
	rounds                      int
	json, markdown              string
	child                       string

	modelNames, partNames, sets []string
	threadCounts                []int
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	o, err := parse()
	if err != nil {
		return err
	}
	if o.child != "" {
		return runChild(o.child)
	}
	var r *Report
	if len(o.sets) == 0 {
		r, err = o.measure()
	} else {
		r, err = o.measureSets()
	}
	if err != nil {
		return err
	}
	if err := r.write(o); err != nil {
		return err
	}
	if list := r.failed(); len(list) > 0 {
		return errors.New(strings.Join(list, "\npeers: "))
	}
	return nil
}

func parse() (o *options, err error) {
	shared := os.Getenv("ESPALIER_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	o = &options{}
	flag.StringVar(&o.folder, "folder", filepath.Join(shared, "models", "bench"), "the `folder` of the networks")
	flag.StringVar(&o.cache, "cache", filepath.Join(cache, "espalier-peers"), "the `folder` where complete networks and the peer's library are kept")
	flag.StringVar(&o.models, "models", "all", "`names` of networks, or all, or none")
	flag.StringVar(&o.parts, "parts", "", "`names` of other figures: variants, targets, memory, first, matmul, or all")
	flag.StringVar(&o.threads, "threads", "1,2", "`numbers` of threads")
	flag.StringVar(&o.isa, "isa", "", "`names` of instruction sets to measure in turn, as ESPALIER_ISA, or auto, or all; as it is now by default")
	flag.IntVar(&o.rounds, "rounds", 11, "phases of each side")
	flag.StringVar(&o.json, "json", "", "`file` for the figures as JSON")
	flag.StringVar(&o.markdown, "results", "", "`file` for the figures as a page")
	flag.StringVar(&o.child, "child", "", "a task for a process of its own, as JSON")
	flag.Parse()
	if flag.NArg() > 0 {
		return nil, fmt.Errorf("%q is not expected", flag.Arg(0))
	}

	var known, names []string
	for _, m := range twins {
		known = append(known, m.name)
	}
	for _, p := range parts {
		names = append(names, p.name)
	}
	for _, n := range strings.Split(o.threads, ",") {
		count, err := strconv.Atoi(n)
		if err != nil || count < 1 {
			return nil, fmt.Errorf("-threads: %q is no number of threads", n)
		}
		o.threadCounts = append(o.threadCounts, count)
	}
	if o.modelNames, err = choose("models", o.models, known); err != nil {
		return nil, err
	}
	if o.partNames, err = choose("parts", o.parts, names); err != nil {
		return nil, err
	}
	if o.isa == "all" {
		o.sets = setsHere()
		return o, nil
	}
	o.sets, err = choose("isa", o.isa, append(setsHere(), "go"))
	return o, err
}

// choose reads a list of names.
func choose(what, list string, known []string) ([]string, error) {
	switch list {
	case "all":
		return known, nil
	case "", "none":
		return nil, nil
	}
	names := strings.Split(list, ",")
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("-%s: there is no %q here, only %s", what, n, strings.Join(known, ", "))
		}
	}
	return names, nil
}

// setsHere are the instruction sets that all stands for: our choice, and each that
// the machine has.
func setsHere() []string {
	sets := []string{auto}
	for _, s := range []struct {
		set  isa.Set
		name string
	}{{isa.AMX, "amx"}, {isa.AVX512, "avx512"}, {isa.AVX2, "avx2"}, {isa.NEON, "neon"}} {
		if isa.Have().Has(s.set) {
			sets = append(sets, s.name)
		}
	}
	return sets
}

// measure measures everything in this process.
func (o *options) measure() (*Report, error) {
	b := &bench{models: o.folder, cache: o.cache, isa: os.Getenv("ESPALIER_ISA"), threads: o.threadCounts, rounds: o.rounds}
	if b.isa == "" {
		b.isa = auto
	}
	if err := isa.Err(); err != nil {
		return nil, err
	}
	peer := ""
	library, err := findORT(b.cache)
	if err == nil {
		b.ort, err = loadORT(library)
	}
	if err != nil {
		peer = fmt.Sprintf("missing: %v", err)
	} else {
		peer = b.ort.version
	}
	r := &Report{Machine: describeMachine(peer), Rounds: o.rounds}
	fmt.Printf("%s, %d cores, %s; ONNX Runtime %s\n", r.Machine.Processor, r.Machine.Cores, r.Machine.Sets, peer)
	ctx := context.Background()
	for _, m := range twins {
		if !slices.Contains(o.modelNames, m.name) {
			continue
		}
		for _, threads := range o.threadCounts {
			x := b.measure(ctx, m.name, m.tolerance, threads)
			r.Results = append(r.Results, x)
			fmt.Printf("%-22s %-6s %d threads  ours %-19s ORT %-19s ratio %.2f (of least %.2f)  difference %.1e  others %2.0f %%  %s\n",
				x.Model, x.ISA, x.Threads, x.Ours, x.Peer, x.Ratio, x.Peer.Min/x.Ours.Min, x.Difference, 100*x.Others, x.Error)
		}
	}
	for _, p := range parts {
		if !slices.Contains(o.partNames, p.name) {
			continue
		}
		figures := p.measure(b, ctx)
		r.Figures = append(r.Figures, figures...)
		for _, f := range figures {
			fmt.Println(strings.Join(f.row(), "  "))
		}
	}
	return r, nil
}

// measureSets measures each instruction set in a process of its own, since the
// choice is made at the start of one.
func (o *options) measureSets() (*Report, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	all := &Report{Rounds: o.rounds}
	for i, set := range o.sets {
		var names []string
		for _, p := range parts {
			if slices.Contains(o.partNames, p.name) && (i == 0 || p.every) {
				names = append(names, p.name)
			}
		}
		path := filepath.Join(dir, set+".json")
		cmd := exec.Command(self, "-folder", o.folder, "-cache", o.cache, "-models", o.models, "-parts", strings.Join(names, ","),
			"-threads", o.threads, "-rounds", strconv.Itoa(o.rounds), "-json", path)
		cmd.Env = append(os.Environ(), "ESPALIER_ISA="+strings.TrimPrefix(set, auto))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		failure := cmd.Run()
		text, err := os.ReadFile(path)
		if err != nil { // what the others measured is worth keeping
			all.Failed = append(all.Failed, fmt.Sprintf("%s: %v", set, errors.Join(failure, err)))
			continue
		}
		var r Report
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, err
		}
		if all.Machine.Sets == "" {
			all.Machine = r.Machine
			all.Machine.Sets = isa.Have().String()
		}
		all.Results = append(all.Results, r.Results...)
		all.Figures = append(all.Figures, r.Figures...)
	}
	return all, nil
}

// write writes the files that were asked for.
func (r *Report) write(o *options) error {
	if o.json != "" {
		text, err := json.MarshalIndent(r, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.markdown == "" {
		return nil
	}
	file, err := os.Create(o.markdown)
	if err != nil {
		return err
	}
	return errors.Join(r.markdown(file), file.Close())
}
