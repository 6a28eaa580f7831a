// Sums and norms of rows, with AVX-512, in fp64.

//go:build amd64

#include "textflag.h"
#include "exp_amd64.h"

// ARGUMENTS reads a reduction: the row, its length, two numbers, in Z10 and Z11, and
// whether to round to odd.
#define ARGUMENTS \
	MOVQ         r+0(FP), DX   \
	MOVQ         0(DX), DI     \
	MOVQ         8(DX), CX     \
	VBROADCASTSD 16(DX), Z10   \
	VBROADCASTSD 24(DX), Z11   \
	MOVQ         48(DX), R8    \
	LEAQ         ·constants(SB), R9

// TOTAL adds up the lanes of Z12.
#define TOTAL \
	VEXTRACTF64X4 $1, Z12, Y1   \
	VADDPD        Y1, Y12, Y1   \
	VEXTRACTF64X2 $1, Y1, X2    \
	VADDPD        X2, X1, X1    \
	VPERMILPD     $1, X1, X2    \
	VADDSD        X2, X1, X1    \
	VMOVSD        X1, 56(DX)

// NEXT ends a step of a loop that writes nothing.
#define NEXT \
	ADDQ $32, DI \
	SUBQ $8, CX  \
	JGT  loop

// func sumAVX512(r *reduction)
TEXT ·sumAVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	VPXORQ Z12, Z12, Z12
	EIGHT
	VMOVUPS.Z (DI), K1, Y0
	VCVTPS2PD Y0, Z0
	VADDPD    Z0, Z12, Z12
	NEXT

done:
	TOTAL
	VZEROUPPER
	RET

// func squaresAVX512(r *reduction)
TEXT ·squaresAVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	VPXORQ Z12, Z12, Z12
	EIGHT
	VMOVUPS.Z   (DI), K1, Y0
	VCVTPS2PD   Y0, Z0
	VSUBPD.Z    Z10, Z0, K1, Z0
	VFMADD231PD Z0, Z0, Z12
	NEXT

done:
	TOTAL
	VZEROUPPER
	RET

// func normalizeAVX512(r *reduction)
TEXT ·normalizeAVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	MOVQ 32(DX), SI
	MOVQ 40(DX), BX
	EIGHT
	VMOVUPS.Z   (DI), K1, Y0
	VMOVUPS.Z   (SI), K1, Y3
	VMOVUPS.Z   (BX), K1, Y4
	VCVTPS2PD   Y0, Z0
	VCVTPS2PD   Y3, Z3
	VCVTPS2PD   Y4, Z4
	VSUBPD      Z10, Z0, Z0
	VMULPD      Z11, Z0, Z0
	VFMADD213PD Z4, Z3, Z0
	ROUND
	VMOVUPS     Y1, K1, (DI)
	ADDQ        $32, SI
	ADDQ        $32, BX
	NEXT

done:
	VZEROUPPER
	RET

// func scaleAVX512(r *reduction)
TEXT ·scaleAVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	EIGHT
	VMOVUPS.Z (DI), K1, Y0
	VCVTPS2PD Y0, Z0
	VMULPD    Z11, Z0, Z0
	ROUND
	VMOVUPS   Y1, K1, (DI)
	NEXT

done:
	VZEROUPPER
	RET

// func powersAVX512(r *reduction)
TEXT ·powersAVX512(SB), NOSPLIT, $0-8
	ARGUMENTS
	VPXORQ Z12, Z12, Z12
	EIGHT
	VMOVUPS.Z (DI), K1, Y0
	VCVTPS2PD Y0, Z0
	VSUBPD    Z10, Z0, Z0
	EXP(Z0, Z1, Z2)
	VCVTPD2PS Z2, Y0
	VMOVUPS   Y0, K1, (DI)
	VCVTPS2PD.Z Y0, K1, Z0
	VADDPD    Z0, Z12, Z12
	NEXT

done:
	TOTAL
	VZEROUPPER
	RET

// func maxOfAVX512(r *reduction)
//
// The greatest of 16 lanes each; a lane that has met NaN is NaN for ever.
TEXT ·maxOfAVX512(SB), NOSPLIT, $0-8
	MOVQ         r+0(FP), DX
	MOVQ         0(DX), DI
	MOVQ         8(DX), CX
	MOVL         $0xff800000, AX
	VPBROADCASTD AX, Z0
	KXORW        K3, K3, K3
	MOVL         $0xffff, AX
	KMOVW        AX, K1

loop:
	CMPQ  CX, $16
	JGE   load
	TESTQ CX, CX
	JZ    done
	MOVL  $1, AX
	SHLL  CX, AX
	DECL  AX
	KMOVW AX, K1

load:
	VMOVUPS.Z (DI), K1, Z1
	VCMPPS    $3, Z1, Z1, K1, K2
	KORW      K2, K3, K3
	VMAXPS    Z1, Z0, K1, Z0
	ADDQ      $64, DI
	SUBQ      $16, CX
	JGT       loop

done:
	VEXTRACTF64X4 $1, Z0, Y1
	VMAXPS        Y1, Y0, Y0
	VEXTRACTF128  $1, Y0, X1
	VMAXPS        X1, X0, X0
	VPERMILPS     $0x4e, X0, X1
	VMAXPS        X1, X0, X0
	VPERMILPS     $0xb1, X0, X1
	VMAXPS        X1, X0, X0
	KMOVW         K3, AX
	TESTL         AX, AX
	JZ            store
	MOVL          $0x7fc00000, AX
	VMOVD         AX, X0

store:
	VCVTSS2SD X0, X0, X0
	VMOVSD    X0, 56(DX)
	VZEROUPPER
	RET
