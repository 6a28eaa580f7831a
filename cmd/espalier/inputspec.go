package main

import (
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// inputSpec is an --input flag taken apart.
type inputSpec struct {
	flag  string // as the user wrote it
	name  string // "" fills every input not given, or is the only input there is
	file  string // "" if the values are generated
	fill  filling
	seed  uint64
	shape []int // of generated values; nil: the default one
}

// filling is how values are generated.
type filling uint8

const (
	withZeros filling = iota
	withRandom
)

// parseInputSpec understands NAME=FILE, NAME=random[:SEED][@SHAPE], NAME=zeros[@SHAPE], FILE, random[:SEED] and zeros.
func parseInputSpec(flag string) (inputSpec, error) {
	s := inputSpec{flag: flag}
	value := flag
	if name, rest, named := strings.Cut(flag, "="); named {
		if s.name, value = name, rest; name == "" || value == "" {
			return s, usagef("--input %s: expected NAME=FILE, NAME=random or NAME=zeros", flag)
		}
	}
	value, shape, hasShape := strings.Cut(value, "@")
	word, seed, hasSeed := strings.Cut(value, ":")
	switch {
	case word == "random":
		s.fill = withRandom
	case word == "zeros" && !hasSeed:
		s.fill = withZeros
	case s.name == "":
		s.file = flag
		return s, nil
	default: // a file, whose name may have any of these signs
		_, s.file, _ = strings.Cut(flag, "=")
		return s, nil
	}
	var err error
	if hasSeed {
		if s.seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
			return s, usagef("--input %s: the seed is %q, expected a whole number", flag, seed)
		}
	}
	if hasShape {
		if s.name == "" {
			return s, usagef("--input %s: a shape is for one input: expected NAME=%s@%s", flag, value, shape)
		}
		if s.shape, err = parseShape(shape); err != nil {
			return s, usagef("--input %s: %w", flag, err)
		}
	}
	return s, nil
}

// parseShape understands 1x3x224x224.
func parseShape(text string) ([]int, error) {
	var shape []int
	for part := range strings.SplitSeq(text, "x") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, usagef("the shape is %q, expected lengths as in 1x3x224x224", text)
		}
		shape = append(shape, n)
	}
	if _, ok := tensor.Count(shape); !ok {
		return nil, usagef("the shape %s has more elements than any memory", text)
	}
	return shape, nil
}

// formatShape is the shape as parseShape reads it.
func formatShape(shape []int) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, "x")
}
