//go:build amd64

#include "textflag.h"

// A pass of a planar engine, 32 elements at a time, then up to 16 under a mask.
//
//	Z4 what NaN becomes, Z5 the sign of a, Z6 the sign of b, Z7 Pre, Z8 Bias, Z9 the lower
//	bound, Z10 makes 0 of -0, Z11 the scale of the row, Z12 b of the row
//	K2 the lanes of a step that is not whole, K5 K6 the results that are NaN
//	SI a, BX b, DI the result, CX the elements left in a row, R15 the rows left

// FIRST makes ±a·Pre of numbers, SECOND ±b.
#define FIRST(z, k) \
	VCMPPS  $3, z, z, k \
	VMOVAPS Z4, k, z    \
	VMULPS  Z7, z, z    \
	VPXORD  Z5, z, z

#define SECOND(z, k) \
	VCMPPS  $3, z, z, k \
	VMOVAPS Z4, k, z    \
	VPXORD  Z6, z, z

// LAST is what follows the operator.
#define LAST(z, k, found) \
	VMULPS Z11, z, z    \
	VADDPS Z8, z, z     \
	VMAXPS z, Z9, z     \
	VADDPS Z10, z, z    \
	VCMPPS $3, z, z, k  \
	KORW   k, found, found

// The operators, of z and b.
#define NONE(b, z)
#define SUM(b, z) VADDPS b, z, z
#define PRODUCT(b, z) VMULPS b, z, z
#define SQUARE(b, z) VMULPS z, z, z
#define SQUARESUM(b, z) \
	VADDPS b, z, z \
	VMULPS z, z, z

// How results are stored: two vectors, and one under the mask.
#define HALVES2 \
	VCVTPS2PH $0, Z0, (DI)   \
	VCVTPS2PH $0, Z1, 32(DI) \
	ADDQ      $64, DI

#define HALVES1 \
	VCVTPS2PH $0, Z0, Y0   \
	VMOVDQU16 Y0, K2, (DI) \
	LEAQ      (DI)(AX*2), DI

#define FLOATS2 \
	VMOVUPS Z0, (DI)   \
	VMOVUPS Z1, 64(DI) \
	ADDQ    $128, DI

#define FLOATS1 \
	VMOVUPS Z0, K2, (DI) \
	LEAQ    (DI)(AX*4), DI

// SINGLE is a row with one b, or none; ROWS one with a row of b. What is left of it, at
// most 31 elements, is done in one step or two.
#define SINGLE(loop, rest, OP, STORE2, STORE1) \
	SUBQ        $32, CX       \
	JLT         rest          \
loop: \
	VCVTPH2PS   (SI), Z0      \
	VCVTPH2PS   32(SI), Z1    \
	FIRST(Z0, K3)             \
	FIRST(Z1, K4)             \
	OP(Z12, Z0)               \
	OP(Z12, Z1)               \
	LAST(Z0, K3, K5)          \
	LAST(Z1, K4, K6)          \
	STORE2                    \
	ADDQ        $64, SI       \
	SUBQ        $32, CX       \
	JGE         loop          \
rest: \
	ADDQ        $32, CX       \
	JZ          next          \
	STEP                      \
	VMOVDQU16.Z (SI), K2, Y0  \
	VCVTPH2PS   Y0, Z0        \
	FIRST(Z0, K3)             \
	OP(Z12, Z0)               \
	LAST(Z0, K3, K5)          \
	STORE1                    \
	ADDQ        $32, SI       \
	SUBQ        $32, CX       \
	JMP         rest

#define ROWS(loop, rest, OP, STORE2, STORE1) \
	SUBQ        $32, CX       \
	JLT         rest          \
loop: \
	VCVTPH2PS   (SI), Z0      \
	VCVTPH2PS   32(SI), Z1    \
	VCVTPH2PS   (BX), Z2      \
	VCVTPH2PS   32(BX), Z3    \
	FIRST(Z0, K3)             \
	FIRST(Z1, K4)             \
	SECOND(Z2, K3)            \
	SECOND(Z3, K4)            \
	OP(Z2, Z0)                \
	OP(Z3, Z1)                \
	LAST(Z0, K3, K5)          \
	LAST(Z1, K4, K6)          \
	STORE2                    \
	ADDQ        $64, SI       \
	ADDQ        $64, BX       \
	SUBQ        $32, CX       \
	JGE         loop          \
rest: \
	ADDQ        $32, CX       \
	JZ          next          \
	STEP                      \
	VMOVDQU16.Z (SI), K2, Y0  \
	VMOVDQU16.Z (BX), K2, Y2  \
	VCVTPH2PS   Y0, Z0        \
	VCVTPH2PS   Y2, Z2        \
	FIRST(Z0, K3)             \
	SECOND(Z2, K3)            \
	OP(Z2, Z0)                \
	LAST(Z0, K3, K5)          \
	STORE1                    \
	ADDQ        $32, SI       \
	ADDQ        $32, BX       \
	SUBQ        $32, CX       \
	JMP         rest

