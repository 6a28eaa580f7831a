// Rows of fp16 numbers, with AVX-512 and with AVX2.
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

// SINGLE converts one number, at the end of a row.
#define SINGLE(src, dst) \
	MOVWLZX   src, AX   \
	VMOVD     AX, X0    \
	VCVTPH2PS X0, X0    \
	VMOVSS    X0, dst

// func rowsAVX2(p *rowing)
//
// Eight numbers at a time. The last eight of a row, or four of a short one, are read
// whole, with some that were there before:
//
//	└──────┘└──────┘
//	           └──────┘
TEXT ·rowsAVX2(SB), NOSPLIT, $0-8
	ROWS
	CMPQ R11, $4
	JLT  short
	CMPQ R11, $8
	JLT  four

row:
	MOVQ R13, SI
	MOVQ R12, DI
	MOVQ R11, CX
	SUBQ $8, CX

loop:
	VCVTPH2PS (SI), Y0
	VMOVUPS   Y0, (DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	SUBQ      $8, CX
	JGE       loop
	VCVTPH2PS (SI)(CX*2), Y0
	VMOVUPS   Y0, (DI)(CX*4)
	ADDQ      R8, R13
	ADDQ      R9, R12
	DECQ      R10
	JNZ       row
	VZEROUPPER
	RET

four:
	VCVTPH2PS (R13), X0
	VCVTPH2PS -8(R13)(R11*2), X1
	VMOVUPS   X0, (R12)
	VMOVUPS   X1, -16(R12)(R11*4)
	ADDQ      R8, R13
	ADDQ      R9, R12
	DECQ      R10
	JNZ       four
	RET

short:
	XORQ CX, CX

single:
	SINGLE((R13)(CX*2), (R12)(CX*4))
	INCQ CX
	CMPQ CX, R11
	JLT  single
	ADDQ R8, R13
	ADDQ R9, R12
	DECQ R10
	JNZ  short
	RET

// apart<> brings the even ones of eight words together, and the odd ones.
DATA apart<>+0(SB)/8, $0x0d0c090805040100
DATA apart<>+8(SB)/8, $0x0f0e0b0a07060302
GLOBL apart<>(SB), RODATA|NOPTR, $16

// APART reads 16 numbers: the even ones are in Y0, the odd ones in Y1.
#define APART(low, high) \
	VMOVDQU     low, X0     \
	VMOVDQU     high, X1    \
	VPSHUFB     X4, X0, X0  \
	VPSHUFB     X4, X1, X1  \
	VPUNPCKHQDQ X1, X0, X2  \
	VPUNPCKLQDQ X1, X0, X0  \
	VCVTPH2PS   X2, Y1      \
	VCVTPH2PS   X0, Y0

// func splitAVX2(p *rowing)
//
// 16 numbers at a time, the last 16 as in rowsAVX2, or two at a time. One more, if the
// row is odd, is the first that is written.
TEXT ·splitAVX2(SB), NOSPLIT, $0-8
	ROWS
	MOVQ    48(DX), R14
	VMOVDQU apart<>(SB), X4

row:
	MOVQ  R13, SI
	MOVQ  R12, DI
	MOVQ  R11, CX
	TESTQ $1, CX
	JZ    even
	DECQ  CX
	SINGLE((SI)(CX*2), (DI)(CX*2))

even:
	SUBQ $16, CX
	JLT  few

loop:
	APART((SI), 16(SI))
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, (DI)(R14*1)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $16, CX
	JGE     loop
	LEAQ    (SI)(CX*2), SI
	LEAQ    (DI)(CX*2), DI
	APART((SI), 16(SI))
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, (DI)(R14*1)
	JMP     next

few:
	ADDQ $16, CX
	JZ   next
	SUBQ $8, CX
	JLT  fewer
	VMOVDQU   (SI), X0
	VPSHUFB   X4, X0, X0
	VPSRLDQ   $8, X0, X1
	VCVTPH2PS X0, X0
	VCVTPH2PS X1, X1
	VMOVUPS   X0, (DI)
	VMOVUPS   X1, (DI)(R14*1)
	LEAQ      (SI)(CX*2), SI
	LEAQ      (DI)(CX*2), DI
	VMOVDQU   (SI), X0
	VPSHUFB   X4, X0, X0
	VPSRLDQ   $8, X0, X1
	VCVTPH2PS X0, X0
	VCVTPH2PS X1, X1
	VMOVUPS   X0, (DI)
	VMOVUPS   X1, (DI)(R14*1)
	JMP       next

fewer:
	ADDQ $8, CX

two:
	SINGLE((SI), (DI))
	SINGLE(2(SI), (DI)(R14*1))
	ADDQ $4, SI
	ADDQ $4, DI
	SUBQ $2, CX
	JNZ  two

next:
	ADDQ R8, R13
	ADDQ R9, R12
	DECQ R10
	JNZ  row
	VZEROUPPER
	RET
