// Package coreml reads model files: packages (.mlpackage, a folder or a zip archive), specifications
// (.mlmodel), compiled models (.mlmodelc) and bare MIL texts (.mil).
//
//	m, err := coreml.Open("model.mlpackage")
//	defer m.Close()
//	m.Description          // features, functions, metadata
//	p, err := m.Program()  // decoded when it is asked for
//
// Files are mapped, not read. Open looks at the top of the specification only; Program decodes the program
// but not its weights; an array of a weight file is a view of the mapping. So a model of many gigabytes opens
// in no time, and the arrays of a model must not be used after its Close.
//
// Nothing outside the package is read: a path that leaves it, by its spelling or through a symbolic link, is
// an error. A damaged file gives an error that names the file, the field and the byte; see FormatError.
//
// The protobuf rules are the usual ones with two exceptions, both stricter: a field of message type that
// should occur once and occurs twice is an error instead of being merged, as are two members of one
// alternative ("oneof") and two entries of a program's map with the same key; a known field with the wrong wire type
// is an error instead of an unknown field. Of a scalar field that occurs twice, the last one counts. Fields
// that are not known, or known but without a place in mil.Program, are kept as raw bytes (Model.Unknown).
//
// The package knows files, not the meaning of operations, and it executes nothing.
package coreml