// STEP takes up to 16 elements off CX: AX is how many, K2 their lanes.
#define STEP \
	MOVQ    CX, AX      \
	CMPQ    AX, R14     \
	CMOVQGT R14, AX     \
	SUBQ    AX, CX      \
	BZHIL   AX, R13, DX \
	KMOVW   DX, K2

// func planarAVX512(p *planarStep)
TEXT ·planarAVX512(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), DX
	MOVQ 0(DX), R8
	MOVQ 16(DX), R9
	MOVQ 32(DX), R10
	MOVQ 40(DX), R11
	MOVQ 64(DX), R15
	MOVQ 80(DX), DI
	MOVQ 96(DX), R12
	VBROADCASTSS 128(DX), Z4
	VPBROADCASTD 104(DX), Z5
	VPBROADCASTD 108(DX), Z6
	VBROADCASTSS 112(DX), Z7
	VBROADCASTSS 116(DX), Z8
	VBROADCASTSS 120(DX), Z9
	VBROADCASTSS 124(DX), Z10
	KXORW K5, K5, K5
	KXORW K6, K6, K6
	MOVQ  $16, R14
	MOVL  $0xffff, R13

row:
	MOVQ p+0(FP), DX
	MOVQ R8, SI
	MOVQ R9, BX
	MOVQ 72(DX), CX
	VBROADCASTSS (R11), Z11
	CMPQ  88(DX), $2
	JNE   floats
	TESTQ R10, R10
	JZ    rows
	VBROADCASTSS (R10), Z12
	SECOND(Z12, K3)
	CMPQ R12, $1
	JE   hSum
	CMPQ R12, $2
	JE   hProduct
	CMPQ R12, $3
	JE   hSquare
	CMPQ R12, $4
	JE   hSquareSum

hNone:
	SINGLE(hLoopNone, hRestNone, NONE, HALVES2, HALVES1)

hSum:
	SINGLE(hLoopSum, hRestSum, SUM, HALVES2, HALVES1)

hProduct:
	SINGLE(hLoopProduct, hRestProduct, PRODUCT, HALVES2, HALVES1)

hSquare:
	SINGLE(hLoopSquare, hRestSquare, SQUARE, HALVES2, HALVES1)

hSquareSum:
	SINGLE(hLoopSquareSum, hRestSquareSum, SQUARESUM, HALVES2, HALVES1)

rows:
	CMPQ R12, $2
	JE   hrProduct
	CMPQ R12, $4
	JE   hrSquareSum
	ROWS(hrLoopSum, hrRestSum, SUM, HALVES2, HALVES1)

hrProduct:
	ROWS(hrLoopProduct, hrRestProduct, PRODUCT, HALVES2, HALVES1)

hrSquareSum:
	ROWS(hrLoopSquareSum, hrRestSquareSum, SQUARESUM, HALVES2, HALVES1)

floats:
	TESTQ R10, R10
	JZ    floatRows
	VBROADCASTSS (R10), Z12
	SECOND(Z12, K3)
	CMPQ R12, $1
	JE   fSum
	CMPQ R12, $2
	JE   fProduct
	CMPQ R12, $3
	JE   fSquare
	CMPQ R12, $4
	JE   fSquareSum

fNone:
	SINGLE(fLoopNone, fRestNone, NONE, FLOATS2, FLOATS1)

fSum:
	SINGLE(fLoopSum, fRestSum, SUM, FLOATS2, FLOATS1)

fProduct:
	SINGLE(fLoopProduct, fRestProduct, PRODUCT, FLOATS2, FLOATS1)

fSquare:
	SINGLE(fLoopSquare, fRestSquare, SQUARE, FLOATS2, FLOATS1)

fSquareSum:
	SINGLE(fLoopSquareSum, fRestSquareSum, SQUARESUM, FLOATS2, FLOATS1)

floatRows:
	CMPQ R12, $2
	JE   frProduct
	CMPQ R12, $4
	JE   frSquareSum
	ROWS(frLoopSum, frRestSum, SUM, FLOATS2, FLOATS1)

frProduct:
	ROWS(frLoopProduct, frRestProduct, PRODUCT, FLOATS2, FLOATS1)

frSquareSum:
	ROWS(frLoopSquareSum, frRestSquareSum, SQUARESUM, FLOATS2, FLOATS1)

next:
	MOVQ  p+0(FP), DX
	ADDQ  8(DX), R8
	ADDQ  24(DX), R9
	TESTQ R10, R10
	JZ    advance
	ADDQ  56(DX), R10

advance:
	ADDQ  48(DX), R11
	DECQ  R15
	JNZ   row
	KORW  K5, K6, K5
	KMOVW K5, AX
	MOVL  AX, 132(DX)
	VZEROUPPER
	RET
