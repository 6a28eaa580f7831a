// Curves, with AVX2: eight numbers at a time, with knots read where they lie.

//go:build amd64

#include "textflag.h"
#include "lanes_amd64.h"

// CURVE has the curve in DX; DI and CX are the elements, Y15 the number of the last line.
#define CURVE \
	MOVQ     c+0(FP), DX      \
	MOVQ     v+8(FP), DI      \
	MOVQ     n+16(FP), CX     \
	VPCMPEQD Y15, Y15, Y15    \
	VPSRLD   $27, Y15, Y15

// AT is the lines at the positions Y1, in Y4. A number that has no line is none of
// those that are used.
#define AT \
	VCVTTPS2DQ Y1, Y2                \
	VPMINSD    Y15, Y2, Y2           \
	VPAND      Y15, Y2, Y2           \
	VCVTDQ2PS  Y2, Y3                \
	VSUBPS     Y3, Y1, Y3            \
	VPCMPEQD   Y6, Y6, Y6            \
	VGATHERDPS Y6, (DX)(Y2*4), Y4    \
	VPCMPEQD   Y6, Y6, Y6            \
	VGATHERDPS Y6, 128(DX)(Y2*4), Y5 \
	VMULPS     Y3, Y5, Y5            \
	VADDPS     Y5, Y4, Y4

// WHERE puts number at of the curve into Y4 where Y0 compares so with a limit.
#define WHERE(how, limit, at) \
	VBROADCASTSS limit(DX), Y2    \
	VCMPPS       $how, Y2, Y0, Y2 \
	VBROADCASTSS at(DX), Y3       \
	VBLENDVPS    Y2, Y3, Y4, Y4

#define LIMITS \
	VCMPPS    $3, Y0, Y0, Y2 \
	VBLENDVPS Y2, Y0, Y4, Y4 \
	WHERE(13, 260, 268)      \
	WHERE(2, 256, 264)

// TAIL is the line slope·x + at in Y4 where Y2 says so.
#define TAIL(slope, at) \
	VBROADCASTSS slope(DX), Y5  \
	VMULPS       Y5, Y0, Y5     \
	VBROADCASTSS at(DX), Y6     \
	VADDPS       Y6, Y5, Y5     \
	VBLENDVPS    Y2, Y5, Y4, Y4

// LINES is the curve at Y0, in Y4. Y8 is 0, Y9 the position of 0, Y10 the last.
#define LINES \
	VBROADCASTSS 272(DX), Y1      \
	VMULPS       Y1, Y0, Y1       \
	VADDPS       Y9, Y1, Y1       \
	AT                            \
	VCMPPS       $1, Y8, Y1, Y2   \
	TAIL(276, 280)                \
	VCMPPS       $14, Y10, Y1, Y2 \
	TAIL(284, 288)                \
	LIMITS

// SCALE makes of the floats of x, of which y is the register, x·2^n with whole numbers n,
// in x. Y11 is 1 in fp64, so that the result is rounded once.
#define SCALE(x, y, n, t) \
	VPMOVSXDQ  n, t      \
	VPSLLQ     $52, t, t \
	VPADDQ     Y11, t, t \
	VCVTPS2PD  x, y      \
	VMULPD     t, y, y   \
	VCVTPD2PSY y, x

// POWERS is the curve at Y0 as powers, in Y4. Y9 and Y10 bound exponents.
#define POWERS \
	VROUNDPS     $9, Y0, Y7     \
	VSUBPS       Y7, Y0, Y1     \
	VBROADCASTSS 272(DX), Y2    \
	VMULPS       Y2, Y1, Y1     \
	AT                          \
	VMINPS       Y10, Y7, Y7    \
	VMAXPS       Y9, Y7, Y7     \
	VCVTPS2DQ    Y7, Y7         \
	VEXTRACTF128 $1, Y4, X5     \
	VEXTRACTI128 $1, Y7, X6     \
	SCALE(X4, Y4, X7, Y2)       \
	SCALE(X5, Y5, X6, Y2)       \
	VINSERTF128  $1, X5, Y4, Y4 \
	LIMITS

// EIGHT goes through the row: step makes Y4 of Y0.
#define EIGHT(step) \
	SUBQ       $8, CX          \
	JLT        rest            \
	                           \
loop:                          \
	VMOVUPS    (DI), Y0        \
	step                       \
	VMOVUPS    Y4, (DI)        \
	ADDQ       $32, DI         \
	SUBQ       $8, CX          \
	JGE        loop            \
	                           \
rest:                          \
	ADDQ       $8, CX          \
	JZ         done            \
	LANES8(CX, Y14)            \
	VMASKMOVPS (DI), Y14, Y0   \
	step                       \
	VMASKMOVPS Y4, Y14, (DI)   \
	                           \
done:                          \
	VZEROUPPER                 \
	RET

#define BITS(bits, x, y) \
	MOVL         $bits, AX \
	VMOVD        AX, x     \
	VPBROADCASTD x, y

// func curveLinesAVX2(c *Curve, v *float32, n int)
TEXT ·curveLinesAVX2(SB), NOSPLIT, $0-24
	CURVE
	VXORPS Y8, Y8, Y8
	BITS(0x41800000, X9, Y9)   // 16
	BITS(0x42000000, X10, Y10) // 32
	EIGHT(LINES)

// func curvePowersAVX2(c *Curve, v *float32, n int)
TEXT ·curvePowersAVX2(SB), NOSPLIT, $0-24
	CURVE
	BITS(0xc3c80000, X9, Y9)   // -400
	BITS(0x43c80000, X10, Y10) // 400
	MOVQ         $0x3ff0000000000000, AX
	VMOVQ        AX, X11
	VPBROADCASTQ X11, Y11
	EIGHT(POWERS)
