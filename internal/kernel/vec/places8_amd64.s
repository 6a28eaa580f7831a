//go:build amd64

#include "textflag.h"

// NEXT ends a step: it writes Y0 and goes on.
#define NEXT(loop) \
	VMOVUPS Y0, (DI) \
	ADDQ    $8, R10  \
	ADDQ    R8, DI   \
	DECQ    CX       \
	JNZ     loop

// MORE puts the lanes of one more stretch to Y0.
#define MORE(from, lanes) \
	VMASKMOVPS (from)(BX*4), lanes, Y1 \
	VORPS      Y1, Y0, Y0

// func placesAVX2(p *eightPlacing)
//
// Eight places, by a table of shifts. Registers as in placesAVX512; Y2 … Y5 are the lanes
// of stretches.
TEXT ·placesAVX2(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	MOVQ 0(AX), DI
	MOVQ 8(AX), SI
	MOVQ 16(AX), R10
	MOVQ 24(AX), CX
	MOVQ 32(AX), R8
	MOVQ 40(AX), DX
	MOVQ 0(DX), AX
	MOVQ 8(DX), R11
	MOVQ 16(DX), R12
	MOVQ 24(DX), R13
	MOVQ 32(DX), R15
	ADDQ SI, R11
	ADDQ SI, R12
	ADDQ SI, R13
	ADDQ SI, R15
	VPMOVSXBD 40(DX), Y2
	VPMOVSXBD 48(DX), Y3
	VPMOVSXBD 56(DX), Y4
	VPMOVSXBD 64(DX), Y5
	CMPQ AX, $1
	JEQ  one
	JLT  list
	CMPQ AX, $3
	JLT  two

four:
	MOVQ       (R10), BX
	VMASKMOVPS (R11)(BX*4), Y2, Y0
	MORE(R12, Y3)
	MORE(R13, Y4)
	MORE(R15, Y5)
	NEXT(four)
	JMP        done

two:
	MOVQ       (R10), BX
	VMASKMOVPS (R11)(BX*4), Y2, Y0
	MORE(R12, Y3)
	NEXT(two)
	JMP        done

one:
	CMPQ 40(DX), $-1
	JEQ  whole

part:
	MOVQ       (R10), BX
	VMASKMOVPS (R11)(BX*4), Y2, Y0
	NEXT(part)
	JMP        done

whole:
	MOVQ    (R10), BX
	VMOVUPS (R11)(BX*4), Y0
	NEXT(whole)
	JMP     done

list:
	VMOVDQU   72(DX), Y1
	VPMOVSXBD 104(DX), Y2

gather:
	MOVQ       (R10), BX
	LEAQ       (SI)(BX*4), R11
	VMOVAPS    Y2, Y3
	VXORPS     Y0, Y0, Y0
	VGATHERDPS Y3, (R11)(Y1*4), Y0
	NEXT(gather)

done:
	VZEROUPPER
	RET
