// Packing for the row of AVX2: panels of floats, of 6 or 16 lines.

//go:build amd64

#include "textflag.h"

// Words that are moved down by n, with 0 after them: 2*n bytes from the first on.
DATA down<>+0(SB)/8, $0x0706050403020100
DATA down<>+8(SB)/8, $0x0f0e0d0c0b0a0908
DATA down<>+16(SB)/8, $0x8080808080808080
DATA down<>+24(SB)/8, $0x8080808080808080
GLOBL down<>(SB), RODATA|NOPTR, $32

// Of n lanes, those that are there: 32-4*n bytes from the first on.
DATA lanes<>+0(SB)/8, $-1
DATA lanes<>+8(SB)/8, $-1
DATA lanes<>+16(SB)/8, $-1
DATA lanes<>+24(SB)/8, $-1
DATA lanes<>+32(SB)/8, $0
DATA lanes<>+40(SB)/8, $0
DATA lanes<>+48(SB)/8, $0
DATA lanes<>+56(SB)/8, $0
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// PART reads the arguments: CX the steps, R8 bytes from one to the next.
#define PART \
	MOVQ dst+0(FP), DI    \
	MOVQ src+8(FP), SI    \
	MOVQ steps+16(FP), CX \
	MOVQ from+24(FP), R8  \
	MOVQ count+32(FP), AX

// func packPartFloats(dst, src *float32, steps, from, count int)
//
// As packSixteenFloats, of fewer lines: 0 for those that are not there.
TEXT ·packPartFloats(SB), NOSPLIT, $0-40
	PART
	LEAQ    lanes<>+32(SB), BX
	LEAQ    lanes<>+32(SB), DX
	SUBQ    $8, AX
	JG      more
	SHLQ    $2, AX
	SUBQ    $32, BX
	SUBQ    AX, BX
	JMP     masks

more:
	SUBQ    $32, BX
	SHLQ    $2, AX
	SUBQ    AX, DX

masks:
	VMOVUPS (BX), Y2
	VMOVUPS (DX), Y3

loop:
	VMASKMOVPS (SI), Y2, Y0
	VMASKMOVPS 32(SI), Y3, Y1
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y1, 32(DI)
	ADDQ       R8, SI
	ADDQ       $64, DI
	DECQ       CX
	JNZ        loop
	VZEROUPPER
	RET

// func packPartHalves(dst *float32, src *byte, steps, from, count int)
//
// Eight words are read at a time. The last ones are read with some that lie before
// them, which are moved out:
//
//	└──────┘
//	   └──────┘
//
// Of fewer than eight lines, those lie before the first.
TEXT ·packPartHalves(SB), NOSPLIT, $0-40
	PART
	LEAQ    down<>(SB), R9
	LEAQ    (SI)(AX*2), BX
	SUBQ    $16, BX        // the last eight
	MOVQ    $16, DX
	CMPQ    AX, $8
	JLE     few
	SUBQ    AX, DX         // of which so many are moved out
	VMOVDQU (R9), X2
	VMOVDQU (R9)(DX*2), X3
	JMP     loop

few:
	MOVQ    BX, SI
	MOVQ    $8, DX
	SUBQ    AX, DX
	VMOVDQU (R9)(DX*2), X2
	VMOVDQU 16(R9), X3

loop:
	VMOVDQU   (SI), X0
	VMOVDQU   (BX), X1
	VPSHUFB   X2, X0, X0
	VPSHUFB   X3, X1, X1
	VCVTPH2PS X0, Y0
	VCVTPH2PS X1, Y1
	VMOVUPS   Y0, (DI)
	VMOVUPS   Y1, 32(DI)
	ADDQ      R8, SI
	ADDQ      R8, BX
	ADDQ      $64, DI
	DECQ      CX
	JNZ       loop
	VZEROUPPER
	RET

#define PAIRS(a, b, lo, hi) \
	VUNPCKLPS b, a, lo \
	VUNPCKHPS b, a, hi

