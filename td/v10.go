package td

// Version 10 is a task descriptor that the seed and the guide describe from the
// compiler's code (ZinAneTdHw_v10). They give it to the M1, but every H13 program
// seen is version 7, and the recorded H14 programs do not have its addresses
// either. So no row here is checked against a file, and nothing executes it.
//
// Where the sources part:
//
//   - Seed 23.4 has each group 8 bytes later in the image than guide C.6. The
//     offsets of seed 23.3 (Win at 0xf4) are in the guide's frame, and there the
//     groups follow each other with 8 bytes between them. Both numbers stand in
//     V10Groups.
//   - Guide C.6 puts the element formats into register 0x10, where it also has
//     Cout. They stand here at 0x08, where version 7 has them.
//   - The base of the output tile has relocation register 0x1442, byte address
//     0x5108: the group that the sources call the L2 result, not the tile DMA.
var (
	v10 = newLayout(V10)

	v10Kernel  = v10.block("KernelCommon", 0x5500, 34, "seed 23.4")
	v10Dims    = v10.block("Dimensions", 0x0000, 19, "seed 23.3, guide C.6")
	v10Tile    = v10.block("TileDMA", 0x4d00, 69, "seed 23.4")
	v10Planar  = v10.block("ElementWisePlanar", 0x4100, 30, "seed 23.4")
	v10Texture = v10.block("L2Texture", 0x4500, 14, "seed 23.4")
	v10Format  = v10.block("KernelFormat", 0x4900, 11, "seed 23.4")
	v10Result  = v10.block("L2Result", 0x5100, 21, "seed 23.4")
)

// A V10Group is one row of seed 23.4.
type V10Group struct {
	Block       *Block
	StructBase  uint32 // in the image, by the seed
	ImageBase   uint32 // in the image, by the guide
	HasAperture bool   // the seed has a register base for it
	Contents    string
}

// V10Groups are the seven register groups.
var V10Groups = []V10Group{
	{v10Kernel, 0x2c, 0x24, true, "kernel-DMA enable, format, stride, task type, network id"},
	{v10Dims, 0xfc, 0xf4, false, "input and output width, height, depth, channels, groups, transpose"},
	{v10Tile, 0x150, 0x148, true, "the three tile-DMA engines: enable, cache hints, base address, strides"},
	{v10Planar, 0x26c, 0x264, true, "element-wise and planar-engine config, padding mode"},
	{v10Texture, 0x2ec, 0x2e4, true, "L2 source and result config, texture mode"},
	{v10Format, 0x32c, 0x324, true, "op mode, kernel alignment, sparse and palette format, bias enables"},
	{v10Result, 0x360, 0x358, true, "L2-result base, strides, wrap, result format"},
}

var (
	V10Win       = v10Dims.row("Win", 0x00, 14, 0, Uint, Unverified, "input width, at 0xf4 of the image")
	V10Hin       = v10Dims.row("Hin", 0x00, 30, 16, Uint, Unverified, "input height, at 0xf6")
	V10Fmt       = v10Dims.row("SourceFormat", 0x08, 1, 0, Uint, Unverified, "CommonInFmt; see above for its place")
	V10FmtO      = v10Dims.row("OutputFormat", 0x08, 5, 4, Uint, Unverified, "CommonOutFmt; see above for its place")
	V10Cin       = v10Dims.row("Cin", 0x0c, 16, 0, Uint, Unverified, "input channels, at 0x100")
	V10Cout      = v10Dims.row("Cout", 0x10, 16, 0, Uint, Unverified, "output channels, at 0x104")
	V10OCG       = v10Dims.row("OCGSize", 0x24, 2, 0, Uint, Unverified, "output-channel-group size, at 0x118")
	V10NumGroups = v10Dims.row("NumGroups", 0x28, 12, 0, Uint, Unverified, "groups, at 0x11c")
	V10Type      = v10Dims.row("TaskType", 0x38, 7, 4, Uint, Unverified, "CommonTaskType, nine valid")
)

// V10Stream is one of the coefficient streams beside the weights (guide 25):
// the loader patches the word that follows the offset.
type V10Stream struct{ Enable, Offset, Address *Field }

func newV10Stream(name string, addr uint32) V10Stream {
	row := func(field string, i uint32) *Field {
		return v10Kernel.row(name+field, addr+4*i, 31, 0, Uint, Unverified, "").from("guide 25")
	}
	return V10Stream{row("Enable", 0), row("Offset", 1), row("Address", 2)}
}

var (
	V10Bias       = newV10Stream("Bias", 0x5548)
	V10PostScale  = newV10Stream("PostScale", 0x5558)
	V10Palette    = newV10Stream("Palette", 0x5568)
	V10Activation = newV10Stream("Activation", 0x5578)

	V10Src1Base = v10Tile.row("Source1Base", 0x4d10, 31, 0, Uint, Unverified, "input tile read base, patched by the loader").from("seed 23.5")
	V10Src2Base = v10Tile.row("Source2Base", 0x4d28, 31, 0, Uint, Unverified, "second-operand read base, patched by the loader").from("seed 23.5")
	V10DstBase  = v10Result.row("DestinationBase", 0x5108, 31, 0, Uint, Unverified, "output tile write base, patched by the loader; see above for its group").from("seed 23.5")
)

// A V10Relocation is one row of seed 23.5: an address that the compiler leaves
// open and the loader fills in.
type V10Relocation struct {
	Register uint32 // word address: a quarter of the byte address
	Field    *Field
	Slot     string
}

// V10Relocations are the seven slots.
var V10Relocations = []V10Relocation{
	{0x1344, V10Src1Base, "input tile read base"},
	{0x134a, V10Src2Base, "second-operand read base"},
	{0x1442, V10DstBase, "output tile write base"},
	{0x1554, V10Bias.Address, "kernel bias stream"},
	{0x1558, V10PostScale.Address, "kernel post-scale stream"},
	{0x155c, V10Palette.Address, "kernel palette-lookup stream"},
	{0x1560, V10Activation.Address, "kernel activation-lookup stream"},
}

// V10Stride reads a DMA stride from its register word: 26 bits, signed, from bit
// 6 on, in bytes. The sources do not say which registers hold one.
func V10Stride(word uint32) int32 { return int32(word &^ 63) }

// PutV10Stride returns the register word of a DMA stride, and whether the stride
// has one.
func PutV10Stride(stride int64) (uint32, bool) {
	return uint32(stride), stride%64 == 0 && int64(int32(stride)) == stride
}
