// Package v256 is the encoder of version 256, our own task descriptors: a layer becomes one operation on operands of any strides,
// a concatenation one for each part. It takes every layer that becomes a task at all, on every target.
package v256
