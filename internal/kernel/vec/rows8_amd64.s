// Rows of floats, with AVX2: eight at a time, the rest under a mask.

//go:build amd64

#include "textflag.h"
#include "lanes_amd64.h"

DATA ·lanes+0(SB)/8, $-1
DATA ·lanes+8(SB)/8, $-1
DATA ·lanes+16(SB)/8, $-1
DATA ·lanes+24(SB)/8, $-1
DATA ·lanes+32(SB)/8, $0
DATA ·lanes+40(SB)/8, $0
DATA ·lanes+48(SB)/8, $0
DATA ·lanes+56(SB)/8, $0
GLOBL ·lanes(SB), RODATA|NOPTR, $64

// EACH goes through two rows and writes a third: step makes Y0 of Y0 and Y1.
#define EACH(step) \
	MOVQ       dst+0(FP), DI \
	MOVQ       a+8(FP), SI   \
	MOVQ       b+16(FP), BX  \
	MOVQ       n+24(FP), CX  \
	SUBQ       $8, CX        \
	JLT        rest          \
	                         \
loop:                        \
	VMOVUPS    (SI), Y0      \
	VMOVUPS    (BX), Y1      \
	step                     \
	VMOVUPS    Y0, (DI)      \
	ADDQ       $32, SI       \
	ADDQ       $32, BX       \
	ADDQ       $32, DI       \
	SUBQ       $8, CX        \
	JGE        loop          \
	                         \
rest:                        \
	ADDQ       $8, CX        \
	JZ         done          \
	LANES8(CX, Y15)          \
	VMASKMOVPS (SI), Y15, Y0 \
	VMASKMOVPS (BX), Y15, Y1 \
	step                     \
	VMASKMOVPS Y0, Y15, (DI) \
	                         \
done:                        \
	VZEROUPPER               \
	RET

// ALL goes through one row, which it changes: step makes Y0 of Y0, and of what the
// function has in Y4 to Y9.
#define ALL(step) \
	SUBQ       $8, CX          \
	JLT        rest            \
	                           \
loop:                          \
	VMOVUPS    (DI), Y0        \
	step                       \
	VMOVUPS    Y0, (DI)        \
	ADDQ       $32, DI         \
	SUBQ       $8, CX          \
	JGE        loop            \
	                           \
rest:                          \
	ADDQ       $8, CX          \
	JZ         done            \
	LANES8(CX, Y15)            \
	VMASKMOVPS (DI), Y15, Y0   \
	step                       \
	VMASKMOVPS Y0, Y15, (DI)   \
	                           \
done:                          \
	VZEROUPPER                 \
	RET

#define ADD VADDPS Y1, Y0, Y0
#define SUB VSUBPS Y1, Y0, Y0
#define MUL VMULPS Y1, Y0, Y0
#define DIV VDIVPS Y1, Y0, Y0

// MAX and MIN are as with AVX-512: where two are equal, the signs decide.
#define MAX \
	VCMPPS    $0, Y1, Y0, Y2 \
	VCMPPS    $3, Y1, Y0, Y3 \
	VMAXPS    Y1, Y0, Y4     \
	VANDPS    Y1, Y0, Y5     \
	VADDPS    Y1, Y0, Y6     \
	VBLENDVPS Y2, Y5, Y4, Y4 \
	VBLENDVPS Y3, Y6, Y4, Y0

#define MIN \
	VCMPPS    $0, Y1, Y0, Y2 \
	VCMPPS    $3, Y1, Y0, Y3 \
	VMINPS    Y1, Y0, Y4     \
	VORPS     Y1, Y0, Y5     \
	VADDPS    Y1, Y0, Y6     \
	VBLENDVPS Y2, Y5, Y4, Y4 \
	VBLENDVPS Y3, Y6, Y4, Y0

// func addAVX2(dst, a, b *float32, n int)
TEXT ·addAVX2(SB), NOSPLIT, $0-32
	EACH(ADD)

// func subAVX2(dst, a, b *float32, n int)
TEXT ·subAVX2(SB), NOSPLIT, $0-32
	EACH(SUB)

// func mulAVX2(dst, a, b *float32, n int)
TEXT ·mulAVX2(SB), NOSPLIT, $0-32
	EACH(MUL)

// func divAVX2(dst, a, b *float32, n int)
TEXT ·divAVX2(SB), NOSPLIT, $0-32
	EACH(DIV)

// func maxAVX2(dst, a, b *float32, n int)
TEXT ·maxAVX2(SB), NOSPLIT, $0-32
	EACH(MAX)

// func minAVX2(dst, a, b *float32, n int)
TEXT ·minAVX2(SB), NOSPLIT, $0-32
	EACH(MIN)

#define PLUS VADDPS Y4, Y0, Y0

