// Package ops is the operation catalogue: the one place that knows what a MIL operation means.
//
// An operation is a Def, a row of the catalogue: its signature per opset, its type rule and its
// evaluation stand together in one file. Over the catalogue stand two users:
//
//	Verify     walks a program, infers the type of every value and compares it with the declared one
//	Evaluator  runs a function on the host: the yardstick, and the backend for what no engine runs
//
// Both build a Call for an operation, the arguments bound to its parameters, and hand it to the Def. A type
// rule sees types and the values that are known; an evaluation sees all values and the types that
// the rule gave for them, which are then concrete.
//
// While a function is evaluated, floating-point tensors of every width are held as float32 and integers and
// booleans in their own type. What Numerics says about rounding happens in one place, when an operation's
// result is stored. Tensors are never written after that: views may be shared freely.
package ops
