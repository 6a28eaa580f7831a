package anec

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
)

// PlaneReader takes an image that enters the network by its planes. (Known is
// the class alone: what it reads and makes is inferred.)
type PlaneReader struct{}

// PlaneWriter leaves an image by its planes.
type PlaneWriter struct{}

var planeReaderInfo = KindInfo{
	Kind: KindPlaneReader, Name: "PlaneReader", Dialect: Dialect{Name: "plane_reader"}, Standing: UnitOnly, Class: td.ClassPlaneReader,
	Sources: "C", Unsure: "all but the class",
	New: func() Params { return &PlaneReader{} }, Contract: contract("y", "x"),
	Example: Example{"", "fp16[1,1,8,16,16]"},

	NoValidator: "image input by four-character code, behind an entitlement (guide 19): Codegen", Codegen: planeReaderCodegen,

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: free,
	Refused: "what it reads is known to Apple's frameworks alone, behind an entitlement (guide 8 and 19); take the image as uint8",
	NoTask:  "what it reads is not known",
}

func (*PlaneReader) Info() *KindInfo                   { return &planeReaderInfo }
func (*PlaneReader) infer(o *operands) ([]Type, error) { return like(o) }

var planeWriterInfo = KindInfo{
	Kind: KindPlaneWriter, Name: "PlaneWriter", Dialect: Dialect{Name: "plane_writer"}, Standing: UnitOnly, Class: td.ClassPlaneWriter,
	Sources: "C", Unsure: "all but the class",
	New: func() Params { return &PlaneWriter{} }, Contract: contract("y", "x"),
	Example: Example{"", "fp16[1,1,8,16,16]"},

	NoValidator: "image output, as PlaneReader: Codegen", Codegen: planeWriterCodegen,

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: free,
	Refused: "what it writes is known to Apple's compiler alone (guide A); give the tensor",
	NoTask:  "what it writes is not known",
}

func (*PlaneWriter) Info() *KindInfo                   { return &planeWriterInfo }
func (*PlaneWriter) infer(o *operands) ([]Type, error) { return like(o) }

var planeReaderCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenPlaneReader, Subject: "image input by four-character code", From: firstFamily, To: lastFamily, Fails: true,
		Text: "true 4CC input faults at lowering; use the uint8 in-graph image input instead", Remedy: "take the image as uint8 and convert in the graph",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide 19",
	},
}

var planeWriterCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenPlaneWriter, Subject: "image output by planes", From: firstFamily, To: lastFamily, Fails: true,
		Text: "image output is internal to the compiler", Remedy: "give the tensor and convert outside",
		Status: hal.Predicted, Source: "guide A: tensor_to_pixel_buffer is compiler-internal; text: ours",
	},
}
