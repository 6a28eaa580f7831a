package bundle

// checkPipeline holds the stages to the functions: each is one, and has its inputs
// when its turn comes.
func (m *Manifest) checkPipeline() error {
	p := m.Pipeline
	if p == nil {
		return nil
	}
	if p.Name == "" {
		return wrong("pipeline.name", "there is no name")
	}
	f := p.Function()
	for list, features := range f.features() {
		if err := checkFeatures("pipeline."+list, features); err != nil {
			return err
		}
	}
	if err := f.checkClassifier("pipeline.classifier"); err != nil {
		return err
	}
	have, stages := map[string]bool{}, map[string]bool{}
	for _, in := range p.Inputs {
		have[in.Name] = true
	}
	for i, name := range p.Stages {
		field := at("pipeline.stages", i)
		if err := unique(stages, field, name); err != nil {
			return err
		}
		stage := m.function(name)
		switch {
		case stage == nil:
			return wrong(field, "there is no function %q", name)
		case len(stage.States) > 0:
			return wrong(field, "function %q has states, which a pipeline does not keep", name)
		}
		for _, in := range stage.Inputs {
			if !in.Optional && !have[in.Name] {
				return wrong(field, "function %q takes %q, which neither the pipeline takes nor a stage before gives", name, in.Name)
			}
		}
		for _, out := range stage.Outputs {
			have[out.Name] = true
		}
	}
	if len(stages) != len(m.Functions) {
		return wrong("pipeline.stages", "%d stages, and the bundle has %d functions", len(stages), len(m.Functions))
	}
	for _, out := range p.Outputs {
		if !have[out.Name] {
			return wrong("pipeline.outputs", "no stage gives %q", out.Name)
		}
	}
	return nil
}

// function finds a function by its name; nil if there is none.
func (m *Manifest) function(name string) *Function {
	for i := range m.Functions {
		if m.Functions[i].Name == name {
			return &m.Functions[i]
		}
	}
	return nil
}
