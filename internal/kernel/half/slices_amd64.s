#include "textflag.h"

// func floatsAVX2(dst *float32, src *byte, n int)
//
// Weights come from memory: what follows is asked for ahead, also beyond a page.
TEXT ·floatsAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	CMPQ CX, $32
	JLT  small

loop:
	PREFETCHT0 1024(SI)
	VCVTPH2PS (SI), Y0
	VCVTPH2PS 16(SI), Y1
	VCVTPH2PS 32(SI), Y2
	VCVTPH2PS 48(SI), Y3
	VMOVUPS   Y0, (DI)
	VMOVUPS   Y1, 32(DI)
	VMOVUPS   Y2, 64(DI)
	VMOVUPS   Y3, 96(DI)
	ADDQ      $64, SI
	ADDQ      $128, DI
	SUBQ      $32, CX
	CMPQ      CX, $32
	JGE       loop

small:
	TESTQ CX, CX
	JZ    done

eight:
	VCVTPH2PS (SI), Y0
	VMOVUPS   Y0, (DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	SUBQ      $8, CX
	JNZ       eight

done:
	VZEROUPPER
	RET

// TOHALF2 rounds Y0 to the fp16 numbers X0. A NaN is the quiet one. Y6 has the
// signs, Y7 the bits of that NaN, as floats that convert to it.
#define TOHALF2 \
	VCMPPS    $3, Y0, Y0, Y1 \
	VANDPS    Y6, Y0, Y2     \
	VORPS     Y7, Y2, Y2     \
	VBLENDVPS Y1, Y2, Y0, Y0 \
	VCVTPS2PH $0, Y0, X0

// func putAVX2(dst *byte, src *float32, n int)
TEXT ·putAVX2(SB), NOSPLIT, $0-24
	MOVQ         dst+0(FP), DI
	MOVQ         src+8(FP), SI
	MOVQ         n+16(FP), CX
	MOVL         $0x80000000, AX
	MOVQ         AX, X6
	VBROADCASTSS X6, Y6
	MOVL         $0x7fc00000, AX
	MOVQ         AX, X7
	VBROADCASTSS X7, Y7
	TESTQ        CX, CX
	JZ           done

eight:
	VMOVUPS (SI), Y0
	TOHALF2
	VMOVUPS X0, (DI)
	ADDQ    $32, SI
	ADDQ    $16, DI
	SUBQ    $8, CX
	JNZ     eight

done:
	VZEROUPPER
	RET

// func roundAVX2(v *float32, n int)
TEXT ·roundAVX2(SB), NOSPLIT, $0-16
	MOVQ         v+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVL         $0x80000000, AX
	MOVQ         AX, X6
	VBROADCASTSS X6, Y6
	MOVL         $0x7fc00000, AX
	MOVQ         AX, X7
	VBROADCASTSS X7, Y7
	TESTQ        CX, CX
	JZ           done

eight:
	VMOVUPS   (SI), Y0
	TOHALF2
	VCVTPH2PS X0, Y0
	VMOVUPS   Y0, (SI)
	ADDQ      $32, SI
	SUBQ      $8, CX
	JNZ       eight

done:
	VZEROUPPER
	RET

// REST makes the mask K1 of the CX lanes that are left, fewer than 16.
#define REST \
	MOVL  $1, AX  \
	SHLL  CX, AX  \
	DECL  AX      \
	KMOVW AX, K1

// func floatsAVX512(dst *float32, src *byte, n int)
TEXT ·floatsAVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	CMPQ CX, $64
	JLT  small

loop:
	PREFETCHT0 2048(SI)
	PREFETCHT0 2112(SI)
	VCVTPH2PS (SI), Z0
	VCVTPH2PS 32(SI), Z1
	VCVTPH2PS 64(SI), Z2
	VCVTPH2PS 96(SI), Z3
	VMOVUPS   Z0, (DI)
	VMOVUPS   Z1, 64(DI)
	VMOVUPS   Z2, 128(DI)
	VMOVUPS   Z3, 192(DI)
	ADDQ      $128, SI
	ADDQ      $256, DI
	SUBQ      $64, CX
	CMPQ      CX, $64
	JGE       loop

small:
	CMPQ CX, $16
	JLT  rest
	VCVTPH2PS (SI), Z0
	VMOVUPS   Z0, (DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $16, CX
	JMP       small

rest:
	TESTQ CX, CX
	JZ    done
	REST
	VMOVDQU16.Z (SI), K1, Y0
	VCVTPH2PS   Y0, Z0
	VMOVUPS     Z0, K1, (DI)

done:
	VZEROUPPER
	RET

// TOHALF rounds Z0 to the fp16 numbers Y0. Z6 has the signs, Z7 the NaN.
#define TOHALF \
	VCMPPS    $3, Z0, Z0, K2     \
	VPANDD    Z6, Z0, Z1         \
	VPORD     Z7, Z1, K2, Z0     \
	VCVTPS2PH $0, Z0, Y0

// func putAVX512(dst *byte, src *float32, n int)
TEXT ·putAVX512(SB), NOSPLIT, $0-24
	MOVQ         dst+0(FP), DI
	MOVQ         src+8(FP), SI
	MOVQ         n+16(FP), CX
	MOVL         $0x80000000, AX
	VPBROADCASTD AX, Z6
	MOVL         $0x7fc00000, AX
	VPBROADCASTD AX, Z7

loop:
	CMPQ    CX, $16
	JLT     rest
	VMOVUPS (SI), Z0
	TOHALF
	VMOVUPS Y0, (DI)
	ADDQ    $64, SI
	ADDQ    $32, DI
	SUBQ    $16, CX
	JMP     loop

rest:
	TESTQ CX, CX
	JZ    done
	REST
	VMOVUPS.Z (SI), K1, Z0
	TOHALF
	VMOVDQU16 Y0, K1, (DI)

done:
	VZEROUPPER
	RET

// func roundAVX512(v *float32, n int)
TEXT ·roundAVX512(SB), NOSPLIT, $0-16
	MOVQ         v+0(FP), SI
	MOVQ         n+8(FP), CX
	MOVL         $0x80000000, AX
	VPBROADCASTD AX, Z6
	MOVL         $0x7fc00000, AX
	VPBROADCASTD AX, Z7

loop:
	CMPQ      CX, $16
	JLT       rest
	VMOVUPS   (SI), Z0
	TOHALF
	VCVTPH2PS Y0, Z0
	VMOVUPS   Z0, (SI)
	ADDQ      $64, SI
	SUBQ      $16, CX
	JMP       loop

rest:
	TESTQ CX, CX
	JZ    done
	REST
	VMOVUPS.Z (SI), K1, Z0
	TOHALF
	VCVTPH2PS Y0, Z0
	VMOVUPS   Z0, K1, (SI)

done:
	VZEROUPPER
	RET

// func narrowAVX2(dst, src *byte, n int)
TEXT ·narrowAVX2(SB), NOSPLIT, $0-24
	MOVQ  dst+0(FP), DI
	MOVQ  src+8(FP), SI
	MOVQ  n+16(FP), CX
	TESTQ CX, CX
	JZ    done

eight:
	VMOVUPS   (SI), Y0
	VCVTPS2PH $0, Y0, (DI)
	ADDQ      $32, SI
	ADDQ      $16, DI
	SUBQ      $8, CX
	JNZ       eight

done:
	VZEROUPPER
	RET

// func narrowAVX512(dst, src *byte, n int)
TEXT ·narrowAVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX

loop:
	CMPQ      CX, $32
	JLT       small
	VMOVUPS   (SI), Z0
	VMOVUPS   64(SI), Z1
	VCVTPS2PH $0, Z0, (DI)
	VCVTPS2PH $0, Z1, 32(DI)
	ADDQ      $128, SI
	ADDQ      $64, DI
	SUBQ      $32, CX
	JMP       loop

small:
	CMPQ      CX, $16
	JLT       rest
	VMOVUPS   (SI), Z0
	VCVTPS2PH $0, Z0, (DI)
	ADDQ      $64, SI
	ADDQ      $32, DI
	SUBQ      $16, CX

rest:
	TESTQ CX, CX
	JZ    done
	REST
	VMOVUPS.Z (SI), K1, Z0
	VCVTPS2PH $0, Z0, Y0
	VMOVDQU16 Y0, K1, (DI)

done:
	VZEROUPPER
	RET
