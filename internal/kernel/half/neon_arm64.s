// Conversions of fp16 numbers, eight at a time.

//go:build arm64

#include "textflag.h"

// The assembler does not know these instructions; the tests over all fp16 numbers hold
// their bytes. WIDEN_LOW and WIDEN_HIGH make floats of the lower and the upper four
// numbers of a vector, NARROW_LOW and NARROW_HIGH are the way back, and SAME compares
// floats with themselves: NaN are not the same.
#define WIDEN_LOW(n, d)   WORD $(0x0e217800 + 32*n + d)
#define WIDEN_HIGH(n, d)  WORD $(0x4e217800 + 32*n + d)
#define NARROW_LOW(n, d)  WORD $(0x0e216800 + 32*n + d)
#define NARROW_HIGH(n, d) WORD $(0x4e216800 + 32*n + d)
#define SAME(n, d)        WORD $(0x4e20e400 + 65536*n + 32*n + d)

// QUIET makes of each NaN among the floats n, register i, the one that Bits gives, of
// its sign, by way of t, register it, and u. V30 is the sign, V31 that NaN.

#define QUIET(i, n, t, it, u) \
	SAME(i, it)                       \
	VAND n.B16, V30.B16, u.B16        \
	VORR u.B16, V31.B16, u.B16        \
	VBIF t.B16, u.B16, n.B16

#define NAN \
	MOVW $0x80000000, R3 \
	VDUP R3, V30.S4      \
	MOVW $0x7fc00000, R3 \
	VDUP R3, V31.S4

// func floatsNEON(dst *float32, src *byte, n int)
TEXT ·floatsNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2

loop:
	VLD1.P 16(R1), [V0.H8]
	WIDEN_LOW(0, 1)
	WIDEN_HIGH(0, 2)
	VST1.P [V1.S4, V2.S4], 32(R0)
	SUBS   $8, R2
	BNE    loop
	RET

// func putNEON(dst *byte, src *float32, n int)
TEXT ·putNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	NAN

loop:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	QUIET(0, V0, V4, 4, V5)
	QUIET(1, V1, V6, 6, V7)
	NARROW_LOW(0, 2)
	NARROW_HIGH(1, 2)
	VST1.P [V2.H8], 16(R0)
	SUBS   $8, R2
	BNE    loop
	RET

// func roundNEON(v *float32, n int)
TEXT ·roundNEON(SB), NOSPLIT, $0-16
	MOVD v+0(FP), R0
	MOVD n+8(FP), R2
	NAN

loop:
	VLD1   (R0), [V0.S4, V1.S4]
	QUIET(0, V0, V4, 4, V5)
	QUIET(1, V1, V6, 6, V7)
	NARROW_LOW(0, 2)
	NARROW_HIGH(1, 2)
	WIDEN_LOW(2, 0)
	WIDEN_HIGH(2, 1)
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS   $8, R2
	BNE    loop
	RET
