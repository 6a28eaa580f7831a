// The end of a tile, with AVX-512: 32 elements at a time, then 16 under a mask.

//go:build amd64

#include "textflag.h"

// BOUND is CLAMP of vec_amd64.s: Z4 the lower bound, Z5 the upper one, Z6 makes 0 of -0.
#define BOUND(z) \
	VMAXPS z, Z4, z \
	VADDPS Z6, z, z \
	VMINPS z, Z5, z

// func finishAVX512(p *finishing)
//
//	SI  the tile, DI the result, BX what is added, CX the elements left in a row
//	R8 R9 R10  bytes from row to row of these; R11 R12 the bias
//	Z3  the bias of the row
TEXT ·finishAVX512(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), DX
	MOVQ 0(DX), R13
	MOVQ 8(DX), R8
	MOVQ 16(DX), R15
	MOVQ 32(DX), R11
	MOVQ 40(DX), R12
	MOVQ 48(DX), BX
	MOVQ 56(DX), R10
	MOVQ 64(DX), AX
	MOVQ 72(DX), R9
	VBROADCASTSS 80(DX), Z4
	VBROADCASTSS 84(DX), Z5
	VBROADCASTSS 88(DX), Z6

	// The lanes of the last 16 elements of a row, all of them if it is whole.
	MOVQ 24(DX), CX
	DECQ CX
	ANDQ $15, CX
	INCQ CX
	PUSHQ AX
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1
	POPQ AX

	TESTQ BX, BX
	JNZ   with

row:
	VBROADCASTSS (R11), Z3
	MOVQ R13, SI
	MOVQ AX, DI
	MOVQ 24(DX), CX
	SUBQ $32, CX
	JLE  rest

loop:
	VADDPS    (SI), Z3, Z0
	VADDPS    64(SI), Z3, Z1
	BOUND(Z0)
	BOUND(Z1)
	VCVTPS2PH $0, Z0, (DI)
	VCVTPS2PH $0, Z1, 32(DI)
	ADDQ      $128, SI
	ADDQ      $64, DI
	SUBQ      $32, CX
	JG        loop

rest:
	ADDQ $16, CX
	JLE  last
	VADDPS    (SI), Z3, Z0
	BOUND(Z0)
	VCVTPS2PH $0, Z0, (DI)
	ADDQ      $64, SI
	ADDQ      $32, DI

last:
	VMOVUPS.Z (SI), K1, Z0
	VADDPS    Z3, Z0, Z0
	BOUND(Z0)
	VCVTPS2PH $0, Z0, Y0
	VMOVDQU16 Y0, K1, (DI)
	ADDQ R8, R13
	ADDQ R9, AX
	ADDQ R12, R11
	DECQ R15
	JNZ  row
	VZEROUPPER
	RET

with:
	MOVQ BX, R14

withRow:
	VBROADCASTSS (R11), Z3
	MOVQ R13, SI
	MOVQ AX, DI
	MOVQ R14, BX
	MOVQ 24(DX), CX
	SUBQ $32, CX
	JLE  withRest

withLoop:
	VADDPS    (SI), Z3, Z0
	VADDPS    64(SI), Z3, Z1
	VCVTPH2PS (BX), Z8
	VCVTPH2PS 32(BX), Z9
	VADDPS    Z8, Z0, Z0
	VADDPS    Z9, Z1, Z1
	BOUND(Z0)
	BOUND(Z1)
	VCVTPS2PH $0, Z0, (DI)
	VCVTPS2PH $0, Z1, 32(DI)
	ADDQ      $128, SI
	ADDQ      $64, BX
	ADDQ      $64, DI
	SUBQ      $32, CX
	JG        withLoop

withRest:
	ADDQ $16, CX
	JLE  withLast
	VADDPS    (SI), Z3, Z0
	VCVTPH2PS (BX), Z8
	VADDPS    Z8, Z0, Z0
	BOUND(Z0)
	VCVTPS2PH $0, Z0, (DI)
	ADDQ      $64, SI
	ADDQ      $32, BX
	ADDQ      $32, DI

withLast:
	VMOVUPS.Z   (SI), K1, Z0
	VMOVDQU16.Z (BX), K1, Y8
	VCVTPH2PS   Y8, Z8
	VADDPS      Z3, Z0, Z0
	VADDPS      Z8, Z0, Z0
	BOUND(Z0)
	VCVTPS2PH   $0, Z0, Y0
	VMOVDQU16   Y0, K1, (DI)
	ADDQ R8, R13
	ADDQ R9, AX
	ADDQ R10, R14
	ADDQ R12, R11
	DECQ R15
	JNZ  withRow
	VZEROUPPER
	RET