// func plusAVX2(v *float32, s float32, n int)
TEXT ·plusAVX2(SB), NOSPLIT, $0-24
	MOVQ         v+0(FP), DI
	MOVQ         n+16(FP), CX
	VBROADCASTSS s+8(FP), Y4
	ALL(PLUS)

#define RELU \
	VMAXPS Y0, Y4, Y0 \
	VADDPS Y4, Y0, Y0

// func reluAVX2(v *float32, n int)
TEXT ·reluAVX2(SB), NOSPLIT, $0-16
	MOVQ   v+0(FP), DI
	MOVQ   n+8(FP), CX
	VXORPS Y4, Y4, Y4
	ALL(RELU)

#define CLAMP \
	VMAXPS Y0, Y4, Y0 \
	VADDPS Y6, Y0, Y0 \
	VMINPS Y0, Y5, Y0

// func clampAVX2(v *float32, lo, hi, zero float32, n int)
TEXT ·clampAVX2(SB), NOSPLIT, $0-32
	MOVQ         v+0(FP), DI
	MOVQ         n+24(FP), CX
	VBROADCASTSS lo+8(FP), Y4
	VBROADCASTSS hi+12(FP), Y5
	VBROADCASTSS zero+16(FP), Y6
	ALL(CLAMP)

// LIMIT changes the numbers in Y0.
//
//	Y4 the least, Y5 the most, Y6 what NaN becomes, Y7 infinity, Y8 the sign
#define LIMIT \
	VANDNPS   Y0, Y8, Y1      \
	VCMPPS    $13, Y5, Y1, Y2 \
	VCMPPS    $5, Y4, Y1, Y3  \
	VCMPPS    $3, Y0, Y0, Y1  \
	VANDPS    Y8, Y0, Y9      \
	VORPS     Y7, Y9, Y9      \
	VANDPS    Y3, Y0, Y0      \
	VBLENDVPS Y2, Y9, Y0, Y0  \
	VBLENDVPS Y1, Y6, Y0, Y0

// func limitAVX2(l *Limits, v *float32, n int)
TEXT ·limitAVX2(SB), NOSPLIT, $0-24
	MOVQ         l+0(FP), DX
	MOVQ         v+8(FP), DI
	MOVQ         n+16(FP), CX
	VBROADCASTSS 0(DX), Y4
	VBROADCASTSS 4(DX), Y5
	VBROADCASTSS 8(DX), Y6
	VPCMPEQD     Y8, Y8, Y8
	VPSRLD       $24, Y8, Y7
	VPSLLD       $23, Y7, Y7
	VPSLLD       $31, Y8, Y8
	ALL(LIMIT)

// func hasNaNAVX2(v *float32, n int) bool
TEXT ·hasNaNAVX2(SB), NOSPLIT, $0-17
	MOVQ   v+0(FP), DI
	MOVQ   n+8(FP), CX
	VXORPS Y2, Y2, Y2
	SUBQ   $8, CX
	JLT    rest

loop:
	VMOVUPS (DI), Y0
	VCMPPS  $3, Y0, Y0, Y0
	VORPS   Y0, Y2, Y2
	ADDQ    $32, DI
	SUBQ    $8, CX
	JGE     loop

rest:
	ADDQ       $8, CX
	JZ         done
	LANES8(CX, Y15)
	VMASKMOVPS (DI), Y15, Y0
	VCMPPS     $3, Y0, Y0, Y0
	VORPS      Y0, Y2, Y2

done:
	VMOVMSKPS Y2, AX
	TESTL     AX, AX
	SETNE     ret+16(FP)
	VZEROUPPER
	RET

// func greatestAVX2(v *float32, n int) float32
TEXT ·greatestAVX2(SB), NOSPLIT, $0-20
	MOVQ     v+0(FP), DI
	MOVQ     n+8(FP), CX
	VPCMPEQD Y7, Y7, Y7
	VPSRLD   $1, Y7, Y7
	VPXOR    Y2, Y2, Y2
	SUBQ     $8, CX
	JLT      rest

loop:
	VPAND   (DI), Y7, Y0
	VPMAXUD Y0, Y2, Y2
	ADDQ    $32, DI
	SUBQ    $8, CX
	JGE     loop

rest:
	ADDQ       $8, CX
	JZ         done
	LANES8(CX, Y15)
	VMASKMOVPS (DI), Y15, Y0
	VPAND      Y7, Y0, Y0
	VPMAXUD    Y0, Y2, Y2

done:
	VEXTRACTI128 $1, Y2, X0
	VPMAXUD      X0, X2, X2
	VPSHUFD      $0x4e, X2, X0
	VPMAXUD      X0, X2, X2
	VPSHUFD      $0xb1, X2, X0
	VPMAXUD      X0, X2, X2
	VMOVSS       X2, ret+16(FP)
	VZEROUPPER
	RET
