#include "textflag.h"

// ARGUMENTS reads a look: DI where to, SI codes, BX the table, CX how many, AX how
// far it is to the next 32, DX the spread.
#define ARGUMENTS \
	MOVQ l+0(FP), R8  \
	MOVQ 0(R8), DI    \
	MOVQ 8(R8), SI    \
	MOVQ 16(R8), BX   \
	MOVQ 24(R8), CX   \
	MOVQ 32(R8), AX   \
	MOVQ 40(R8), DX

// SPREADING makes ready, SPREAD makes words, Z0, of 32 codes.
#define SPREADING \
	VMOVDQU64    (DX), Z8     \
	VMOVDQU64    64(DX), Z9   \
	VMOVDQU64    128(DX), Z10 \
	KMOVQ        192(DX), K1  \
	MOVQ         200(DX), R9  \
	VPBROADCASTW R9, Z11

#define SPREAD \
	VMOVDQU8.Z (SI), K1, Z0 \
	VPERMW     Z0, Z8, Z0   \
	VPSHUFB    Z9, Z0, Z0   \
	VPSRLVW    Z10, Z0, Z0  \
	VPANDD     Z11, Z0, Z0

#define NEXT(loop) \
	ADDQ AX, SI  \
	ADDQ $64, DI \
	SUBQ $32, CX \
	JNZ  loop

// SCALE512 and SCALE2 make numbers of codes, which widen makes integers of.
#define SCALE512(widen) \
	MOVQ         c+0(FP), R8      \
	MOVQ         0(R8), DI        \
	MOVQ         8(R8), SI        \
	MOVQ         16(R8), CX       \
	VBROADCASTSS 24(R8), Z8       \
	VBROADCASTSS 28(R8), Z9       \
	                              \
loop:                             \
	widen        (SI), Z0         \
	VCVTDQ2PS    Z0, Z0           \
	VSUBPS       Z8, Z0, Z0       \
	VMULPS       Z9, Z0, Z0       \
	VCVTPS2PH    $0, Z0, (DI)     \
	ADDQ         $16, SI          \
	ADDQ         $32, DI          \
	SUBQ         $16, CX          \
	JNZ          loop             \
	VZEROUPPER                    \
	RET

#define SCALE2(widen) \
	MOVQ         c+0(FP), R8      \
	MOVQ         0(R8), DI        \
	MOVQ         8(R8), SI        \
	MOVQ         16(R8), CX       \
	VBROADCASTSS 24(R8), Y8       \
	VBROADCASTSS 28(R8), Y9       \
	                              \
loop:                             \
	widen        (SI), Y0         \
	widen        8(SI), Y1        \
	VCVTDQ2PS    Y0, Y0           \
	VCVTDQ2PS    Y1, Y1           \
	VSUBPS       Y8, Y0, Y0       \
	VSUBPS       Y8, Y1, Y1       \
	VMULPS       Y9, Y0, Y0       \
	VMULPS       Y9, Y1, Y1       \
	VCVTPS2PH    $0, Y0, (DI)     \
	VCVTPS2PH    $0, Y1, 16(DI)   \
	ADDQ         $16, SI          \
	ADDQ         $32, DI          \
	SUBQ         $16, CX          \
	JNZ          loop             \
	VZEROUPPER                    \
	RET

// func lookAVX512(l *look)
TEXT ·lookAVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	SPREADING
	VMOVDQU64 (BX), Z12

loop:
	SPREAD
	VPERMW    Z12, Z0, Z1
	VMOVDQU64 Z1, (DI)
	NEXT(loop)
	VZEROUPPER
	RET

// func look6AVX512(l *look)
TEXT ·look6AVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	SPREADING
	VMOVDQU64 (BX), Z12
	VMOVDQU64 64(BX), Z13

loop:
	SPREAD
	VPERMI2W  Z13, Z12, Z0
	VMOVDQU64 Z0, (DI)
	NEXT(loop)
	VZEROUPPER
	RET

// func look8AVX512(l *look)
TEXT ·look8AVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	VMOVDQU64 (BX), Z12
	VMOVDQU64 64(BX), Z13
	VMOVDQU64 128(BX), Z14
	VMOVDQU64 192(BX), Z15
	VMOVDQU64 256(BX), Z16
	VMOVDQU64 320(BX), Z17
	VMOVDQU64 384(BX), Z18
	VMOVDQU64 448(BX), Z19

loop:
	VPMOVZXBW (SI), Z0
	VPSLLW    $8, Z0, Z1
	VPSLLW    $9, Z0, Z2
	VPMOVW2M  Z1, K1         // the second half of the table
	VPMOVW2M  Z2, K2         // the second half of either
	VMOVDQA64 Z0, Z3
	VMOVDQA64 Z0, Z4
	VMOVDQA64 Z0, Z5
	VPERMI2W  Z13, Z12, Z0
	VPERMI2W  Z15, Z14, Z3
	VPERMI2W  Z17, Z16, Z4
	VPERMI2W  Z19, Z18, Z5
	VMOVDQU16 Z3, K2, Z0
	VMOVDQU16 Z5, K2, Z4
	VMOVDQU16 Z4, K1, Z0
	VMOVDQU64 Z0, (DI)
	NEXT(loop)
	VZEROUPPER
	RET

