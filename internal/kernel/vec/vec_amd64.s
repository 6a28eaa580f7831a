// Rows of floats, with AVX-512: 16 at a time, the rest under a mask.

//go:build amd64

#include "textflag.h"

// REST makes the mask K1 of the CX lanes that are left, fewer than 16, and goes on
// at done if there are none.
#define REST \
	TESTQ CX, CX  \
	JZ    done    \
	MOVL  $1, AX  \
	SHLL  CX, AX  \
	DECL  AX      \
	KMOVW AX, K1

// EACH goes through two rows and writes a third: step makes Z0 of Z0 and Z1.
#define EACH(step) \
	MOVQ      dst+0(FP), DI \
	MOVQ      a+8(FP), SI   \
	MOVQ      b+16(FP), BX  \
	MOVQ      n+24(FP), CX  \
	SUBQ      $16, CX       \
	JLT       rest          \
	                        \
loop:                       \
	VMOVUPS   (SI), Z0      \
	VMOVUPS   (BX), Z1      \
	step                    \
	VMOVUPS   Z0, (DI)      \
	ADDQ      $64, SI       \
	ADDQ      $64, BX       \
	ADDQ      $64, DI       \
	SUBQ      $16, CX       \
	JGE       loop          \
	                        \
rest:                       \
	ADDQ      $16, CX       \
	REST                    \
	VMOVUPS.Z (SI), K1, Z0  \
	VMOVUPS.Z (BX), K1, Z1  \
	step                    \
	VMOVUPS   Z0, K1, (DI)  \
	                        \
done:                       \
	VZEROUPPER              \
	RET

// ALL goes through one row, which it changes: step makes Z0 of Z0, and of what the
// function has in Z4 to Z7.
#define ALL(v, size, step) \
	MOVQ      v+0(FP), DI     \
	MOVQ      n+size(FP), CX  \
	SUBQ      $16, CX         \
	JLT       rest            \
	                          \
loop:                         \
	VMOVUPS   (DI), Z0        \
	step                      \
	VMOVUPS   Z0, (DI)        \
	ADDQ      $64, DI         \
	SUBQ      $16, CX         \
	JGE       loop            \
	                          \
rest:                         \
	ADDQ      $16, CX         \
	REST                      \
	VMOVUPS.Z (DI), K1, Z0    \
	step                      \
	VMOVUPS   Z0, K1, (DI)    \
	                          \
done:                         \
	VZEROUPPER                \
	RET

#define ADD VADDPS Z1, Z0, Z0
#define SUB VSUBPS Z1, Z0, Z0
#define MUL VMULPS Z1, Z0, Z0
#define DIV VDIVPS Z1, Z0, Z0

// MAX and MIN are those of Go: NaN if either is, and -0 is below 0. The instruction
// gives the second of two that are equal or not ordered: where they are equal, the
// signs decide.
#define MAX \
	VCMPPS $0, Z1, Z0, K2       \
	VCMPPS $3, Z1, Z0, K3       \
	VMAXPS Z1, Z0, Z2           \
	VPANDD Z1, Z0, K2, Z2       \
	VADDPS Z1, Z0, K3, Z2       \
	VMOVAPS Z2, Z0

#define MIN \
	VCMPPS $0, Z1, Z0, K2       \
	VCMPPS $3, Z1, Z0, K3       \
	VMINPS Z1, Z0, Z2           \
	VPORD  Z1, Z0, K2, Z2       \
	VADDPS Z1, Z0, K3, Z2       \
	VMOVAPS Z2, Z0

// func addAVX512(dst, a, b *float32, n int)
TEXT ·addAVX512(SB), NOSPLIT, $0-32
	EACH(ADD)

// func subAVX512(dst, a, b *float32, n int)
TEXT ·subAVX512(SB), NOSPLIT, $0-32
	EACH(SUB)

// func mulAVX512(dst, a, b *float32, n int)
TEXT ·mulAVX512(SB), NOSPLIT, $0-32
	EACH(MUL)

// func divAVX512(dst, a, b *float32, n int)
TEXT ·divAVX512(SB), NOSPLIT, $0-32
	EACH(DIV)

// func maxAVX512(dst, a, b *float32, n int)
TEXT ·maxAVX512(SB), NOSPLIT, $0-32
	EACH(MAX)

// func minAVX512(dst, a, b *float32, n int)
TEXT ·minAVX512(SB), NOSPLIT, $0-32
	EACH(MIN)

#define PLUS VADDPS Z4, Z0, Z0

// func plusAVX512(v *float32, s float32, n int)
TEXT ·plusAVX512(SB), NOSPLIT, $0-24
	VBROADCASTSS s+8(FP), Z4
	ALL(v, 16, PLUS)

// RELU is max(x, 0). The maximum of 0 and x keeps NaN, and -0: the sum takes that
// away.
#define RELU \
	VMAXPS Z0, Z4, Z0 \
	VADDPS Z4, Z0, Z0

// func reluAVX512(v *float32, n int)
TEXT ·reluAVX512(SB), NOSPLIT, $0-16
	VPXORD Z4, Z4, Z4
	ALL(v, 8, RELU)

// CLAMP is min(max(x, lo), hi), for bounds that are neither -0 nor NaN. Z6 is 0 if lo
// is, which makes 0 of -0, and -0 otherwise, which changes nothing.
#define CLAMP \
	VMAXPS Z0, Z4, Z0 \
	VADDPS Z6, Z0, Z0 \
	VMINPS Z0, Z5, Z0

// func clampAVX512(v *float32, lo, hi, zero float32, n int)
TEXT ·clampAVX512(SB), NOSPLIT, $0-32
	VBROADCASTSS lo+8(FP), Z4
	VBROADCASTSS hi+12(FP), Z5
	VBROADCASTSS zero+16(FP), Z6
	ALL(v, 24, CLAMP)
