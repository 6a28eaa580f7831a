// The row amx-32x32: products of fp16 numbers as sums of products of bf16 ones.

//go:build amd64

#include "textflag.h"
#include "tiles_amd64.h"

// All tiles have 16 rows of 64 bytes.
DATA shape<>+0(SB)/8, $1
DATA shape<>+8(SB)/8, $0
DATA shape<>+16(SB)/8, $0x0040004000400040
DATA shape<>+24(SB)/8, $0x0040004000400040
DATA shape<>+32(SB)/8, $0
DATA shape<>+40(SB)/8, $0
DATA shape<>+48(SB)/8, $0x1010101010101010
DATA shape<>+56(SB)/8, $0
GLOBL shape<>(SB), RODATA|NOPTR, $64

// PRODUCTS multiplies the tiles 4 and 5 of A with 6 and 7 of B.
#define PRODUCTS \
	TDPBF16PS(4, 6, 0) \
	TDPBF16PS(4, 7, 1) \
	TDPBF16PS(5, 6, 2) \
	TDPBF16PS(5, 7, 3)

// func addTiles(t *tiles)
//
// For each panel of A: 32 by 32 sums in the tiles 0 to 3. Of each group of 32
// factors there are a high and a low part on both sides, and three of the four
// products are taken:
//
//	A lo · B hi, A hi · B hi, A hi · B lo
//
//	AX, BX  the groups of A and B, CX 64
//	DI, SI  the upper and lower rows of C, DX the distance of rows
TEXT ·addTiles(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), R8
	LEAQ shape<>(SB), AX
	LDTILECFG_AX
	MOVQ 0(R8), R9       // A
	MOVQ 8(R8), R10      // B
	MOVQ 16(R8), R11     // groups
	MOVQ 24(R8), DI      // C
	MOVQ 32(R8), DX
	MOVQ 64(R8), R12     // what to ask for
	MOVQ $64, CX
	MOVQ DX, R14
	SHLQ $4, R14         // 16 rows of C

panel:
	LEAQ (DI)(R14*1), SI
	MOVQ R9, AX
	MOVQ R10, BX
	MOVQ R11, R15
	CMPB 56(R8), $0
	JNE  fresh
	TILELOADD(0x17, 0, 0, 0)
	TILELOADD(0x17, 64, 0, 1)
	TILELOADD(0x16, 0, 0, 2)
	TILELOADD(0x16, 64, 0, 3)
	JMP  group

fresh:
	TILEZERO(0)
	TILEZERO(1)
	TILEZERO(2)
	TILEZERO(3)

group:
	MOVQ  72(R8), R13
	TESTQ R13, R13
	JZ    asked

ask:
	PREFETCHT1 (R12)
	ADDQ       $64, R12
	DECQ       R13
	JNZ        ask

asked:
	TILELOADD(0x0b, 0, 0, 6)
	TILELOADD(0x0b, 0, 4, 7)
	TILELOADD(0x08, 0, 8, 4)
	TILELOADD(0x08, 0, 12, 5)
	PRODUCTS
	TILELOADD(0x08, 0, 0, 4)
	TILELOADD(0x08, 0, 4, 5)
	PRODUCTS
	TILELOADD(0x0b, 0, 8, 6)
	TILELOADD(0x0b, 0, 12, 7)
	PRODUCTS
	ADDQ $4096, AX
	ADDQ $4096, BX
	DECQ R15
	JNZ  group

	TILESTORED(0, 0x17, 0, 0)
	TILESTORED(1, 0x17, 64, 0)
	TILESTORED(2, 0x16, 0, 0)
	TILESTORED(3, 0x16, 64, 0)
	ADDQ 48(R8), R9
	LEAQ (SI)(R14*1), DI
	DECQ 40(R8)
	JNZ  panel
	MOVQ R12, 64(R8)
	TILERELEASE
	RET

// CHECK notes, of what floats lack after their nearest bf16 number is taken away, bits
// that bf16 does not have, in Z28, and infinities and NaN, as a NaN in Z29.
//
//	Z30  0
#define CHECK(low) \
	VPORD       low, Z28, Z28 \
	VFMADD231PS low, Z30, Z29

#define CONSTANTS \
	VPXORD       Z28, Z28, Z28   \
	VPXORD       Z29, Z29, Z29   \
	VPXORD       Z30, Z30, Z30   \
	MOVL         $0xffff0000, AX \
	VPBROADCASTD AX, Z26         \
	MOVL         $0xffff, AX     \
	VPBROADCASTD AX, Z27

// CHECKED says which lanes have noted something.
#define CHECKED \
	VPTESTMD Z27, Z28, K5     \
	VCMPPS   $3, Z29, Z29, K6 \
	KORW     K5, K6, K7       \
	KMOVW    K7, AX           \
	MOVQ     AX, 48(DX)

// func splitRows(p *splitting)
//
// Lines of up to 32 factors that lie side by side become rows of a tile, 32 bf16
// numbers each; the low parts lie 2048 bytes after the high ones.
//
//	K1 K2  factors that are there
TEXT ·splitRows(SB), NOSPLIT, $0-8
	MOVQ  p+0(FP), DX
	CONSTANTS
	MOVQ  0(DX), DI
	MOVQ  8(DX), SI
	MOVQ  16(DX), CX
	MOVQ  24(DX), R8
	MOVQ  32(DX), AX
	KMOVW AX, K1
	SHRQ  $16, AX
	KMOVW AX, K2
	MOVQ  40(DX), BX
	TESTQ BX, BX
	JNZ   halves

