// The squares of the factors of lines that are in panels, with AVX-512.

//go:build amd64

#include "textflag.h"

// func squaresOfFloats(s *squares)
//
// A panel of up to 32 lines of floats.
//
//	SI the panel, R8 bytes from a factor to the next, CX the factors; K1 K2 the lines
TEXT ·squaresOfFloats(SB), NOSPLIT, $0-8
	MOVQ  s+0(FP), DX
	MOVQ  0(DX), SI
	MOVQ  8(DX), R8
	MOVQ  16(DX), CX
	MOVQ  24(DX), DI
	MOVQ  32(DX), AX
	KMOVW AX, K1
	SHRQ  $16, AX
	KMOVW AX, K2
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1

loop:
	VMOVUPS.Z   (SI), K1, Z2
	VMOVUPS.Z   64(SI), K2, Z3
	VFMADD231PS Z2, Z2, Z0
	VFMADD231PS Z3, Z3, Z1
	ADDQ        R8, SI
	DECQ        CX
	JNZ         loop
	VMOVUPS.Z   (DI), K1, Z2
	VMOVUPS.Z   64(DI), K2, Z3
	VADDPS      Z2, Z0, Z0
	VADDPS      Z3, Z1, Z1
	VMOVUPS     Z0, K1, (DI)
	VMOVUPS     Z1, K2, 64(DI)
	VZEROUPPER
	RET

// JOINED makes of the 16 pairs of bf16 numbers at a place, and of the low parts 2048
// bytes after them, the factors: the first of each pair in Z2, the second in Z3.
//
//	Z8 0xffff0000
#define JOINED(at, low) \
	VMOVDQU32 at, Z4        \
	VMOVDQU32 low, Z5   \
	VPSLLD    $16, Z4, Z2   \
	VPSLLD    $16, Z5, Z6   \
	VPANDD    Z8, Z4, Z3    \
	VPANDD    Z8, Z5, Z7    \
	VADDPS    Z6, Z2, Z2    \
	VADDPS    Z7, Z3, Z3

// func squaresOfPairs(s *squares)
//
// 16 lines of tiles whose rows have a pair of factors of each line.
//
//	SI the first tile, CX the groups, R9 the rows of a tile
TEXT ·squaresOfPairs(SB), NOSPLIT, $0-8
	MOVQ s+0(FP), DX
	MOVQ 0(DX), SI
	MOVQ 16(DX), CX
	MOVQ 24(DX), DI
	MOVL $0xffff0000, AX
	VPBROADCASTD AX, Z8
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1

group:
	MOVQ $16, R9
	MOVQ SI, BX

row:
	JOINED(0(BX), 2048(BX))
	VFMADD231PS Z2, Z2, Z0
	VFMADD231PS Z3, Z3, Z1
	ADDQ $64, BX
	DECQ R9
	JNZ  row
	ADDQ $4096, SI
	DECQ CX
	JNZ  group
	VADDPS  Z1, Z0, Z0
	VADDPS  (DI), Z0, Z0
	VMOVUPS Z0, (DI)
	VZEROUPPER
	RET

// func squaresOfLines(s *squares)
//
// 16 lines of tiles whose rows are the factors of a line.
TEXT ·squaresOfLines(SB), NOSPLIT, $0-8
	MOVQ s+0(FP), DX
	MOVQ 0(DX), SI
	MOVQ 24(DX), DI
	MOVL $0xffff0000, AX
	VPBROADCASTD AX, Z8
	MOVQ $16, R9

line:
	MOVQ 16(DX), CX
	MOVQ SI, BX
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1

group:
	JOINED(0(BX), 2048(BX))
	VFMADD231PS Z2, Z2, Z0
	VFMADD231PS Z3, Z3, Z1
	ADDQ $4096, BX
	DECQ CX
	JNZ  group
	VADDPS        Z1, Z0, Z0
	VEXTRACTF64X4 $1, Z0, Y1
	VADDPS        Y1, Y0, Y0
	VEXTRACTF128  $1, Y0, X1
	VADDPS        X1, X0, X0
	VPSHUFD       $0x4e, X0, X1
	VADDPS        X1, X0, X0
	VPSHUFD       $0xb1, X0, X1
	VADDPS        X1, X0, X0
	VADDSS        (DI), X0, X0
	VMOVSS        X0, (DI)
	ADDQ $4, DI
	ADDQ $64, SI
	DECQ R9
	JNZ  line
	VZEROUPPER
	RET
