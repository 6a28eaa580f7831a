#include "textflag.h"

// AWAY rounds the numbers in Z0 to fp16, ties away from zero.
//
//	Z16 0x7fffffff, Z17 0x1000, Z18 0xffffe000, Z19 2^16, Z20 infinity, Z21 2^-14
//	Z22 2^24, Z23 2^-24, Z24 0.5, Z25 1, Z26 a NaN
#define AWAY \
	VPANDD     Z16, Z0, Z1        \
	VPANDND    Z0, Z16, Z2        \
	VPADDD     Z17, Z1, Z3        \
	VPANDD     Z18, Z3, Z3        \
	VCMPPS     $13, Z19, Z3, K2   \
	VMOVAPS    Z20, K2, Z3        \
	VMULPS     Z22, Z1, Z4        \
	VRNDSCALEPS $11, Z4, Z5       \
	VSUBPS     Z5, Z4, Z4         \
	VCMPPS     $13, Z24, Z4, K3   \
	VADDPS     Z25, Z5, K3, Z5    \
	VMULPS     Z23, Z5, Z5        \
	VCMPPS     $1, Z21, Z1, K4    \
	VMOVAPS    Z5, K4, Z3         \
	VCMPPS     $3, Z0, Z0, K5     \
	VMOVAPS    Z26, K5, Z3        \
	VPORD      Z2, Z3, Z0

#define ALL16(bits, z) \
	MOVL         $bits, AX \
	VPBROADCASTD AX, z

// func awayAVX512(v *float32, n int)
TEXT ·awayAVX512(SB), NOSPLIT, $0-16
	MOVQ v+0(FP), DI
	MOVQ n+8(FP), CX
	ALL16(0x7fffffff, Z16)
	ALL16(0x1000, Z17)
	ALL16(0xffffe000, Z18)
	ALL16(0x47800000, Z19)
	ALL16(0x7f800000, Z20)
	ALL16(0x38800000, Z21)
	ALL16(0x4b800000, Z22)
	ALL16(0x33800000, Z23)
	ALL16(0x3f000000, Z24)
	ALL16(0x3f800000, Z25)
	ALL16(0x7fc00000, Z26)
	SUBQ $16, CX
	JLT  rest

loop:
	VMOVUPS (DI), Z0
	AWAY
	VMOVUPS Z0, (DI)
	ADDQ    $64, DI
	SUBQ    $16, CX
	JGE     loop

rest:
	ADDQ  $16, CX
	JZ    done
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1
	VMOVUPS.Z (DI), K1, Z0
	AWAY
	VMOVUPS   Z0, K1, (DI)

done:
	VZEROUPPER
	RET
