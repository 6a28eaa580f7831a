// Package e5 reads and writes the dispatch descriptor: the FlatBuffer that says
// which operations a program is made of, in which order they are dispatched, and
// which buffers they bind. It stands above the hardware containers: a network
// that runs on the engine in one piece is a cast, one AneInference and a cast,
// whatever its depth.
//
//	f := e5.NewFunction("main")
//	f.Add(inputs, outputs, e5.AneInferenceAttrs{ProcedureName: "main_ane"})
//	p := &e5.Program{Functions: []*e5.Function{f}}
//	data, err := p.Encode()
//	p, err = e5.Decode(data)
//
// Nobody has published the schema. The ane-guide reconstructed it (chapter 23,
// listing 23.1 and tables 23.2, 23.3, 23.12; appendix C.7), and Tables gives it
// row by row with what is from there and what is ours. What the guide leaves
// open, and we had to settle in order to write:
//
//   - The root has names, build info, sections and a version, and nothing that
//     leads to functions and operations. So a Section has a third field, its
//     content: a nested FlatBuffer. __text__ holds the functions, and each
//     operation has its two sections, __arg_frame and __op_attrs, as in 23.1.
//   - Inputs and outputs of an operation are numbers; here they count the root's
//     symbol names, as those of an alias do.
//   - Of the twelve kinds of operation, only Cast and AneInference have known
//     attributes. CpuInference names the host's function, the others are raw.
//
// # Where the sources disagree
//
// Table 23.2 gives 4, 8, 12 and 16 as the vtable offsets of the root's fields.
// In a FlatBuffer, the entries of four fields stand at bytes 4, 6, 8 and 10 of
// the vtable. But the tag of table 23.1, the vtable's first bytes 0c00 1400 0400
// 0800, reads: a vtable of 12 bytes, so four fields; a table of 20 bytes; the
// first field at its byte 4, the second at 8. So the table's numbers are the
// vtable's entries: where the fields stand in the root, after the four bytes that
// lead to the vtable. The whole vtable is 0c00 1400 0400 0800 0c00 1000, and
// Encode writes it right after the first four bytes, 1000 0000.
//
// The element types of an operand are those of table 23.12 here. Appendix C.7
// numbers them differently (Float16 is 1) and says that it inferred the numbers.
// Listing 23.1 has the kind of an operation in one byte, C.7 in four: here the
// field of Operation has four, and the union's tag has one, as every FlatBuffer
// union's.
//
// A published note on the descriptors of an M1 Ultra (joshuaswarren/
// ane-linux-experiments, 2026-09-17) fits the tag but, as we read its numbers,
// not the order of the fields: the first leads to the end of the file, where the
// chip's number stands, the second to six sections (__build_info__,
// __extern_out_main__, __extern_in_main__, __const__, __text__, __sym_desc__),
// the third to seven symbols with the names used here. If that is so, the
// fourth, whose value is always 4, may be no version but the distance to the
// bytes that follow. No such file is at hand; table 23.2 stands until one is.
package e5
