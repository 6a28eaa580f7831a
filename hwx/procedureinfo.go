package hwx

// A ProcedureInfo is what a caller has to know of a procedure to call it: what the
// runtime's `procedureInfoForProcedureIndex:` is to say (seed, experiment O, where
// it is empty).
type ProcedureInfo struct {
	Index int
	Name  string

	Inputs, Outputs, States []Port // in the order of the tensor threads

	// InputSymbols and OutputSymbols are the symbol indices of its inputs and
	// outputs, in the order of its ports; see IOSymbols. A state is in both.
	InputSymbols, OutputSymbols []int

	Tasks             int
	TaskBytes         int64 // of the text
	InputBytes        int64 // of the windows' sections
	OutputBytes       int64
	StateBytes        int64
	IntermediateBytes int64 // what tasks keep between them: the intermediate buffer
	DerivedBytes      int64 // what is made of constants when it is loaded
	ConstantBytes     int64 // constants and kernels, which procedures may share, with those of a weight file
}

// An IOSymbol is an input or output of a container: a window of memory with a
// name. Two procedures with the same port have one symbol.
type IOSymbol struct {
	Name string
	Addr uint64
}

// IOSymbols lists the inputs and the outputs of a container. The place in a list is
// the symbol index by which a request names a buffer; procedures come in their
// order, and their ports in that of the tensor threads. A state is in both lists: it
// is one buffer, bound as source and as destination.
func (f *File) IOSymbols() (inputs, outputs []IOSymbol, err error) {
	list, err := f.Procedures()
	if err != nil {
		return nil, nil, err
	}
	in, out := make(map[uint64]int), make(map[uint64]int)
	for _, p := range list {
		ports, err := p.Ports()
		if err != nil {
			return nil, nil, err
		}
		for i := range ports {
			if ports[i].Direction != Out {
				inputs = addSymbol(inputs, in, &ports[i])
			}
			if ports[i].Direction != In {
				outputs = addSymbol(outputs, out, &ports[i])
			}
		}
	}
	return inputs, outputs, nil
}

func addSymbol(list []IOSymbol, known map[uint64]int, p *Port) []IOSymbol {
	if _, ok := known[p.Addr]; ok {
		return list
	}
	known[p.Addr] = len(list)
	return append(list, IOSymbol{p.Name, p.Addr})
}

// SymbolIndices are the symbol indices of its inputs and outputs (seed:
// `inputSymbolIndicesForProcedureIndex:`), in the order of its ports.
func (p *Procedure) SymbolIndices() (inputs, outputs []int, err error) {
	ins, outs, err := p.file.IOSymbols()
	if err != nil {
		return nil, nil, err
	}
	ports, err := p.Ports()
	if err != nil {
		return nil, nil, err
	}
	in, out := indexSymbols(ins), indexSymbols(outs)
	for _, port := range ports {
		if port.Direction != Out {
			inputs = append(inputs, in[port.Addr])
		}
		if port.Direction != In {
			outputs = append(outputs, out[port.Addr])
		}
	}
	return inputs, outputs, nil
}

func indexSymbols(list []IOSymbol) map[uint64]int {
	index := make(map[uint64]int, len(list))
	for i, s := range list {
		index[s.Addr] = i
	}
	return index
}

// Info says what a caller has to know of the procedure.
func (p *Procedure) Info() (*ProcedureInfo, error) {
	ports, err := p.Ports()
	if err != nil {
		return nil, err
	}
	info := &ProcedureInfo{Index: p.Index, Name: p.Name, Tasks: p.Program.Tasks, TaskBytes: int64(p.Text.Size)}
	if info.InputSymbols, info.OutputSymbols, err = p.SymbolIndices(); err != nil {
		return nil, err
	}
	for _, port := range ports {
		switch port.Direction {
		case In:
			info.Inputs, info.InputBytes = append(info.Inputs, port), info.InputBytes+port.Bytes
		case Out:
			info.Outputs, info.OutputBytes = append(info.Outputs, port), info.OutputBytes+port.Bytes
		default:
			info.States, info.StateBytes = append(info.States, port), info.StateBytes+port.Bytes
		}
	}
	for _, s := range p.Sections() {
		switch {
		case s == p.Text || s.Segment.String() == "__FVMLIB" || s.Name.String() == foreignSection:
		case s.Data != nil || s.Flags == SectionExternal:
			info.ConstantBytes += int64(s.Size)
		case s.Flags == SectionDerived:
			info.DerivedBytes += int64(s.Size)
		default:
			info.IntermediateBytes += int64(s.Size)
		}
	}
	return info, nil
}
