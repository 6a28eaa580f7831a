// The end of a tile, with AVX2: 16 elements at a time, then eight, then the rest.

//go:build amd64

#include "textflag.h"
#include "lanes_amd64.h"

// BOUND is CLAMP of vec_amd64.s: Y4 the lower bound, Y5 the upper one, Y6 makes 0 of -0.
#define BOUND(y) \
	VMAXPS y, Y4, y \
	VADDPS Y6, y, y \
	VMINPS y, Y5, y

// Words that are moved down by n, with 0 after them: 2*n bytes from the first on.
DATA down<>+0(SB)/8, $0x0706050403020100
DATA down<>+8(SB)/8, $0x0f0e0d0c0b0a0908
DATA down<>+16(SB)/8, $0x8080808080808080
DATA down<>+24(SB)/8, $0x8080808080808080
GLOBL down<>(SB), RODATA|NOPTR, $32

// func finishAVX2(p *finishing)
//
// As finishAVX512. Y7 has the lanes of the last 1 to 7 elements of a row, X8 moves down
// those that are added: eight are read, which end with the last one. So there are eight,
// if some are added.
TEXT ·finishAVX2(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), DX
	MOVQ 24(DX), CX
	ANDQ $7, CX
	LANES8(CX, Y7)
	LEAQ    down<>+16(SB), AX
	SUBQ    CX, AX
	SUBQ    CX, AX
	VMOVDQU (AX), X8
	MOVQ 0(DX), R13
	MOVQ 8(DX), R8
	MOVQ 16(DX), R15
	MOVQ 32(DX), R11
	MOVQ 40(DX), R12
	MOVQ 48(DX), R14
	MOVQ 56(DX), R10
	MOVQ 64(DX), AX
	MOVQ 72(DX), R9
	VBROADCASTSS 80(DX), Y4
	VBROADCASTSS 84(DX), Y5
	VBROADCASTSS 88(DX), Y6

row:
	VBROADCASTSS (R11), Y3
	MOVQ  R13, SI
	MOVQ  AX, DI
	MOVQ  R14, BX
	MOVQ  24(DX), CX
	TESTQ R14, R14
	JNZ   with
	SUBQ  $16, CX
	JLT   eight

loop:
	VADDPS    (SI), Y3, Y0
	VADDPS    32(SI), Y3, Y1
	BOUND(Y0)
	BOUND(Y1)
	VCVTPS2PH $0, Y0, (DI)
	VCVTPS2PH $0, Y1, 16(DI)
	ADDQ      $64, SI
	ADDQ      $32, DI
	SUBQ      $16, CX
	JGE       loop

eight:
	ADDQ $8, CX
	JLT  rest
	VADDPS    (SI), Y3, Y0
	BOUND(Y0)
	VCVTPS2PH $0, Y0, (DI)
	ADDQ      $32, SI
	ADDQ      $16, DI
	SUBQ      $8, CX

rest:
	ADDQ $8, CX
	JZ   next
	VMASKMOVPS (SI), Y7, Y0
	VADDPS     Y3, Y0, Y0
	JMP        last

with:
	SUBQ $16, CX
	JLT  withEight

withLoop:
	VADDPS    (SI), Y3, Y0
	VADDPS    32(SI), Y3, Y1
	VCVTPH2PS (BX), Y2
	VCVTPH2PS 16(BX), Y9
	VADDPS    Y2, Y0, Y0
	VADDPS    Y9, Y1, Y1
	BOUND(Y0)
	BOUND(Y1)
	VCVTPS2PH $0, Y0, (DI)
	VCVTPS2PH $0, Y1, 16(DI)
	ADDQ      $64, SI
	ADDQ      $32, BX
	ADDQ      $32, DI
	SUBQ      $16, CX
	JGE       withLoop

withEight:
	ADDQ $8, CX
	JLT  withRest
	VADDPS    (SI), Y3, Y0
	VCVTPH2PS (BX), Y2
	VADDPS    Y2, Y0, Y0
	BOUND(Y0)
	VCVTPS2PH $0, Y0, (DI)
	ADDQ      $32, SI
	ADDQ      $16, BX
	ADDQ      $16, DI
	SUBQ      $8, CX

withRest:
	ADDQ R10, R14
	ADDQ $8, CX
	JZ   next
	VMASKMOVPS (SI), Y7, Y0
	VADDPS     Y3, Y0, Y0
	VMOVDQU    -16(BX)(CX*2), X2
	VPSHUFB    X8, X2, X2
	VCVTPH2PS  X2, Y2
	VADDPS     Y2, Y0, Y0

last:
	BOUND(Y0)
	VCVTPS2PH $0, Y0, X0
	TESTQ     $4, CX
	JZ        two
	VMOVQ     X0, (DI)
	VPSRLDQ   $8, X0, X0
	ADDQ      $8, DI

two:
	TESTQ   $2, CX
	JZ      one
	VMOVD   X0, (DI)
	VPSRLDQ $4, X0, X0
	ADDQ    $4, DI

one:
	TESTQ   $1, CX
	JZ      next
	VPEXTRW $0, X0, (DI)

next:
	ADDQ R8, R13
	ADDQ R9, AX
	ADDQ R12, R11
	DECQ R15
	JNZ  row
	VZEROUPPER
	RET
