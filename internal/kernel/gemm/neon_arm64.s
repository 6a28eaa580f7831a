// The block of the row neon-6x16.
//
//	V0 … V3    a factor of 16 lines of B
//	V4 … V7    a factor of a line of A, in all lanes
//	V8 … V31   the sums: line by line of A, four lines of B in each

//go:build arm64

#include "textflag.h"

// LINE adds the products of a line of A.
#define LINE(a, s0, s1, s2, s3) \
	VFMLA a.S4, V0.S4, s0.S4 \
	VFMLA a.S4, V1.S4, s1.S4 \
	VFMLA a.S4, V2.S4, s2.S4 \
	VFMLA a.S4, V3.S4, s3.S4

// PUT puts sums into a row of C, and goes on to the next. V4 is 1: there is no
// addition of vectors, but x·1 + s is rounded as x + s is.
#define PUT(s0, s1, s2, s3) \
	VLD1  (R5), [V0.S4, V1.S4, V2.S4, V3.S4] \
	VFMLA V0.S4, V4.S4, s0.S4                 \
	VFMLA V1.S4, V4.S4, s1.S4                 \
	VFMLA V2.S4, V4.S4, s2.S4                 \
	VFMLA V3.S4, V4.S4, s3.S4                 \
	VST1  [s0.S4, s1.S4, s2.S4, s3.S4], (R3)  \
	ADD   R6, R5                              \
	ADD   R4, R3

// func add6x16(block *block)
TEXT ·add6x16(SB), NOSPLIT, $0-8
	MOVD block+0(FP), R8
	MOVD 0(R8), R0       // A
	MOVD 8(R8), R1       // B
	MOVD 16(R8), R2      // depth
	MOVD 24(R8), R3      // C
	MOVD 32(R8), R4
	MOVD 40(R8), R5      // what sums are added to
	MOVD 48(R8), R6
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	VEOR V10.B16, V10.B16, V10.B16
	VEOR V11.B16, V11.B16, V11.B16
	VEOR V12.B16, V12.B16, V12.B16
	VEOR V13.B16, V13.B16, V13.B16
	VEOR V14.B16, V14.B16, V14.B16
	VEOR V15.B16, V15.B16, V15.B16
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16
	VEOR V20.B16, V20.B16, V20.B16
	VEOR V21.B16, V21.B16, V21.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16
	VEOR V24.B16, V24.B16, V24.B16
	VEOR V25.B16, V25.B16, V25.B16
	VEOR V26.B16, V26.B16, V26.B16
	VEOR V27.B16, V27.B16, V27.B16
	VEOR V28.B16, V28.B16, V28.B16
	VEOR V29.B16, V29.B16, V29.B16
	VEOR V30.B16, V30.B16, V30.B16
	VEOR V31.B16, V31.B16, V31.B16

loop:
	VLD1.P  64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1R.P 4(R0), [V4.S4]
	VLD1R.P 4(R0), [V5.S4]
	VLD1R.P 4(R0), [V6.S4]
	VLD1R.P 4(R0), [V7.S4]
	LINE(V4, V8, V9, V10, V11)
	LINE(V5, V12, V13, V14, V15)
	VLD1R.P 4(R0), [V4.S4]
	VLD1R.P 4(R0), [V5.S4]
	LINE(V6, V16, V17, V18, V19)
	LINE(V7, V20, V21, V22, V23)
	LINE(V4, V24, V25, V26, V27)
	LINE(V5, V28, V29, V30, V31)
	SUBS    $1, R2
	BNE     loop

	MOVW $0x3f800000, R7
	VDUP R7, V4.S4
	PUT(V8, V9, V10, V11)
	PUT(V12, V13, V14, V15)
	PUT(V16, V17, V18, V19)
	PUT(V20, V21, V22, V23)
	PUT(V24, V25, V26, V27)
	PUT(V28, V29, V30, V31)
	RET
