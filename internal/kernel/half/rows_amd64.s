// Rows of fp16 numbers, with AVX-512.
//
//	SI  the source, DI the floats; R8 R9 bytes from row to row of these
//	R10 the rows left, R11 the columns

#include "textflag.h"

#define ROWS \
	MOVQ p+0(FP), DX  \
	MOVQ 0(DX), R12   \
	MOVQ 8(DX), R9    \
	MOVQ 16(DX), R13  \
	MOVQ 24(DX), R8   \
	MOVQ 32(DX), R10  \
	MOVQ 40(DX), R11

// MASK makes a mask of the n lowest lanes.
#define MASK(n, k) \
	MOVL  $1, AX \
	MOVQ  n, CX  \
	SHLL  CX, AX \
	DECL  AX     \
	KMOVW AX, k

// func rowsAVX512(p *rowing)
TEXT ·rowsAVX512(SB), NOSPLIT, $0-8
	ROWS

	// The lanes of the last 16 elements of a row, all of them if it is whole.
	MOVQ R11, BX
	DECQ BX
	ANDQ $15, BX
	INCQ BX
	MASK(BX, K1)

row:
	MOVQ R13, SI
	MOVQ R12, DI
	MOVQ R11, CX
	SUBQ $16, CX
	JLE  last

loop:
	VCVTPH2PS (SI), Z0
	VMOVUPS   Z0, (DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $16, CX
	JG        loop

last:
	VMOVDQU16.Z (SI), K1, Y0
	VCVTPH2PS   Y0, Z0
	VMOVUPS     Z0, K1, (DI)
	ADDQ        R8, R13
	ADDQ        R9, R12
	DECQ        R10
	JNZ         row
	VZEROUPPER
	RET

DATA even<>+0(SB)/8, $0x0000000200000000
DATA even<>+8(SB)/8, $0x0000000600000004
DATA even<>+16(SB)/8, $0x0000000a00000008
DATA even<>+24(SB)/8, $0x0000000e0000000c
DATA even<>+32(SB)/8, $0x0000001200000010
DATA even<>+40(SB)/8, $0x0000001600000014
DATA even<>+48(SB)/8, $0x0000001a00000018
DATA even<>+56(SB)/8, $0x0000001e0000001c
GLOBL even<>(SB), RODATA|NOPTR, $64

// func splitAVX512(p *rowing)
//
//	Z4 Z5  which of 32 elements are even, and odd
//	K1 K2  the last 32 of the source; K3 K4 what they come to
//	R14    bytes from the even elements to the odd ones
TEXT ·splitAVX512(SB), NOSPLIT, $0-8
	ROWS
	MOVQ 48(DX), R14
	VMOVDQU32    even<>(SB), Z4
	MOVL         $1, AX
	VPBROADCASTD AX, Z5
	VPADDD       Z4, Z5, Z5

	MOVQ  R11, BX
	DECQ  BX
	ANDQ  $31, BX
	INCQ  BX
	MOVQ  $1, AX
	MOVQ  BX, CX
	SHLQ  CX, AX
	DECQ  AX
	KMOVW AX, K1
	SHRQ  $16, AX
	KMOVW AX, K2
	INCQ  BX
	SHRQ  $1, BX
	MASK(BX, K3)
	MOVQ  R11, BX
	DECQ  BX
	ANDQ  $31, BX
	INCQ  BX
	SHRQ  $1, BX
	MASK(BX, K4)

row:
	MOVQ R13, SI
	MOVQ R12, DI
	MOVQ R11, CX
	SUBQ $32, CX
	JLE  last

loop:
	VCVTPH2PS (SI), Z0
	VCVTPH2PS 32(SI), Z1
	VMOVAPS   Z0, Z2
	VPERMT2PS Z1, Z4, Z0
	VPERMT2PS Z1, Z5, Z2
	VMOVUPS   Z0, (DI)
	VMOVUPS   Z2, (DI)(R14*1)
	ADDQ      $64, SI
	ADDQ      $64, DI
	SUBQ      $32, CX
	JG        loop

last:
	VMOVDQU16.Z (SI), K1, Y0
	VMOVDQU16.Z 32(SI), K2, Y1
	VCVTPH2PS   Y0, Z0
	VCVTPH2PS   Y1, Z1
	VMOVAPS     Z0, Z2
	VPERMT2PS   Z1, Z4, Z0
	VPERMT2PS   Z1, Z5, Z2
	VMOVUPS     Z0, K3, (DI)
	VMOVUPS     Z2, K4, (DI)(R14*1)
	ADDQ        R8, R13
	ADDQ        R9, R12
	DECQ        R10
	JNZ         row
	VZEROUPPER
	RET
