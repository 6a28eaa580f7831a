// Tile instructions, which the assembler does not know, by their bytes. A test
// holds them to a disassembler.
//
// Tiles are 0 to 7. A place is a base register, an index register, which is the
// distance of rows, and a displacement of two bytes. The pairs in use:
//
//	0x08  AX, CX    0x0b  BX, CX    0x17  DI, DX    0x16  SI, DX

#define LDTILECFG_AX BYTE $0xc4; BYTE $0xe2; BYTE $0x78; BYTE $0x49; BYTE $0x00

#define TILERELEASE BYTE $0xc4; BYTE $0xe2; BYTE $0x78; BYTE $0x49; BYTE $0xc0

#define TILEZERO(t) BYTE $0xc4; BYTE $0xe2; BYTE $0x7b; BYTE $0x49; BYTE $(0xc0+8*t)

#define TILELOADD(place, lo, hi, t) \
	BYTE $0xc4; BYTE $0xe2; BYTE $0x7b; BYTE $0x4b; BYTE $(0x84+8*t) \
	BYTE $place; BYTE $lo; BYTE $hi; BYTE $0; BYTE $0

#define TILESTORED(t, place, lo, hi) \
	BYTE $0xc4; BYTE $0xe2; BYTE $0x7a; BYTE $0x4b; BYTE $(0x84+8*t) \
	BYTE $place; BYTE $lo; BYTE $hi; BYTE $0; BYTE $0

// TDPBF16PS adds the products of pairs of tile a and tile b to tile c.
#define TDPBF16PS(a, b, c) \
	BYTE $0xc4; BYTE $0xe2; BYTE $((15-b)*8+2); BYTE $0x5c; BYTE $(0xc0+8*c+a)

// VCVTNE2PS2BF16 makes bf16 numbers of the floats of Zb, in the lower half of Zc, and
// of Za, in the upper half, all of them registers 0 to 7.
#define VCVTNE2PS2BF16(b, a, c) \
	BYTE $0x62; BYTE $0xf2; BYTE $((15-a)*8+7); BYTE $0x48; BYTE $0x72; BYTE $(0xc0+8*c+b)
