// Packing for rows of AVX-512: panels of floats, of 12 or 32 lines.

//go:build amd64

#include "textflag.h"

// func packSide(p *packing)
//
// Lines that lie side by side: of each step, up to 32 elements are copied.
//
//	SI  the source, DI the panel, CX the steps
//	K1 K2  lanes that are there, K3 K4 lanes of the panel
TEXT ·packSide(SB), NOSPLIT, $0-8
	MOVQ  p+0(FP), DX
	MOVQ  0(DX), DI
	MOVQ  8(DX), SI
	MOVQ  16(DX), CX
	MOVQ  24(DX), R8
	MOVQ  32(DX), R9
	MOVQ  40(DX), AX
	KMOVW AX, K1
	SHRQ  $16, AX
	KMOVW AX, K2
	MOVQ  48(DX), AX
	KMOVW AX, K3
	SHRQ  $16, AX
	KMOVW AX, K4
	MOVQ  56(DX), BX
	TESTQ AX, AX
	JZ    narrow
	TESTQ BX, BX
	JNZ   halves

floats:
	VMOVUPS.Z (SI), K1, Z0
	VMOVUPS.Z 64(SI), K2, Z1
	VMOVUPS   Z0, K3, (DI)
	VMOVUPS   Z1, K4, 64(DI)
	ADDQ      R8, SI
	ADDQ      R9, DI
	DECQ      CX
	JNZ       floats
	VZEROUPPER
	RET

halves:
	VMOVDQU16.Z (SI), K1, Y0
	VMOVDQU16.Z 32(SI), K2, Y1
	VCVTPH2PS   Y0, Z0
	VCVTPH2PS   Y1, Z1
	VMOVUPS     Z0, K3, (DI)
	VMOVUPS     Z1, K4, 64(DI)
	ADDQ        R8, SI
	ADDQ        R9, DI
	DECQ        CX
	JNZ         halves
	VZEROUPPER
	RET

narrow:
	TESTQ BX, BX
	JNZ   narrowHalves

narrowFloats:
	VMOVUPS.Z (SI), K1, Z0
	VMOVUPS   Z0, K3, (DI)
	ADDQ      R8, SI
	ADDQ      R9, DI
	DECQ      CX
	JNZ       narrowFloats
	VZEROUPPER
	RET

narrowHalves:
	VMOVDQU16.Z (SI), K1, Y0
	VCVTPH2PS   Y0, Z0
	VMOVUPS     Z0, K3, (DI)
	ADDQ        R8, SI
	ADDQ        R9, DI
	DECQ        CX
	JNZ         narrowHalves
	VZEROUPPER
	RET

// LINES reads 16 elements of each of 16 lines: those of four lines follow from SI,
// a line apart, with R10 three lines. Lines that are not there are line 0 again:
// R11 … R13 are the first of the groups of four.
#define LINES4(at, a, b, c, d) \
	VMOVUPS.Z (at), K1, a        \
	VMOVUPS.Z (at)(R8*1), K1, b  \
	VMOVUPS.Z (at)(R8*2), K1, c  \
	VMOVUPS.Z (at)(R10*1), K1, d

#define HALVES0(at, y, z) \
	VMOVDQU16.Z at, K1, y \
	VCVTPH2PS   y, z

// TRANSPOSE exchanges the rows and columns of the 16 by 16 floats in Z0 … Z15: pairs
// of elements, then quads of them, then the quarters of the registers. The
// columns come out in Z0 … Z15.
#define PAIRS(a, b, lo, hi) \
	VUNPCKLPS b, a, lo \
	VUNPCKHPS b, a, hi

#define QUADS(a, b, lo, hi) \
	VUNPCKLPD b, a, lo \
	VUNPCKHPD b, a, hi

#define QUARTERS(a, b, even, odd) \
	VSHUFF32X4 $0x88, b, a, even \
	VSHUFF32X4 $0xdd, b, a, odd

#define TRANSPOSE \
	PAIRS(Z0, Z1, Z16, Z17)      \
	PAIRS(Z2, Z3, Z18, Z19)      \
	PAIRS(Z4, Z5, Z20, Z21)      \
	PAIRS(Z6, Z7, Z22, Z23)      \
	PAIRS(Z8, Z9, Z24, Z25)      \
	PAIRS(Z10, Z11, Z26, Z27)    \
	PAIRS(Z12, Z13, Z28, Z29)    \
	PAIRS(Z14, Z15, Z30, Z31)    \
	QUADS(Z16, Z18, Z0, Z1)      \
	QUADS(Z17, Z19, Z2, Z3)      \
	QUADS(Z20, Z22, Z4, Z5)      \
	QUADS(Z21, Z23, Z6, Z7)      \
	QUADS(Z24, Z26, Z8, Z9)      \
	QUADS(Z25, Z27, Z10, Z11)    \
	QUADS(Z28, Z30, Z12, Z13)    \
	QUADS(Z29, Z31, Z14, Z15)    \
	QUARTERS(Z0, Z4, Z16, Z17)   \
	QUARTERS(Z8, Z12, Z18, Z19)  \
	QUARTERS(Z1, Z5, Z20, Z21)   \
	QUARTERS(Z9, Z13, Z22, Z23)  \
	QUARTERS(Z2, Z6, Z24, Z25)   \
	QUARTERS(Z10, Z14, Z26, Z27) \
	QUARTERS(Z3, Z7, Z28, Z29)   \
	QUARTERS(Z11, Z15, Z30, Z31) \
	QUARTERS(Z16, Z18, Z0, Z8)   \
	QUARTERS(Z17, Z19, Z4, Z12)  \
	QUARTERS(Z20, Z22, Z1, Z9)   \
	QUARTERS(Z21, Z23, Z5, Z13)  \
	QUARTERS(Z24, Z26, Z2, Z10)  \
	QUARTERS(Z25, Z27, Z6, Z14)  \
	QUARTERS(Z28, Z30, Z3, Z11)  \
	QUARTERS(Z29, Z31, Z7, Z15)

