// Command conformance judges the built espalier command by cases that were taken from the unit tests of
// coremltools: a model, its inputs, the outputs that Core ML is compared with, and a tolerance.
//
// The cases are third-party files: they are read from their archives and never become part of the repository.
// What does not match is named, with its reason, in a report that is part of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := 0
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		code = 1
	}
	stop()
	os.Exit(code)
}

func run(ctx context.Context) error {
	espalier := flag.String("espalier", "bin/espalier", "the built `command`")
	archives := flag.String("archive", defaultArchive(), "the `folder` of the archives *.tar.gz")
	report := flag.String("report", "", "the `file` to write the report to, when all cases are run")
	least := flag.Float64("min", 0.99, "the `share` of the cases that must match")
	jobs := flag.Int("jobs", runtime.GOMAXPROCS(0), "how many cases run at a time")
	only := flag.String("run", "", "run only the cases whose name matches the `regexp`")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	command, err := filepath.Abs(*espalier)
	if err != nil {
		return err
	}
	if _, err := os.Stat(command); err != nil {
		return fmt.Errorf("the command to judge: %w", err)
	}

	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	names, err := unpack(ctx, *archives, dir, pattern)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no case in %s matches %q", *archives, *only)
	}

	verdicts := make([]verdict, len(names))
	var wg sync.WaitGroup
	next := make(chan int)
	for range max(1, *jobs) {
		wg.Go(func() {
			for i := range next {
				verdicts[i] = judge(ctx, command, dir, names[i])
			}
		})
	}
	for i := range names {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}

	for _, v := range verdicts {
		switch _, explained := explanations[v.name]; {
		case v.outcome != match:
			fmt.Printf("%s: %s: %s\n", v.name, v.outcome, v.reason)
		case explained:
			fmt.Printf("%s: it matches now: remove its explanation\n", v.name)
		}
	}
	if *report != "" && *only == "" {
		if err := os.MkdirAll(filepath.Dir(*report), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(*report, renderReport(verdicts), 0o666); err != nil {
			return err
		}
	}
	passed := count(verdicts, match)
	fmt.Printf("%d passed, %d failed\n", passed, len(verdicts)-passed)
	if share := float64(passed) / float64(len(verdicts)); share < *least {
		return fmt.Errorf("%.2f %% of the cases match, expected %.2f %%", 100*share, 100**least)
	}
	return nil
}

// defaultArchive is where the shared data has the archives: in the folder that ESPALIER_SHARED names, or
// beside the repository.
func defaultArchive() string {
	shared := os.Getenv("ESPALIER_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "shared")
	}
	return filepath.Join(shared, "conformance")
}
