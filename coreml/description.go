package coreml

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
)

// Description says what a model takes and gives, and where it comes from.
type Description struct {
	// Functions are the model's functions, at least one. A description of an older kind does not name
	// functions: it has one, "main".
	Functions       []FunctionDescription
	DefaultFunction string // the name of the function that runs when none is named
	TrainingInputs  []Feature
	Metadata        Metadata
}

// FunctionDescription says what a function takes and gives.
type FunctionDescription struct {
	Name    string
	Inputs  []Feature
	Outputs []Feature
	States  []Feature
	// Of a classifier: the outputs that hold the best label and the probabilities of all labels.
	PredictedFeature, PredictedProbabilities string
}

// DefaultShapes are the shapes that the open inputs of a program's function have unless others are chosen. An input is not
// among them if the description, which may be nil, does not say.
func (d *FunctionDescription) DefaultShapes(f *mil.Function) map[string][]int {
	shapes := map[string][]int{}
	if d == nil {
		return shapes
	}
	for _, v := range f.OpenInputs() {
		for _, in := range d.Inputs {
			if in.Name != v.Name {
				continue
			}
			switch t := in.Type.(type) {
			case *ArrayType:
				if shape, ok := t.DefaultShape(); ok {
					shapes[v.Name] = shape
				}
			case *ImageType:
				shapes[v.Name] = t.DefaultShape()
			}
		}
	}
	return shapes
}

// Metadata is what the author says about a model.
type Metadata struct {
	ShortDescription, Version, Author, License string
	UserDefined                                map[string]string
}

// Function finds a function by name, the default one if the name is empty; nil if there is none.
func (d *Description) Function(name string) *FunctionDescription {
	if name == "" {
		name = d.DefaultFunction
	}
	for i := range d.Functions {
		if d.Functions[i].Name == name {
			return &d.Functions[i]
		}
	}
	return nil
}

// mainFunction is the name of the only function of a model that does not name its functions.
const mainFunction = "main"

// description decodes a ModelDescription (Model.proto).
func (k *keeper) description(m message) (Description, error) {
	var d Description
	var top FunctionDescription
	var metadata message
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			k.feature(f, "input", &top.Inputs)
		case 10:
			k.feature(f, "output", &top.Outputs)
		case 11:
			top.PredictedFeature = f.text("predictedFeatureName")
		case 12:
			top.PredictedProbabilities = f.text("predictedProbabilitiesName")
		case 13:
			k.feature(f, "state", &top.States)
		case 20:
			function, err := k.functionDescription(f.message("functions"))
			f.wrapAt("functions", len(d.Functions), err)
			d.Functions = append(d.Functions, function)
		case 21:
			d.DefaultFunction = f.text("defaultFunctionName")
		case 50:
			k.feature(f, "trainingInput", &d.TrainingInputs)
		case 100:
			f.one("metadata", &metadata)
		default:
			k.keep("ModelDescription", f)
		}
	}
	if f.err != nil {
		return d, f.err
	}
	var err error
	if d.Metadata, err = k.metadata(metadata); err != nil {
		return d, under("metadata", err)
	}
	seen := map[string]bool{}
	for _, function := range d.Functions {
		if seen[function.Name] {
			return d, under("functions", damage(m.at, "function %q is described twice", function.Name))
		}
		seen[function.Name] = true
	}
	switch {
	case len(d.Functions) == 0:
		if err := top.checkNames(m.at); err != nil {
			return d, err
		}
		top.Name = mainFunction
		d.Functions, d.DefaultFunction = []FunctionDescription{top}, mainFunction
	case len(top.Inputs)+len(top.Outputs)+len(top.States) > 0:
		return d, damage(m.at, "features are described both for the model and for its functions")
	case d.DefaultFunction == "" && len(d.Functions) == 1:
		d.DefaultFunction = d.Functions[0].Name
	case d.Function("") == nil:
		return d, under("defaultFunctionName", damage(m.at, "there is no function %q", d.DefaultFunction))
	}
	return d, nil
}

func (k *keeper) functionDescription(m message) (FunctionDescription, error) {
	var d FunctionDescription
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			d.Name = f.text("name")
		case 2:
			k.feature(f, "input", &d.Inputs)
		case 3:
			k.feature(f, "output", &d.Outputs)
		case 4:
			d.PredictedFeature = f.text("predictedFeatureName")
		case 5:
			d.PredictedProbabilities = f.text("predictedProbabilitiesName")
		case 6:
			k.feature(f, "state", &d.States)
		default:
			k.keep("FunctionDescription", f)
		}
	}
	switch {
	case f.err != nil:
		return d, f.err
	case d.Name == "":
		return d, under("name", damage(m.at, "the function has no name"))
	}
	return d, d.checkNames(m.at)
}

// checkNames refuses two inputs, two outputs or two states of one name. An output may have the name of an
// input that it passes on.
func (d *FunctionDescription) checkNames(at int64) error {
	for _, list := range []struct {
		field    string
		features []Feature
	}{{"input", d.Inputs}, {"output", d.Outputs}, {"state", d.States}} {
		seen := map[string]bool{}
		for _, feature := range list.features {
			if seen[feature.Name] {
				return under(list.field+"["+feature.Name+"]", damage(at, "there are two features of this name"))
			}
			seen[feature.Name] = true
		}
	}
	return nil
}

func (k *keeper) metadata(m message) (Metadata, error) {
	var d Metadata
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			d.ShortDescription = f.text("shortDescription")
		case 2:
			d.Version = f.text("versionString")
		case 3:
			d.Author = f.text("author")
		case 4:
			d.License = f.text("license")
		case 100:
			if d.UserDefined == nil {
				d.UserDefined = map[string]string{}
			}
			var key, value string
			e := f.message("userDefined").fields()
			for e.next() {
				switch e.num {
				case 1:
					key = e.text("key")
				case 2:
					value = e.text("value")
				}
			}
			f.wrap("userDefined["+key+"]", e.err)
			d.UserDefined[key] = value
		default:
			k.keep("Metadata", f)
		}
	}
	return d, f.err
}

// feature decodes the current field of f, a FeatureDescription, and appends it to the list.
func (k *keeper) feature(f *fields, name string, list *[]Feature) {
	m := f.message(name)
	if f.err != nil {
		return
	}
	feature, err := k.featureDescription(m)
	if err != nil {
		label := fmt.Sprint(len(*list))
		if feature.Name != "" {
			label = feature.Name
		}
		f.err = under(name+"["+label+"]", err)
		return
	}
	*list = append(*list, feature)
}

func (k *keeper) featureDescription(m message) (Feature, error) {
	var d Feature
	var typ message
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			d.Name = f.text("name")
		case 2:
			d.Description = f.text("shortDescription")
		case 3:
			f.one("type", &typ)
		default:
			k.keep("FeatureDescription", f)
		}
	}
	switch {
	case f.err != nil:
		return d, f.err
	case d.Name == "":
		return d, under("name", damage(m.at, "the feature has no name"))
	case !typ.present():
		return d, under("type", damage(m.at, "the feature has no type"))
	}
	var err error
	d.Type, d.Optional, err = k.featureType(typ)
	return d, under("type", err)
}
