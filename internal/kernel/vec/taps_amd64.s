//go:build amd64

#include "textflag.h"

// func tapsAVX512(p *tapping)
//
// 64 elements at a time, then 16, then the rest under a mask.
//
//	DI  dst, SI src, R8 weights, R9 shifts, R10 taps, CX elements
TEXT ·tapsAVX512(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), DX
	MOVQ 0(DX), DI
	MOVQ 8(DX), SI
	MOVQ 16(DX), R8
	MOVQ 24(DX), R9
	MOVQ 32(DX), R10
	MOVQ 40(DX), CX

wide:
	CMPQ   CX, $64
	JLT    narrow
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	XORQ   BX, BX

wideTap:
	MOVQ         (R9)(BX*8), AX
	LEAQ         (SI)(AX*4), AX
	VBROADCASTSS (R8)(BX*4), Z4
	VMULPS       (AX), Z4, Z5
	VADDPS       Z5, Z0, Z0
	VMULPS       64(AX), Z4, Z6
	VADDPS       Z6, Z1, Z1
	VMULPS       128(AX), Z4, Z7
	VADDPS       Z7, Z2, Z2
	VMULPS       192(AX), Z4, Z8
	VADDPS       Z8, Z3, Z3
	INCQ         BX
	CMPQ         BX, R10
	JLT          wideTap
	VMOVUPS      Z0, (DI)
	VMOVUPS      Z1, 64(DI)
	VMOVUPS      Z2, 128(DI)
	VMOVUPS      Z3, 192(DI)
	ADDQ         $256, DI
	ADDQ         $256, SI
	SUBQ         $64, CX
	JMP          wide

narrow:
	TESTQ  CX, CX
	JZ     done
	MOVL   $0xffff, AX
	CMPQ   CX, $16
	JGE    mask
	MOVL   $1, AX
	SHLL   CX, AX
	DECL   AX

mask:
	KMOVW  AX, K1
	VPXORD Z0, Z0, Z0
	XORQ   BX, BX

narrowTap:
	MOVQ         (R9)(BX*8), AX
	VBROADCASTSS (R8)(BX*4), Z4
	VMOVUPS.Z    (SI)(AX*4), K1, Z1
	VMULPS       Z1, Z4, Z1
	VADDPS       Z1, Z0, Z0
	INCQ         BX
	CMPQ         BX, R10
	JLT          narrowTap
	VMOVUPS      Z0, K1, (DI)
	ADDQ         $64, DI
	ADDQ         $64, SI
	SUBQ         $16, CX
	JGT          narrow

done:
	VZEROUPPER
	RET