// STEP writes a column to the panel, unless it was the last one.
#define STEP(z) \
	VMOVUPS z, K3, (DI) \
	ADDQ    R9, DI      \
	DECQ    BX          \
	JZ      done

// func packLines(p *packing)
//
// Lines that lie apart, each factor beside the next: 16 lines by 16 factors at a
// time.
//
//	SI  the source, R8 from a line to the next, R10 three of those
//	DI  the panel, R9 from a step to the next; CX the steps left, BX those of now
//	K1  factors that are there, K3 lanes of the panel to write
TEXT ·packLines(SB), NOSPLIT, $0-8
	MOVQ  p+0(FP), DX
	MOVQ  0(DX), DI
	MOVQ  8(DX), SI
	MOVQ  16(DX), CX
	MOVQ  24(DX), R8
	MOVQ  32(DX), R9
	MOVQ  48(DX), AX
	KMOVW AX, K3
	MOVQ  56(DX), R15
	LEAQ  (R8)(R8*2), R10

	// The groups of four lines: those that are not there are the first group.
	MOVQ 64(DX), R11
	MOVQ 72(DX), R12
	MOVQ 80(DX), R13

next:
	MOVQ    CX, BX
	MOVL    $0xffff, AX
	CMPQ    BX, $16
	JLE     last
	MOVQ    $16, BX
	JMP     read

last:
	PUSHQ   CX
	MOVQ    BX, CX
	MOVL    $1, AX
	SHLL    CX, AX
	DECL    AX
	POPQ    CX

read:
	KMOVW AX, K1
	SUBQ  BX, CX
	TESTQ R15, R15
	JNZ   half

	LINES4(SI, Z0, Z1, Z2, Z3)
	LEAQ (SI)(R11*1), AX
	LINES4(AX, Z4, Z5, Z6, Z7)
	LEAQ (SI)(R12*1), AX
	LINES4(AX, Z8, Z9, Z10, Z11)
	LEAQ (SI)(R13*1), AX
	LINES4(AX, Z12, Z13, Z14, Z15)
	ADDQ $64, SI
	JMP  turn

half:
	HALVES0((SI), Y0, Z0)
	HALVES0((SI)(R8*1), Y1, Z1)
	HALVES0((SI)(R8*2), Y2, Z2)
	HALVES0((SI)(R10*1), Y3, Z3)
	LEAQ (SI)(R11*1), AX
	HALVES0((AX), Y4, Z4)
	HALVES0((AX)(R8*1), Y5, Z5)
	HALVES0((AX)(R8*2), Y6, Z6)
	HALVES0((AX)(R10*1), Y7, Z7)
	LEAQ (SI)(R12*1), AX
	HALVES0((AX), Y8, Z8)
	HALVES0((AX)(R8*1), Y9, Z9)
	HALVES0((AX)(R8*2), Y10, Z10)
	HALVES0((AX)(R10*1), Y11, Z11)
	LEAQ (SI)(R13*1), AX
	HALVES0((AX), Y12, Z12)
	HALVES0((AX)(R8*1), Y13, Z13)
	HALVES0((AX)(R8*2), Y14, Z14)
	HALVES0((AX)(R10*1), Y15, Z15)
	ADDQ $32, SI

turn:
	TRANSPOSE
	STEP(Z0)
	STEP(Z1)
	STEP(Z2)
	STEP(Z3)
	STEP(Z4)
	STEP(Z5)
	STEP(Z6)
	STEP(Z7)
	STEP(Z8)
	STEP(Z9)
	STEP(Z10)
	STEP(Z11)
	STEP(Z12)
	STEP(Z13)
	STEP(Z14)
	STEP(Z15)

done:
	TESTQ CX, CX
	JNZ   next
	VZEROUPPER
	RET

// func exchangeWords(tile *float32)
TEXT ·exchangeWords(SB), NOSPLIT, $0-8
	MOVQ    tile+0(FP), SI
	VMOVUPS (SI), Z0
	VMOVUPS 64(SI), Z1
	VMOVUPS 128(SI), Z2
	VMOVUPS 192(SI), Z3
	VMOVUPS 256(SI), Z4
	VMOVUPS 320(SI), Z5
	VMOVUPS 384(SI), Z6
	VMOVUPS 448(SI), Z7
	VMOVUPS 512(SI), Z8
	VMOVUPS 576(SI), Z9
	VMOVUPS 640(SI), Z10
	VMOVUPS 704(SI), Z11
	VMOVUPS 768(SI), Z12
	VMOVUPS 832(SI), Z13
	VMOVUPS 896(SI), Z14
	VMOVUPS 960(SI), Z15
	TRANSPOSE
	VMOVUPS Z0, (SI)
	VMOVUPS Z1, 64(SI)
	VMOVUPS Z2, 128(SI)
	VMOVUPS Z3, 192(SI)
	VMOVUPS Z4, 256(SI)
	VMOVUPS Z5, 320(SI)
	VMOVUPS Z6, 384(SI)
	VMOVUPS Z7, 448(SI)
	VMOVUPS Z8, 512(SI)
	VMOVUPS Z9, 576(SI)
	VMOVUPS Z10, 640(SI)
	VMOVUPS Z11, 704(SI)
	VMOVUPS Z12, 768(SI)
	VMOVUPS Z13, 832(SI)
	VMOVUPS Z14, 896(SI)
	VMOVUPS Z15, 960(SI)
	VZEROUPPER
	RET