DATA low<>+0(SB)/8, $0x0e0c0a0806040200
DATA low<>+8(SB)/8, $0x8080808080808080
GLOBL low<>(SB), RODATA|NOPTR, $16
DATA high<>+0(SB)/8, $0x0f0d0b0907050301
DATA high<>+8(SB)/8, $0x8080808080808080
GLOBL high<>(SB), RODATA|NOPTR, $16
DATA ones<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA ones<>+8(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL ones<>(SB), RODATA|NOPTR, $16

// func look4AVX2(l *look)
//
// The table is X4, its low bytes, and X5, its high ones.
TEXT ·look4AVX2(SB), NOSPLIT, $0-8
	ARGUMENTS
	VMOVDQU     (BX), X0
	VMOVDQU     16(BX), X1
	VPSHUFB     low<>(SB), X0, X2
	VPSHUFB     low<>(SB), X1, X3
	VPUNPCKLQDQ X3, X2, X4
	VPSHUFB     high<>(SB), X0, X2
	VPSHUFB     high<>(SB), X1, X3
	VPUNPCKLQDQ X3, X2, X5
	VMOVDQU     ones<>(SB), X6

loop:
	VMOVDQU    (SI), X0
	VPSRLW     $4, X0, X1
	VPAND      X6, X0, X0
	VPAND      X6, X1, X1
	VPUNPCKLBW X1, X0, X2 // codes 0 to 15
	VPUNPCKHBW X1, X0, X3
	VPSHUFB    X2, X4, X0
	VPSHUFB    X2, X5, X1
	VPUNPCKLBW X1, X0, X7
	VPUNPCKHBW X1, X0, X8
	VMOVDQU    X7, (DI)
	VMOVDQU    X8, 16(DI)
	VPSHUFB    X3, X4, X0
	VPSHUFB    X3, X5, X1
	VPUNPCKLBW X1, X0, X7
	VPUNPCKHBW X1, X0, X8
	VMOVDQU    X7, 32(DI)
	VMOVDQU    X8, 48(DI)
	NEXT(loop)
	VZEROUPPER
	RET

// func signedAVX512(c *scaling)
TEXT ·signedAVX512(SB), NOSPLIT, $0-8
	SCALE512(VPMOVSXBD)

// func unsignedAVX512(c *scaling)
TEXT ·unsignedAVX512(SB), NOSPLIT, $0-8
	SCALE512(VPMOVZXBD)

// func signedAVX2(c *scaling)
TEXT ·signedAVX2(SB), NOSPLIT, $0-8
	SCALE2(VPMOVSXBD)

// func unsignedAVX2(c *scaling)
TEXT ·unsignedAVX2(SB), NOSPLIT, $0-8
	SCALE2(VPMOVZXBD)

// func blocks4AVX512(b *blocks)
//
// The table of a block, Y4, is made of the values of the 16 codes, Z7. A byte has two
// codes, which go into the two words of 32 bits.
TEXT ·blocks4AVX512(SB), NOSPLIT, $0-8
	MOVQ         b+0(FP), R8
	MOVQ         0(R8), DI
	MOVQ         8(R8), SI
	MOVQ         16(R8), BX
	MOVQ         24(R8), DX
	MOVQ         32(R8), AX
	MOVQ         40(R8), CX
	MOVQ         48(R8), R9
	MOVQ         56(R8), R10
	VMOVUPS      (R10), Z7
	MOVL         $0x000f000f, R10
	VPBROADCASTD R10, Z6

block:
	VPBROADCASTW (BX), Y1
	VCVTPH2PS    Y1, Z1
	VSUBPS.BCST  (DX), Z7, Z3
	VMULPS       Z1, Z3, Z3
	VCVTPS2PH    $0, Z3, Y4
	ADDQ         $2, BX
	ADDQ         AX, DX
	MOVQ         R9, R10

group:
	VPMOVZXBD  (SI), Z0
	VPSLLD     $12, Z0, Z2
	VPORD      Z2, Z0, Z0
	VPANDD     Z6, Z0, Z0
	VPERMW     Z4, Z0, Z5
	VMOVDQU64  Z5, (DI)
	ADDQ       $16, SI
	ADDQ       $64, DI
	DECQ       R10
	JNZ        group
	DECQ       CX
	JNZ        block
	VZEROUPPER
	RET

// func lookTwiceAVX512(l *lookTwice)
//
// R10 and R11 are where the line begins.
TEXT ·lookTwiceAVX512(SB), NOSPLIT, $0-8
	MOVQ      l+0(FP), R8
	MOVQ      40(R8), DX
	SPREADING
	MOVQ      0(R8), R10
	MOVQ      8(R8), R11
	MOVQ      16(R8), BX
	VMOVDQU64 (BX), Z12
	VMOVDQU64 64(BX), Z13
	MOVQ      24(R8), BX
	VMOVDQU64 (BX), Z14
	VMOVDQU64 64(BX), Z15
	MOVQ      32(R8), AX
	MOVQ      48(R8), BX
	MOVQ      64(R8), R12
	MOVQ      72(R8), R13

line:
	MOVQ R10, DI
	MOVQ R11, SI
	MOVQ 56(R8), CX

group:
	SPREAD
	VMOVDQA64 Z0, Z1
	VPERMI2W  Z13, Z12, Z0
	VPERMI2W  Z15, Z14, Z1
	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z1, (DI)(R13*1)
	ADDQ      AX, SI
	ADDQ      R12, DI
	DECQ      CX
	JNZ       group
	ADDQ      80(R8), R10
	ADDQ      88(R8), R11
	DECQ      BX
	JNZ       line
	VZEROUPPER
	RET
