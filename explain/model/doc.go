// Package model describes models without running them: what their functions take and give, their operations and their
// weights.
//
//	r, err := model.File("net.mlpackage")
//	r.WriteText(os.Stdout)
//
// A model is a package, a model file, a compiled model, MIL text, a bundle or a hardware container. What a chip makes of one,
// package check says.
package model
