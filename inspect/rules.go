package inspect

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
)

// A rule is a gate or a hazard by its ID.
type rule struct {
	ID, Title, Help string
}

// placementRules are the gates that stand before the validators and behind them.
var placementRules = []rule{
	{"no-layer", "The operation has no native form", "The operation, as it stands here, cannot be written as native layers: its shape, type or arguments are in the way. The finding says which."},
	{"no-task", "No task comes of the operation", "A later phase of the compiler did not take the operation's layers."},
	{"no-conversion", "The converter does not know the operation", "Write the operation as others."},
	{"no-engine-operation", "The operation is on no chip's engine", "Write the operation as others that the engine has; the finding says which."},
	{"no-code-generation", "No code is generated for the operation", "The compiler knows the operation, and makes no code of it by itself. The finding says what to do."},
	{"minimum-family", "The operation is native on later chips", "The conversion route has a minimum family for the operation. Choose later chips, or write the operation as others."},
	{"type-not-on-engine", "The engine does not compute with the type", "The engine computes in fp16. Convert the model with a compute precision of FLOAT16, or cast before the operation."},
	{"flexible-shapes", "Inputs have no fixed shapes", "Programs of the engine have fixed shapes: enumerate those that are used, or pad to one."},
	{"view-on-host", "The operation only moves what the host makes or reads", "Nothing is to be done: a segment of its own would cost more. It follows what runs on the host beside it."},
	{"stand-in", "Something else stands in for the operation", "The operation runs on the engine by other means than its own, which may be slower or round differently."},
}

// ruleOf is the rule with an ID. The validators, whose gates are many, share a title.
func ruleOf(id string) rule {
	for _, r := range placementRules {
		if r.ID == id {
			return r
		}
	}
	for _, h := range compiler.HazardRules() {
		if h.ID == id {
			return rule{h.ID, "Hazard: " + h.Doc, "Instead: " + h.Remedy + "."}
		}
	}
	for _, v := range anec.CodegenVerdicts() {
		if v.ID == id {
			return rule{v.ID, "No code is generated for " + v.Subject, instead(v.Remedy)}
		}
	}
	return rule{id, "A validator of the engine's compiler rejects the layer: " + id, instead("")}
}

func instead(remedy string) string {
	if remedy == "" {
		return "The finding has the limit of the target, the value found and what to write instead."
	}
	return "Instead: " + remedy + "."
}
