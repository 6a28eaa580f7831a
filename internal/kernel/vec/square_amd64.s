//go:build amd64

#include "textflag.h"

// SQUARE makes of Z0 its square, rounded to odd: towards 0, and if the square is
// greater than that, the last bit is set.
#define SQUARE \
	VMULPS.RZ_SAE      Z0, Z0, Z1     \
	VFMSUB213PS.RU_SAE Z1, Z0, Z0     \
	VPXORD             Z2, Z2, Z2     \
	VCMPPS             $12, Z2, Z0, K2 \
	VPORD              Z4, Z1, K2, Z1

// func squareAVX512(v *float32, n int)
TEXT ·squareAVX512(SB), NOSPLIT, $0-16
	MOVQ v+0(FP), DI
	MOVQ n+8(FP), CX
	MOVL $1, AX
	VPBROADCASTD AX, Z4

loop:
	CMPQ    CX, $16
	JLT     rest
	VMOVUPS (DI), Z0
	SQUARE
	VMOVUPS Z1, (DI)
	ADDQ    $64, DI
	SUBQ    $16, CX
	JMP     loop

rest:
	TESTQ CX, CX
	JZ    done
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1
	VMOVUPS.Z (DI), K1, Z0
	SQUARE
	VMOVUPS Z1, K1, (DI)

done:
	VZEROUPPER
	RET
