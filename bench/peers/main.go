// Peers measures this project beside ONNX Runtime: the same networks, the same
// weights, the same inputs, in turn in one process. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A bench is what the measurements share.
type bench struct {
	models string // the folder of the networks
	cache  string // ours, of what is downloaded and made
	isa    string // what ESPALIER_ISA asks for
	rounds int
	ort    *ort // nil if it is missing
}

// complete makes a network complete and returns its folder.
func (b *bench) complete(name string) (string, error) {
	dir := filepath.Join(b.cache, "models", name)
	return dir, complete(filepath.Join(b.models, name), dir)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	shared := os.Getenv("ESPALIER_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	userCache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	b := &bench{isa: os.Getenv("ESPALIER_ISA")}
	flag.StringVar(&b.models, "folder", filepath.Join(shared, "models", "bench"), "the folder of the networks")
	flag.StringVar(&b.cache, "cache", filepath.Join(userCache, "espalier-peers"), "where networks with weights and the peer's library are kept")
	flag.IntVar(&b.rounds, "rounds", 11, "phases of each side")
	models := flag.String("models", "all", "networks, by name")
	threads := flag.String("threads", "1,2", "numbers of threads")
	flag.Parse()

	library, err := findORT(b.cache)
	if err == nil {
		b.ort, err = loadORT(library)
	}
	if err != nil {
		fmt.Printf("ONNX Runtime is missing: %v\n", err)
	}
	ctx := context.Background()
	var wrong []error
	for _, m := range twins {
		if *models != "all" && !slices.Contains(strings.Split(*models, ","), m.name) {
			continue
		}
		for _, n := range strings.Split(*threads, ",") {
			n, err := strconv.Atoi(n)
			if err != nil {
				return err
			}
			r := b.measure(ctx, m.name, m.tolerance, n)
			fmt.Printf("%-24s %d threads  ours %9.3f (min %9.3f)  ORT %9.3f (min %9.3f)  ratio %.3f  difference %.2g %s\n", r.Model, r.Threads, r.Ours.Median, r.Ours.Min, r.Peer.Median, r.Peer.Min, r.Ratio, r.Difference, r.Error)
			if r.Error != "" {
				wrong = append(wrong, fmt.Errorf("%s: %s", r.Model, r.Error))
			}
		}
	}
	return errors.Join(wrong...)
}
