package hwx

import (
	"fmt"

	"github.com/espalier-ane/espalier/tensor"
)

// Element is the number of an element type in the container: what a tensor
// thread holds, and what the shape of a port ends with.
type Element uint32

// The element types that ports are known to have.
const (
	ElementUint8   Element = 3
	ElementFloat16 Element = 5
)

// Confidence says how sure a row of a table is.
type Confidence string

// The degrees of confidence: read from real files; consistent with all that is
// known; not known.
const (
	Certain Confidence = "certain"
	Likely  Confidence = "likely"
	Unknown Confidence = "unknown"
)

// An ElementType is an entry of the element-type catalogue, which the symbol
// table of a container lists.
type ElementType struct {
	Number     Element
	Name       string       // "" where the entry is known to exist but not what it is
	Range      string       // what follows `=` in its stab; "" with a name: not known
	DType      tensor.DType // tensor.Invalid: nothing that a tensor holds
	Since      string       // the compiler whose files list it
	Confidence Confidence
	Source     string
}

// Stab is the entry's string in the symbol table.
func (e ElementType) Stab() string { return fmt.Sprintf("%s:t%d=%s", e.Name, e.Number, e.Range) }

// What compilers list the entries.
const (
	compiler2020 = "v4.2.1"
	compiler2026 = "v9.509.0"
	compilerOurs = "espalier"
)

// elementTypes is the catalogue. The seed counts 24 entries in files of 2026
// and shows eight; the numbers of ports begin at 24 in these files (a published
// example is `t0:t24=…`, the seed's t44 fits with steps of 5), so that 23 is
// the last number and one entry has a number that another has too, or none.
// Numbers from 256 on are ours, for ports of the target `virtual`.
var elementTypes = []ElementType{
	{1, "void", "1", tensor.Invalid, compiler2020, Certain, "h13 1.7; seed listing 23.5"},
	{2, "int8", "r2;0;127", tensor.Int8, compiler2020, Certain, "h13 1.7; seed listing 23.5"},
	{3, "uint8", "r1;0;255", tensor.UInt8, compiler2020, Certain, "h13 1.7; seed listing 23.5; also the type of a bool port (oracles 2)"},
	{4, "int16", "r1;-32768;32767", tensor.Int16, compiler2020, Certain, "h13 1.7; seed listing 23.5"},
	{5, "float16", "r1;2;0", tensor.Float16, compiler2020, Certain, "h13 1.7; seed listing 23.5"},
	{6, "float", "r1;4;0", tensor.Float32, compiler2020, Certain, "h13 1.7; seed listing 23.5"},
	{7, "raw10", "r1;-512;511", tensor.Invalid, compiler2020, Certain, "h13 1.7"},
	{8, "lut", "", tensor.Invalid, compiler2020, Certain, "h13 1.7: its range is empty"},
	{9, "uint4", "r1;0;15", tensor.UInt4, compiler2020, Certain, "h13 1.7; guide table 7 has its width"},
	{10, "uint6", "r1;0;63", tensor.UInt6, compiler2020, Certain, "h13 1.7"},
	{11, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{12, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{13, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{14, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{15, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{16, "e4m3", "r1;1;0", tensor.Float8E4M3FN, compiler2026, Likely, "seed listing 23.5"},
	{17, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{18, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{19, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{20, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{21, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{22, "", "", tensor.Invalid, compiler2026, Unknown, "seed: left out of listing 23.5"},
	{23, "int4", "r1;-8;7", tensor.Int4, compiler2026, Likely, "seed listing 23.5; a published list of strings new in Apple's compiler 8.3.15 has the same"},
	{0, "", "", tensor.Invalid, compiler2026, Unknown, "seed: one of the 24 has no number of its own"},

	{256, "bool", "r1;0;1", tensor.Bool, compilerOurs, Certain, "ours"},
	{257, "uint16", "r1;0;65535", tensor.UInt16, compilerOurs, Certain, "ours"},
	{258, "int32", "r1;-2147483648;2147483647", tensor.Int32, compilerOurs, Certain, "ours"},
	{259, "uint32", "r1;0;4294967295", tensor.UInt32, compilerOurs, Certain, "ours"},
	{260, "int64", "r1;-9223372036854775808;9223372036854775807", tensor.Int64, compilerOurs, Certain, "ours"},
	{261, "uint64", "r1;0;18446744073709551615", tensor.UInt64, compilerOurs, Certain, "ours"},
	{262, "double", "r1;8;0", tensor.Float64, compilerOurs, Certain, "ours"},
	{263, "bfloat16", "r1;2;0", tensor.BFloat16, compilerOurs, Certain, "ours"},
	{264, "e5m2", "r1;1;0", tensor.Float8E5M2, compilerOurs, Certain, "ours"},
	{265, "uint1", "r1;0;1", tensor.UInt1, compilerOurs, Certain, "ours"},
	{266, "uint2", "r1;0;3", tensor.UInt2, compilerOurs, Certain, "ours"},
	{267, "uint3", "r1;0;7", tensor.UInt3, compilerOurs, Certain, "ours"},
}

// ElementTypes returns the catalogue. It is shared: do not write to it.
func ElementTypes() []ElementType { return elementTypes }

// Type is the entry of the catalogue, if there is one.
func (e Element) Type() (ElementType, bool) {
	for _, t := range elementTypes {
		if t.Number == e && t.Name != "" {
			return t, true
		}
	}
	return ElementType{}, false
}

// DType is the element type of the tensor, or tensor.Invalid.
func (e Element) DType() tensor.DType {
	t, _ := e.Type()
	return t.DType
}

func (e Element) String() string {
	if t, ok := e.Type(); ok {
		return t.Name
	}
	return fmt.Sprintf("element type %d", uint32(e))
}

// ElementOf is the number of an element type. A type that no Apple file lists
// has one of our own numbers.
func ElementOf(d tensor.DType) (Element, error) {
	for _, t := range elementTypes {
		if t.DType == d && d != tensor.Invalid {
			return t.Number, nil
		}
	}
	return 0, fmt.Errorf("no element type of a container is %s", d)
}
