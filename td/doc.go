// Package td has the task descriptors: what one pass of an engine is told, as
// header words and runs of register writes.
//
// A version of the descriptor is a Layout: blocks of registers with named bit
// fields, each row with its source and how sure that source is, and the codec of
// its words. All that handles tasks asks the layout, so that a new version is a
// new table. Words that no row names are kept, and shown as unknown.
//
//   - Version 7 is the real encoding of H13, checked on Apple's programs.
//   - Version 10 is what the guide describes. No file shows it: it is read,
//     written and dumped, never executed.
//   - Version 256 is ours, for the target virtual. An Op is its typed form.
//     v256.md has the register map.
//
// The package also knows the data that tasks load beside their registers: the
// kernel streams (Kernel) and the activation tables (Table).
//
// It does not know where a task comes from or what executes it.
//
// Sources are cited as in "h13 2.3", a section of the fact sheet that was
// checked on real programs, "oracles 5", a section of the sheet about recorded
// compiler output, "seed 23.4", a table of the program-format document, and
// "guide C.6", a section of the ane-guide.
package td
