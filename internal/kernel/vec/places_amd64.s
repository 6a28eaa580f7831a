//go:build amd64

#include "textflag.h"

// func placesAVX512(p *placing)
//
// 16 places, by a table of shifts: of each stretch the lanes that it has are
// loaded, the others left alone.
//
//	SI  the source, DI where a row goes, R8 bytes from row to row
//	R10 the shifts, CX the steps left; DX the group
//	R11 R12 R13 R15  the stretches, K1 … K4 their lanes; K5 lanes to write
TEXT ·placesAVX512(SB), NOSPLIT, $0-8
	MOVQ  p+0(FP), AX
	MOVQ  0(AX), DI
	MOVQ  8(AX), SI
	MOVQ  16(AX), R10
	MOVQ  24(AX), CX
	MOVQ  32(AX), R8
	MOVQ  40(AX), DX
	MOVQ  48(AX), BX
	KMOVW BX, K5
	MOVQ  0(DX), AX
	MOVQ  8(DX), R11
	MOVQ  16(DX), R12
	MOVQ  24(DX), R13
	MOVQ  32(DX), R15
	ADDQ  SI, R11
	ADDQ  SI, R12
	ADDQ  SI, R13
	ADDQ  SI, R15
	KMOVW 40(DX), K1
	KMOVW 48(DX), K2
	KMOVW 56(DX), K3
	KMOVW 64(DX), K4
	CMPQ  AX, $1
	JEQ   one
	JLT   list
	CMPQ  AX, $3
	JLT   two
	JEQ   three

four:
	MOVQ      (R10), BX
	VMOVUPS.Z (R11)(BX*4), K1, Z0
	VMOVUPS   (R12)(BX*4), K2, Z0
	VMOVUPS   (R13)(BX*4), K3, Z0
	VMOVUPS   (R15)(BX*4), K4, Z0
	VMOVUPS   Z0, K5, (DI)
	ADDQ      $8, R10
	ADDQ      R8, DI
	DECQ      CX
	JNZ       four
	JMP       done

three:
	MOVQ      (R10), BX
	VMOVUPS.Z (R11)(BX*4), K1, Z0
	VMOVUPS   (R12)(BX*4), K2, Z0
	VMOVUPS   (R13)(BX*4), K3, Z0
	VMOVUPS   Z0, K5, (DI)
	ADDQ      $8, R10
	ADDQ      R8, DI
	DECQ      CX
	JNZ       three
	JMP       done

two:
	MOVQ      (R10), BX
	VMOVUPS.Z (R11)(BX*4), K1, Z0
	VMOVUPS   (R12)(BX*4), K2, Z0
	VMOVUPS   Z0, K5, (DI)
	ADDQ      $8, R10
	ADDQ      R8, DI
	DECQ      CX
	JNZ       two
	JMP       done

one:
	MOVQ      (R10), BX
	VMOVUPS.Z (R11)(BX*4), K1, Z0
	VMOVUPS   Z0, K5, (DI)
	ADDQ      $8, R10
	ADDQ      R8, DI
	DECQ      CX
	JNZ       one
	JMP       done

list:
	VMOVDQU32 72(DX), Z1
	KMOVW     136(DX), K1

gather:
	MOVQ       (R10), BX
	LEAQ       (SI)(BX*4), R11
	KMOVW      K1, K4
	VPXORD     Z0, Z0, Z0
	VGATHERDPS (R11)(Z1*4), K4, Z0
	VMOVUPS    Z0, K5, (DI)
	ADDQ       $8, R10
	ADDQ       R8, DI
	DECQ       CX
	JNZ        gather

done:
	VZEROUPPER
	RET
