package ops_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/mil"
)

// The texts that are wrong, and what the error must say: a value whose declared type the operation cannot
// give, and a function that returns nothing.
var wrongTexts = map[string][]string{
	"mlxomarchy_select_CoreML8.mil":        {"select", `"input_41_cast_fp16"`, "tensor<fp16, [1, 1024, 375]>", "tensor<fp16, [1, 8, 375, 375]>"},
	"fluidaudio_flexible_shape_header.mil": {"main", "return"},
}

// Real MIL texts of several ages, without their weight files, are held against the catalogue.
func TestRealTextsVerify(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(testkit.Shared(t, "mil"), "*.mil"))
	if err != nil || len(paths) != 27 {
		t.Fatalf("found %d texts, expected 27 (%v)", len(paths), err)
	}
	verified := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		p, err := mil.ParseText(name, text, nil)
		if err != nil {
			t.Errorf("%s does not parse: %v", name, err)
			continue
		}
		if err = mil.Verify(p); err == nil {
			err = ops.Verify(p)
		}
		wrong := wrongTexts[name]
		switch {
		case wrong == nil && err == nil:
			verified++
		case wrong == nil:
			t.Errorf("%s: %v", name, err)
		case err == nil:
			t.Errorf("%s is accepted", name)
		}
		for _, part := range wrong {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error %q does not say %q", name, err, part)
			}
		}
	}
	if verified != 25 {
		t.Errorf("%d texts verify, expected 25", verified)
	}
}
