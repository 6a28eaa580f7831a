package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// outcome is how a case ended.
type outcome string

const (
	match    outcome = "match"
	mismatch outcome = "mismatch" // the outputs differ from the expected ones
	failure  outcome = "error"    // there are no outputs
)

// verdict is the outcome of a case.
type verdict struct {
	name    string
	outcome outcome
	reason  string // why it is no match
}

// patience is how long a case may take; the slowest takes a second.
const patience = 2 * time.Minute

// exitMismatch is the exit code of the command when the outputs differ.
const exitMismatch = 3

// judge runs the command on a case.
func judge(ctx context.Context, command, dir, name string) verdict {
	v := verdict{name: name, outcome: failure}
	args, err := arguments(dir, name)
	if err != nil {
		v.reason = err.Error()
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = dir                                        // such that messages have no path of this machine
	cmd.Env = append(os.Environ(), "ESPALIER_CACHE=off") // thousands of models that nobody runs again
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		v.outcome = match
	case ctx.Err() != nil:
		v.reason = fmt.Sprintf("not done after %v", patience)
	case errors.As(err, &exit) && exit.ExitCode() == exitMismatch:
		v.outcome = mismatch
		v.reason = differences(stdout.Bytes())
	default:
		v.reason = firstLine(stderr.String())
		if v.reason == "" {
			v.reason = err.Error()
		}
	}
	return v
}

// arguments is the command line for a case.
func arguments(dir, name string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, name, "meta.json"))
	if err != nil {
		return nil, err
	}
	var meta struct {
		Tolerance json.RawMessage `json:"tolerance"`
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return nil, fmt.Errorf("meta.json: %w", err)
	}
	args := []string{
		"run", filepath.Join(name, "model.mlpackage"), "--json",
		"--inputs", filepath.Join(name, "inputs.npz"), "--expect", filepath.Join(name, "expected.npz"),
	}
	var all float64
	var each map[string]float64
	switch {
	case json.Unmarshal(meta.Tolerance, &all) == nil:
		args = append(args, "--tolerance", formatNumber(all))
	case json.Unmarshal(meta.Tolerance, &each) == nil:
		for _, output := range slices.Sorted(maps.Keys(each)) {
			args = append(args, "--tolerance", output+"="+formatNumber(each[output]))
		}
	default:
		return nil, fmt.Errorf("meta.json: the tolerance is %s, expected a number or numbers by output", meta.Tolerance)
	}
	return args, nil
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// differences takes the reasons from what run --json printed.
func differences(report []byte) string {
	var r struct {
		Cases []struct {
			Expect []struct {
				Output string `json:"output"`
				Match  bool   `json:"match"`
				Reason string `json:"reason"`
			} `json:"expect"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return "the report cannot be read: " + err.Error()
	}
	var reasons []string
	for _, c := range r.Cases {
		for _, e := range c.Expect {
			if !e.Match {
				reasons = append(reasons, e.Output+": "+e.Reason)
			}
		}
	}
	return strings.Join(reasons, "; ")
}

// firstLine is the first line of an error message, without the name of the command.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimPrefix(line, "espalier: ")
}
