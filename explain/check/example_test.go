package check_test

import (
	"context"
	"fmt"
	"log"

	"github.com/espalier-ane/espalier/explain/check"
	"github.com/espalier-ane/espalier/hal"
)

// What two chips make of a model, and what runs on the host.
func ExampleFile() {
	targets, err := hal.ParseList("m1,m4")
	if err != nil {
		log.Fatal(err)
	}
	r, err := check.File(context.Background(), "../../testdata/models/sort_topk/model.mlpackage", check.Options{Targets: targets})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Functions {
		for _, t := range f.Targets {
			fmt.Printf("%s: %s\n", t.Chip, t.Outcome(f))
		}
		for _, g := range f.Groups() {
			fmt.Println(g.ID, g.On())
		}
	}
	// Output:
	// M1: 2 segments; on the host: argsort ×3, topk ×2
	// M4: runs whole on the engine, 1 segment
	// codegen-topk h13g
	// codegen-sort h13g
}
