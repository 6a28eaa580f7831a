// Package mil holds Core ML programs: functions, blocks, operations, values and their types.
//
//	Program ─ Function ─ Block ─ Operation ─ Block …
//	                       │         ├ Inputs   parameter → values or constants
//	                       │         ├ Outputs  values it defines
//	                       │         └ Attributes
//	                       └ Outputs
//
// A Value is defined once, by an operation, a function or a block; an operation refers to values by
// pointer, so a program whose names clash or dangle cannot be expressed: readers resolve names and report
// the ones that do not resolve. Package mil knows the structure of programs, not what an operation means:
// signatures, types and shapes are the catalogue's business (internal/ops).
package mil