floats:
	VMOVUPS.Z (SI), K1, Z0
	VMOVUPS.Z 64(SI), K2, Z1
	JMP       split

halves:
	VMOVDQU16.Z (SI), K1, Y0
	VMOVDQU16.Z 32(SI), K2, Y1
	VCVTPH2PS   Y0, Z0
	VCVTPH2PS   Y1, Z1

split:
	VCVTNE2PS2BF16(0, 1, 2)
	VEXTRACTI64X4 $1, Z2, Y5
	VPMOVZXWD     Y2, Z4
	VPMOVZXWD     Y5, Z5
	VPSLLD        $16, Z4, Z4
	VPSLLD        $16, Z5, Z5
	VSUBPS        Z4, Z0, Z0
	VSUBPS        Z5, Z1, Z1
	CHECK(Z0)
	CHECK(Z1)
	VCVTNE2PS2BF16(0, 1, 3)
	VMOVDQU32     Z2, (DI)
	VMOVDQU32     Z3, 2048(DI)
	ADDQ    R8, SI
	ADDQ    $64, DI
	DECQ    CX
	JZ      done
	TESTQ   BX, BX
	JZ      floats
	JMP     halves

done:
	CHECKED
	VZEROUPPER
	RET

// The halves of a vector of 32 numbers, by turns.
DATA pairs<>+0(SB)/8, $0x0011000100100000
DATA pairs<>+8(SB)/8, $0x0013000300120002
DATA pairs<>+16(SB)/8, $0x0015000500140004
DATA pairs<>+24(SB)/8, $0x0017000700160006
DATA pairs<>+32(SB)/8, $0x0019000900180008
DATA pairs<>+40(SB)/8, $0x001b000b001a000a
DATA pairs<>+48(SB)/8, $0x001d000d001c000c
DATA pairs<>+56(SB)/8, $0x001f000f001e000e
GLOBL pairs<>(SB), RODATA|NOPTR, $64

// PAIR makes of the floats x and y, factors k and k+1 of 16 lines, words of their high
// parts in h and of their low parts in l. The registers have numbers too.
//
//	Z31  where the pairs come from
#define PAIR(nx, ny, nh, nl, x, y, h, l, t, u) \
	VCVTNE2PS2BF16(nx, ny, nh) \
	VPERMW h, Z31, h           \
	VPSLLD $16, h, t           \
	VPANDD Z26, h, u           \
	VSUBPS t, x, x             \
	VSUBPS u, y, y             \
	CHECK(x)                   \
	CHECK(y)                   \
	VCVTNE2PS2BF16(nx, ny, nl) \
	VPERMW l, Z31, l

// PAIRS makes rows of the tiles of 32 lines.
#define PAIRS \
	PAIR(0, 1, 2, 3, Z0, Z1, Z2, Z3, Z8, Z9)   \
	PAIR(4, 5, 6, 7, Z4, Z5, Z6, Z7, Z10, Z11) \
	VMOVDQU32 Z2, 0(DI)                        \
	VMOVDQU32 Z6, 1024(DI)                     \
	VMOVDQU32 Z3, 2048(DI)                     \
	VMOVDQU32 Z7, 3072(DI)

// func splitSide(p *splitting)
//
// Up to 32 lines that lie side by side, two steps at a time: a row of a tile has
// the pairs of factors of 16 lines. An odd step at the end is paired with 0.
//
//	K1 K2  lines that are there
TEXT ·splitSide(SB), NOSPLIT, $0-8
	MOVQ  p+0(FP), DX
	CONSTANTS
	VMOVDQU32 pairs<>(SB), Z31
	MOVQ  0(DX), DI
	MOVQ  8(DX), SI
	MOVQ  16(DX), CX
	MOVQ  24(DX), R8
	MOVQ  32(DX), AX
	KMOVW AX, K1
	SHRQ  $16, AX
	KMOVW AX, K2
	MOVQ  40(DX), BX
	TESTQ BX, BX
	JNZ   halves

floats:
	VMOVUPS.Z (SI), K1, Z0
	VMOVUPS.Z 64(SI), K2, Z4
	VPXORD    Z1, Z1, Z1
	VPXORD    Z5, Z5, Z5
	CMPQ      CX, $1
	JEQ       lastFloats
	VMOVUPS.Z (SI)(R8*1), K1, Z1
	VMOVUPS.Z 64(SI)(R8*1), K2, Z5

lastFloats:
	PAIRS
	LEAQ (SI)(R8*2), SI
	ADDQ $64, DI
	SUBQ $2, CX
	JGT  floats
	JMP  done

halves:
	VMOVDQU16.Z (SI), K1, Y0
	VMOVDQU16.Z 32(SI), K2, Y4
	VCVTPH2PS   Y0, Z0
	VCVTPH2PS   Y4, Z4
	VPXORD      Z1, Z1, Z1
	VPXORD      Z5, Z5, Z5
	CMPQ        CX, $1
	JEQ         lastHalves
	VMOVDQU16.Z (SI)(R8*1), K1, Y1
	VMOVDQU16.Z 32(SI)(R8*1), K2, Y5
	VCVTPH2PS   Y1, Z1
	VCVTPH2PS   Y5, Z5

lastHalves:
	PAIRS
	LEAQ (SI)(R8*2), SI
	ADDQ $64, DI
	SUBQ $2, CX
	JGT  halves

done:
	CHECKED
	VZEROUPPER
	RET
