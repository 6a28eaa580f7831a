package aneclient

// ProcedureInfo is what a caller has to know of a procedure: -procedureInfoForProcedureIndex:.
type ProcedureInfo struct {
	Index           int
	Name            string
	Inputs, Outputs []Port // by symbol; states are among both
	Tasks           int

	IntermediateBytes int64 // that tasks keep between them
	ConstantBytes     int64 // weights and other constants
	StateBytes        int64
}

// ModelAttributes are what is known of a model that is loaded: -modelAttributes.
type ModelAttributes struct {
	Target     string
	Numerics   string
	Procedures []ProcedureInfo
}

// ProcedureCount is the number of procedures of the loaded model, 0 if it is not.
func (m *Model) ProcedureCount() int {
	if p := m.Program(); p != nil {
		return len(p.procedures)
	}
	return 0
}

// ProcedureInfo describes a procedure of the loaded model.
func (m *Model) ProcedureInfo(index int) (*ProcedureInfo, error) {
	p, err := m.loaded()
	if err != nil {
		return nil, err
	}
	q, err := p.procedure(index)
	if err != nil {
		return nil, err
	}
	i := q.object.info
	return &ProcedureInfo{index, q.name, q.inputs, q.outputs, i.Tasks, i.IntermediateBytes, i.ConstantBytes, i.StateBytes}, nil
}

// Attributes describe the loaded model.
func (m *Model) Attributes() (*ModelAttributes, error) {
	p, err := m.loaded()
	if err != nil {
		return nil, err
	}
	a := &ModelAttributes{Target: m.client.target.Name, Numerics: m.client.target.Name}
	m.mu.Lock()
	if m.object != nil {
		a.Numerics = m.object.bundle.Manifest.Numerics
	}
	m.mu.Unlock()
	for i := range p.procedures {
		info, err := m.ProcedureInfo(i)
		if err != nil {
			return nil, err
		}
		a.Procedures = append(a.Procedures, *info)
	}
	return a, nil
}

// InputSymbolIndices are the symbols of a procedure's inputs: -inputSymbolIndicesForProcedureIndex:.
func (m *Model) InputSymbolIndices(procedure int) ([]int, error) {
	return m.symbols(procedure, func(i *ProcedureInfo) []Port { return i.Inputs })
}

// OutputSymbolIndices are those of its outputs: -outputSymbolIndicesForProcedureIndex:.
func (m *Model) OutputSymbolIndices(procedure int) ([]int, error) {
	return m.symbols(procedure, func(i *ProcedureInfo) []Port { return i.Outputs })
}

func (m *Model) symbols(procedure int, side func(*ProcedureInfo) []Port) (list []int, err error) {
	info, err := m.ProcedureInfo(procedure)
	if err != nil {
		return nil, err
	}
	for _, p := range side(info) {
		list = append(list, p.Symbol)
	}
	return list, nil
}

// InputSymbolNames and OutputSymbolNames are the names of a procedure's ports, by symbol.
func (m *Model) InputSymbolNames(procedure int) ([]string, error) {
	info, err := m.ProcedureInfo(procedure)
	if err != nil {
		return nil, err
	}
	return names(info.Inputs), nil
}

// OutputSymbolNames are those of its outputs.
func (m *Model) OutputSymbolNames(procedure int) ([]string, error) {
	info, err := m.ProcedureInfo(procedure)
	if err != nil {
		return nil, err
	}
	return names(info.Outputs), nil
}

func names(ports []Port) (list []string) {
	for i := range ports {
		list = append(list, ports[i].Name)
	}
	return list
}
