//go:build amd64

#include "textflag.h"

// LIMITED is LIMIT of limit_amd64.s and the scale Z12 and ReLU: Z10 the lower bound, Z11 makes 0 of -0.
#define LIMITED(z, a, b) \
	VPANDD  Z7, z, a        \
	VCMPPS  $13, Z5, a, K3  \
	VCMPPS  $3, z, z, K4    \
	VCMPPS  $5, Z4, a, K2   \
	VPANDD  Z9, z, b        \
	VPORD   Z8, b, b        \
	VMOVAPS.Z z, K2, z      \
	VMOVAPS b, K3, z        \
	VMOVAPS Z6, K4, z       \
	VMULPS  Z12, z, z       \
	VMAXPS  z, Z10, z       \
	VADDPS  Z11, z, z

// func leaveAVX512(p *leaving)
//
//	R13 the tile, AX the result, R15 the rows left, SI DI CX within a row
TEXT ·leaveAVX512(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), DX
	MOVQ 0(DX), R13
	MOVQ 8(DX), R8
	MOVQ 16(DX), R15
	MOVQ 32(DX), R14
	MOVQ 40(DX), R9
	MOVQ 48(DX), BX
	VBROADCASTSS 0(BX), Z4
	VBROADCASTSS 4(BX), Z5
	VBROADCASTSS 8(BX), Z6
	VBROADCASTSS 56(DX), Z10
	VBROADCASTSS 60(DX), Z11
	VBROADCASTSS 64(DX), Z12
	MOVL         $0x7fffffff, AX
	VPBROADCASTD AX, Z7
	MOVL         $0x7f800000, AX
	VPBROADCASTD AX, Z8
	MOVL         $0x80000000, AX
	VPBROADCASTD AX, Z9

	// The lanes of the last elements of a row, 1 to 16.
	MOVQ  24(DX), CX
	DECQ  CX
	ANDQ  $15, CX
	INCQ  CX
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1

row:
	MOVQ R13, SI
	MOVQ R14, DI
	MOVQ 24(DX), CX
	SUBQ $32, CX
	JLE  rest

loop:
	VMOVUPS   (SI), Z0
	VMOVUPS   64(SI), Z1
	LIMITED(Z0, Z2, Z3)
	LIMITED(Z1, Z2, Z3)
	VCVTPS2PH $0, Z0, (DI)
	VCVTPS2PH $0, Z1, 32(DI)
	ADDQ      $128, SI
	ADDQ      $64, DI
	SUBQ      $32, CX
	JG        loop

rest:
	ADDQ      $16, CX
	JLE       last
	VMOVUPS   (SI), Z0
	LIMITED(Z0, Z2, Z3)
	VCVTPS2PH $0, Z0, (DI)
	ADDQ      $64, SI
	ADDQ      $32, DI

last:
	VMOVUPS.Z (SI), K1, Z0
	LIMITED(Z0, Z2, Z3)
	VCVTPS2PH $0, Z0, Y0
	VMOVDQU16 Y0, K1, (DI)
	ADDQ      R8, R13
	ADDQ      R9, R14
	DECQ      R15
	JNZ       row
	VZEROUPPER
	RET
