package espalier

import "github.com/espalier-ane/espalier/internal/ops"

// An IndexError is the error of a prediction, or of a compile, in which an
// operation with validate_indices has an index that is out of range. Without
// it, such an index reads zero and writes nothing, on every unit.
type IndexError = ops.IndexError