#define QUADS(a, b, lo, hi) \
	VUNPCKLPD b, a, lo \
	VUNPCKHPD b, a, hi

// func packEight(p *eightLines)
//
// Eight factors of eight lines at a time are exchanged: pairs, quads of them, halves of
// registers. Of panels of six lines, the last two of a step are overwritten by the
// next, but for the last step.
//
//	R8 … R15  the lines, SI where in them; DI the panel, AX bytes from step to step
TEXT ·packEight(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), DX
	MOVQ 0(DX), R8
	MOVQ 8(DX), R9
	MOVQ 16(DX), R10
	MOVQ 24(DX), R11
	MOVQ 32(DX), R12
	MOVQ 40(DX), R13
	MOVQ 48(DX), R14
	MOVQ 56(DX), R15
	MOVQ 64(DX), DI
	MOVQ 72(DX), AX
	MOVQ 80(DX), CX
	XORQ SI, SI
	LEAQ (AX)(AX*2), BX

eight:
	CMPQ 88(DX), $0
	JNE  halves
	VMOVUPS (R8)(SI*1), Y0
	VMOVUPS (R9)(SI*1), Y1
	VMOVUPS (R10)(SI*1), Y2
	VMOVUPS (R11)(SI*1), Y3
	VMOVUPS (R12)(SI*1), Y4
	VMOVUPS (R13)(SI*1), Y5
	VMOVUPS (R14)(SI*1), Y6
	VMOVUPS (R15)(SI*1), Y7
	ADDQ    $32, SI
	JMP     turn

halves:
	VCVTPH2PS (R8)(SI*1), Y0
	VCVTPH2PS (R9)(SI*1), Y1
	VCVTPH2PS (R10)(SI*1), Y2
	VCVTPH2PS (R11)(SI*1), Y3
	VCVTPH2PS (R12)(SI*1), Y4
	VCVTPH2PS (R13)(SI*1), Y5
	VCVTPH2PS (R14)(SI*1), Y6
	VCVTPH2PS (R15)(SI*1), Y7
	ADDQ      $16, SI

turn:
	PAIRS(Y0, Y1, Y8, Y9)
	PAIRS(Y2, Y3, Y10, Y11)
	QUADS(Y8, Y10, Y0, Y1)
	QUADS(Y9, Y11, Y2, Y3)
	PAIRS(Y4, Y5, Y8, Y9)
	PAIRS(Y6, Y7, Y10, Y11)
	QUADS(Y8, Y10, Y4, Y5)
	QUADS(Y9, Y11, Y6, Y7)
	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x20, Y5, Y1, Y9
	VPERM2F128 $0x20, Y6, Y2, Y10
	VPERM2F128 $0x20, Y7, Y3, Y11
	VMOVUPS    Y8, (DI)
	VMOVUPS    Y9, (DI)(AX*1)
	VMOVUPS    Y10, (DI)(AX*2)
	VMOVUPS    Y11, (DI)(BX*1)
	LEAQ       (DI)(AX*4), DI
	VPERM2F128 $0x31, Y4, Y0, Y8
	VPERM2F128 $0x31, Y5, Y1, Y9
	VPERM2F128 $0x31, Y6, Y2, Y10
	VPERM2F128 $0x31, Y7, Y3, Y11
	VMOVUPS    Y8, (DI)
	VMOVUPS    Y9, (DI)(AX*1)
	VMOVUPS    Y10, (DI)(AX*2)
	DECQ       CX
	JZ         last
	VMOVUPS    Y11, (DI)(BX*1)
	LEAQ       (DI)(AX*4), DI
	JMP        eight

last:
	ADDQ         BX, DI
	CMPQ         AX, $24
	JEQ          six
	VMOVUPS      Y11, (DI)
	VZEROUPPER
	RET

six:
	VMOVUPS      X11, (DI)
	VEXTRACTF128 $1, Y11, X10
	VMOVLPS      X10, 16(DI)
	VZEROUPPER
	RET
