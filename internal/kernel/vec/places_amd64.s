//go:build amd64

#include "textflag.h"

DATA lanes<>+0(SB)/8, $0x0000000100000000
DATA lanes<>+8(SB)/8, $0x0000000300000002
DATA lanes<>+16(SB)/8, $0x0000000500000004
DATA lanes<>+24(SB)/8, $0x0000000700000006
DATA lanes<>+32(SB)/8, $0x0000000900000008
DATA lanes<>+40(SB)/8, $0x0000000b0000000a
DATA lanes<>+48(SB)/8, $0x0000000d0000000c
DATA lanes<>+56(SB)/8, $0x0000000f0000000e
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// func placesAVX512(p *placing)
//
// 16 lines at places, by a table of shifts. Places that follow each other, which
// most do, are one load; others are gathered.
//
//	SI  the source, R8 the places, R9 from a step to the next in the panel
//	R10 the shifts, CX the steps
//	K1  lanes that are there, K3 lanes of the panel
TEXT ·placesAVX512(SB), NOSPLIT, $0-8
	MOVQ  p+0(FP), DX
	MOVQ  0(DX), DI
	MOVQ  8(DX), SI
	MOVQ  16(DX), CX
	MOVQ  24(DX), R8
	MOVQ  32(DX), R9
	MOVQ  40(DX), AX
	KMOVW AX, K1
	MOVQ  48(DX), BX
	KMOVW BX, K3
	MOVQ  56(DX), R10

	// The places, as 16 numbers of 32 bits.
	KSHIFTRW     $8, K1, K2
	VMOVDQU64.Z  (R8), K1, Z1
	VMOVDQU64.Z  64(R8), K2, Z2
	VPMOVQD      Z1, Y1
	VPMOVQD      Z2, Y2
	VINSERTI64X4 $1, Y2, Z1, Z1

	// Do they follow the first?
	VPBROADCASTD X1, Z3
	VPADDD       lanes<>(SB), Z3, Z3
	VPCMPEQD     Z1, Z3, K1, K4
	KMOVW        K4, BX
	CMPL         AX, BX
	JEQ          follow

gather:
	MOVQ       (R10), R11
	LEAQ       (SI)(R11*4), R12
	KMOVW      K1, K4
	VPXORD     Z0, Z0, Z0
	VGATHERDPS (R12)(Z1*4), K4, Z0
	VMOVUPS    Z0, K3, (DI)
	ADDQ       $8, R10
	ADDQ       R9, DI
	DECQ       CX
	JNZ        gather
	VZEROUPPER
	RET

follow:
	MOVQ (R8), R11
	LEAQ (SI)(R11*4), SI

load:
	MOVQ      (R10), R11
	VMOVUPS.Z (SI)(R11*4), K1, Z0
	VMOVUPS   Z0, K3, (DI)
	ADDQ      $8, R10
	ADDQ      R9, DI
	DECQ      CX
	JNZ       load
	VZEROUPPER
	RET
