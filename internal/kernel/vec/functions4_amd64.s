// Functions of one value, with AVX2, in fp64: four at a time, the rest under a mask.

//go:build amd64

#include "textflag.h"
#include "four_amd64.h"

// ROW goes through a row: step makes Y0 of Y0. Y8 has a constant of the call.
#define ROW(step) \
	MOVQ         p+0(FP), DX        \
	MOVQ         0(DX), DI          \
	MOVQ         8(DX), CX          \
	MOVQ         16(DX), R8         \
	VBROADCASTSD 24(DX), Y8         \
	LEAQ         ·constants(SB), R9 \
	FOUR                            \
	VMASKMOVPS   (DI), X13, X0      \
	VCVTPS2PD    X0, Y0             \
	step                            \
	ROUND                           \
	VMASKMOVPS   X1, X13, (DI)      \
	ADDQ         $16, DI            \
	SUBQ         $4, CX             \
	JGT          loop               \
	                                \
done:                               \
	VZEROUPPER                      \
	RET

#define EXP1 \
	EXP(Y0, Y1, Y2, Y3) \
	VMOVAPD Y2, Y0

// func expAVX2(p *function)
TEXT ·expAVX2(SB), NOSPLIT, $0-8
	ROW(EXP1)

#define SIGMOID1 \
	NEGATE(Y0)              \
	SIGMOID(Y0, Y1, Y2, Y3) \
	VMOVAPD Y2, Y0

// func sigmoidAVX2(p *function)
TEXT ·sigmoidAVX2(SB), NOSPLIT, $0-8
	ROW(SIGMOID1)

#define GATED1 \
	NEGATE(Y0)              \
	SIGMOID(Y0, Y1, Y2, Y3) \
	TIMES(Y10, Y2)          \
	VMOVAPD Y2, Y0

#define SWISH1 \
	VMOVAPD Y0, Y10    \
	VMULPD  Y8, Y0, Y0 \
	GATED1

// func swishAVX2(p *function)
TEXT ·swishAVX2(SB), NOSPLIT, $0-8
	ROW(SWISH1)

#define GELUTANH1 \
	VMOVAPD      Y0, Y10    \
	VMULPD       Y0, Y0, Y1 \
	VMULPD       Y0, Y1, Y1 \
	VBROADCASTSD 80(R9), Y2 \
	VFMADD231PD  Y2, Y1, Y0 \
	VBROADCASTSD 72(R9), Y2 \
	VMULPD       Y2, Y0, Y0 \
	GATED1

// func geluTanhAVX2(p *function)
TEXT ·geluTanhAVX2(SB), NOSPLIT, $0-8
	ROW(GELUTANH1)

#define TANH1 \
	VMOVAPD      Y0, Y10        \
	ABS(Y0, Y0)                 \
	VBROADCASTSD 88(R9), Y1     \
	VMULPD       Y1, Y0, Y0     \
	REDUCE(Y0, Y1, Y2, Y3)      \
	POWER(Y1, Y0, Y3)           \
	VMULPD       Y1, Y2, Y2     \
	VMULPD       Y0, Y2, Y2     \
	VMULPD       Y0, Y1, Y1     \
	VBROADCASTSD 40(R9), Y3     \
	VSUBPD       Y3, Y1, Y1     \
	VADDPD       Y1, Y2, Y2     \
	VBROADCASTSD 48(R9), Y3     \
	VADDPD       Y3, Y2, Y3     \
	VDIVPD       Y3, Y2, Y2     \
	ABS(Y2, Y2)                 \
	VPSRLQ       $63, Y10, Y10  \
	VPSLLQ       $63, Y10, Y10  \
	VORPD        Y10, Y2, Y0

// func tanhAVX2(p *function)
TEXT ·tanhAVX2(SB), NOSPLIT, $0-8
	ROW(TANH1)

#define GELU1 \
	VMOVAPD      Y0, Y10         \
	ABS(Y0, Y0)                  \
	VBROADCASTSD 64(R9), Y3      \
	VMULPD       Y3, Y0, Y3      \
	VBROADCASTSD 40(R9), Y4      \
	VMOVAPD      Y4, Y5          \
	VBROADCASTSD 56(R9), Y6      \
	VFMADD231PD  Y6, Y3, Y5      \
	VDIVPD       Y5, Y4, Y11     \
	VADDPD       Y11, Y11, Y5    \
	VSUBPD       Y4, Y5, Y5      \
	VBROADCASTSD 304(R9), Y6     \
	TERM(296, Y5, Y6, Y7)        \
	TERM(288, Y5, Y6, Y7)        \
	TERM(280, Y5, Y6, Y7)        \
	TERM(272, Y5, Y6, Y7)        \
	TERM(264, Y5, Y6, Y7)        \
	TERM(256, Y5, Y6, Y7)        \
	TERM(248, Y5, Y6, Y7)        \
	TERM(240, Y5, Y6, Y7)        \
	TERM(232, Y5, Y6, Y7)        \
	TERM(224, Y5, Y6, Y7)        \
	TERM(216, Y5, Y6, Y7)        \
	TERM(208, Y5, Y6, Y7)        \
	TERM(200, Y5, Y6, Y7)        \
	TERM(192, Y5, Y6, Y7)        \
	TERM(184, Y5, Y6, Y7)        \
	TERM(176, Y5, Y6, Y7)        \
	VFNMADD231PD Y3, Y3, Y6      \
	EXP(Y6, Y1, Y2, Y3)          \
	VMULPD       Y11, Y2, Y2     \
	VBROADCASTSD 56(R9), Y6      \
	VMULPD       Y6, Y2, Y2      \
	VXORPD       Y9, Y9, Y9      \
	VCMPPD       $13, Y9, Y10, Y9 \
	VSUBPD       Y2, Y4, Y4      \
	VBLENDVPD    Y9, Y4, Y2, Y2  \
	TIMES(Y10, Y2)               \
	VMOVAPD      Y2, Y0

// func geluAVX2(p *function)
TEXT ·geluAVX2(SB), NOSPLIT, $0-8
	ROW(GELU1)
