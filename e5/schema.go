package e5

// A Table is a table of the schema; a field's slot is its place in the list.
type Table struct {
	Name   string
	Fields []TableField
	Source string
}

// A TableField is a field of a table, in the words of the FlatBuffers schema
// language. Source is empty where it is the table's.
type TableField struct {
	Name, Type, Source string
}

// Tables returns the schema, the root first. "seed 23.2" is a table of the
// ane-guide's chapter 23, "listing 23.2" a listing there, "guide C.7" its
// appendix; "ours" is what we had to define. The guide's C.7 was reconstructed
// from the names of functions and a few files; nothing here could be checked.
func Tables() []*Table {
	return []*Table{
		rootTable, buildInfoTable, buildInfoEntryTable, sectionTable,
		textTable, functionTable, blockTable, operationTable,
		argFrameTable, operandTable, tensorTable,
		portsTable, portTable, aliasesTable, aliasTable,
		attrsTable, castTable, aneInferenceTable, cpuInferenceTable, rawTable,
	}
}

var (
	rootTable = &Table{"E5Program", []TableField{
		{"symbol_names", "[string]", ""},
		{"build_info", "BuildInfo", ""},
		{"sections", "[Section]", ""},
		{"format_version", "int", ""},
	}, "seed 23.2"}

	buildInfoTable = &Table{"BuildInfo", []TableField{
		{"entries", "[BuildInfoEntry]", ""},
	}, "guide C.7"}

	buildInfoEntryTable = &Table{"BuildInfoEntry", []TableField{
		{"key", "string", ""},
		{"value", "string", ""},
	}, "guide C.7"}

	sectionTable = &Table{"Section", []TableField{
		{"name", "string", ""},
		{"kind", "int", ""},
		{"data", "[ubyte]", "ours"}, // a nested FlatBuffer, by its kind
	}, "guide C.7"}

	textTable = &Table{"Text", []TableField{
		{"functions", "[Function]", ""},
	}, "ours"}

	functionTable = &Table{"Function", []TableField{
		{"name", "string", ""},
		{"anehash_path", "string", ""},
		{"blocks", "[Block]", ""},
	}, "guide C.7"}

	blockTable = &Table{"Block", []TableField{
		{"name", "string", ""},
		{"operations", "[Operation]", ""},
	}, "guide C.7"}

	operationTable = &Table{"Operation", []TableField{
		{"name", "string", ""},
		{"op_type", "OpType", ""},
		{"inputs", "[uint]", ""}, // that they count symbols is ours
		{"outputs", "[uint]", ""},
		{"arg_frame", "string", ""},
		{"attrs_section", "string", ""},
	}, "guide C.7"}

	argFrameTable = &Table{"ArgFrame", []TableField{
		{"inputs", "[Operand]", ""},
		{"outputs", "[Operand]", ""},
	}, "ours"}

	operandTable = &Table{"Operand", []TableField{
		{"descriptor", "TensorDescriptor", ""},
	}, "guide C.7"}

	tensorTable = &Table{"TensorDescriptor", []TableField{
		{"dim", "[ulong]", ""}, // the listing has four, in place
		{"stride", "[ulong]", ""},
		{"width", "ulong", ""},
		{"height", "ulong", ""},
		{"channels", "ulong", ""},
		{"batch_number", "ulong", ""},
		{"sequence_length", "ulong", ""},
		{"stride_width", "ulong", ""},
		{"stride_height", "ulong", ""},
		{"stride_channels", "ulong", ""},
		{"stride_batch_number", "ulong", ""},
		{"stride_sequence_length", "ulong", ""},
		{"storage_type", "ElementType", "listing 23.2, numbers of seed 23.12"},
		{"component_pack", "int", "guide C.7 alone"},
	}, "listing 23.2, guide C.7"}

	portsTable = &Table{"IOPorts", []TableField{
		{"ports", "[IOPort]", ""},
	}, "ours"}

	portTable = &Table{"IOPort", []TableField{
		{"name", "string", ""},
		{"byte_size", "ulong", ""},
		{"aperture_va", "ulong", ""},
		{"descriptor", "TensorDescriptor", "ours"},
	}, "guide C.7"}

	aliasesTable = &Table{"Aliases", []TableField{
		{"aliases", "[AliasSymbol]", ""},
	}, "ours"}

	aliasTable = &Table{"AliasSymbol", []TableField{
		{"name", "string", ""},
		{"symbol_index", "uint", ""},
		{"addr_offset", "uint", ""},
	}, "seed 23.3"}

	// attrsTable has what a field of type OpAttrs is in a FlatBuffer: the tag of
	// the union, one more than the kind of operation, and the table.
	attrsTable = &Table{"OpAttrsSection", []TableField{
		{"attrs_type", "ubyte", ""},
		{"attrs", "OpAttrs", ""},
	}, "seed 23.3, ours"}

	castTable = &Table{"CastAttrs", []TableField{
		{"src_dtype", "ElementType", ""},
		{"dst_dtype", "ElementType", ""},
		{"component_pack", "int", ""},
	}, "guide C.7"}

	aneInferenceTable = &Table{"AneInferenceAttrs", []TableField{
		{"procedure_name", "string", ""},
		{"anehash", "string", ""},
		{"program_symbol", "string", ""},
		{"intermediate_buffer_handle", "uint", ""},
		{"compiler_options", "string", ""},
	}, "guide C.7"}

	cpuInferenceTable = &Table{"CpuInferenceAttrs", []TableField{
		{"function", "string", ""},
	}, "ours"}

	rawTable = &Table{"RawAttrs", []TableField{
		{"data", "[ubyte]", ""},
	}, "ours"}
)
