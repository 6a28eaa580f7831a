package layers_test

import (
	"fmt"
	"log"

	"github.com/espalier-ane/espalier/explain/layers"
)

// The first chip that sorts, and what the others say.
func ExampleFind() {
	k, err := layers.Find("Sort")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(k.Authored.Chips)
	for _, f := range k.Fields {
		fmt.Println(f.Name, f.Default, f.Key)
	}
	for _, c := range k.Codegen {
		fmt.Println(c.Outcome, c.From, c.To, c.Text)
	}
	// Output:
	// M2, A15 or later
	// Direction Ascending Direction
	// Axis N SortDimension
	// VectorAxis N VectorDimension
	// Keys [] SortIndices
	// Results Values Indices
	// no code A11Legacy A13 Sort passes validation and is rejected at code generation on this architecture
}
