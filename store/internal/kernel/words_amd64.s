#include "textflag.h"

// Counting by AVX2, 64 bytes at a time: the bits of each half byte are looked up in
// a table of 16 (VPSHUFB), and the bytes of each word added up (VPSADBW). Three times
// as fast as a POPCNT for each word. Bitsets lie anywhere: loads are not aligned. They
// mostly come from further away than the second cache, and the hardware fetches ahead
// within a page only: half a page ahead is asked for, maybe past the bitset's end.

// The numbers of bits of 0 to 15, and a mask of half a byte.
DATA halves<>+0(SB)/8, $0x0302020102010100
DATA halves<>+8(SB)/8, $0x0403030203020201
DATA halves<>+16(SB)/1, $0x0f
GLOBL halves<>(SB), RODATA|NOPTR, $17

// START sets up Y0, the table; Y1, the mask; Y2, zero; Y3, the sum; BX, the offset.
#define START \
	VBROADCASTI128 halves<>+0(SB), Y0 \
	VPBROADCASTB   halves<>+16(SB), Y1 \
	VPXOR          Y2, Y2, Y2 \
	VPXOR          Y3, Y3, Y3 \
	XORQ           BX, BX

// COUNT adds the number of bits of Y4 and Y6 to the sum, and goes on to the next 64
// bytes.
#define COUNT \
	VPAND   Y1, Y4, Y5 \
	VPAND   Y1, Y6, Y7 \
	VPSRLW  $4, Y4, Y4 \
	VPSRLW  $4, Y6, Y6 \
	VPAND   Y1, Y4, Y4 \
	VPAND   Y1, Y6, Y6 \
	VPSHUFB Y5, Y0, Y5 \
	VPSHUFB Y7, Y0, Y7 \
	VPSHUFB Y4, Y0, Y4 \
	VPSHUFB Y6, Y0, Y6 \
	VPADDB  Y4, Y5, Y5 \
	VPADDB  Y6, Y7, Y7 \
	VPADDB  Y5, Y7, Y5 \
	VPSADBW Y2, Y5, Y5 \
	VPADDQ  Y5, Y3, Y3 \
	ADDQ    $64, BX \
	CMPQ    BX, $8192

// SUM leaves the sum of the four words of Y3 in AX.
#define SUM \
	VEXTRACTI128 $1, Y3, X4 \
	VPADDQ       X4, X3, X3 \
	VPSRLDQ      $8, X3, X4 \
	VPADDQ       X4, X3, X3 \
	VMOVQ        X3, AX \
	VZEROUPPER

// func countAndAVX2(x, y *bitset) int
TEXT ·countAndAVX2(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), DI
	START

and:
	PREFETCHT0 2048(SI)(BX*1)
	PREFETCHT0 2048(DI)(BX*1)
	VMOVDQU (SI)(BX*1), Y4
	VMOVDQU 32(SI)(BX*1), Y6
	VPAND   (DI)(BX*1), Y4, Y4
	VPAND   32(DI)(BX*1), Y6, Y6
	COUNT
	JB      and
	SUM
	MOVQ    AX, ret+16(FP)
	RET

// func countOr4AVX2(w, x, y, z *bitset) int
TEXT ·countOr4AVX2(SB), NOSPLIT, $0-40
	MOVQ w+0(FP), SI
	MOVQ x+8(FP), DI
	MOVQ y+16(FP), R8
	MOVQ z+24(FP), R9
	START

or:
	PREFETCHT0 2048(SI)(BX*1)
	PREFETCHT0 2048(DI)(BX*1)
	PREFETCHT0 2048(R8)(BX*1)
	PREFETCHT0 2048(R9)(BX*1)
	VMOVDQU (SI)(BX*1), Y4
	VMOVDQU 32(SI)(BX*1), Y6
	VPOR    (DI)(BX*1), Y4, Y4
	VPOR    32(DI)(BX*1), Y6, Y6
	VPOR    (R8)(BX*1), Y4, Y4
	VPOR    32(R8)(BX*1), Y6, Y6
	VPOR    (R9)(BX*1), Y4, Y4
	VPOR    32(R9)(BX*1), Y6, Y6
	COUNT
	JB      or
	SUM
	MOVQ    AX, ret+32(FP)
	RET

// Testing the bits of an array's positions, each by BT, which leaves the bit in the
// carry, and ADC, which adds it: two cycles a position, and no branch. The compiler
// makes sixteen instructions of it.

// TEST adds the bit of AX in the bitset at SI to DX.
#define TEST \
	MOVL AX, BX \
	SHRL $6, BX \
	MOVQ (SI)(BX*8), R10 \
	BTQ  AX, R10 \
	ADCQ $0, DX

#define COUNT1(at) \
	MOVWLZX at(R8), AX \
	TEST

#define KEEP1(at) \
	MOVWLZX at(R8), AX \
	MOVW    AX, (DI)(DX*2) \
	TEST

// func countBits(b *bitset, a *byte, n int) int
TEXT ·countBits(SB), NOSPLIT, $0-32
	MOVQ b+0(FP), SI
	MOVQ a+8(FP), R8
	MOVQ n+16(FP), CX
	XORQ DX, DX
	SUBQ $4, CX
	JLT  countRest

countFour:
	COUNT1(0)
	COUNT1(2)
	COUNT1(4)
	COUNT1(6)
	ADDQ $8, R8
	SUBQ $4, CX
	JGE  countFour

countRest:
	ADDQ $4, CX
	JLE  countDone

countOne:
	COUNT1(0)
	ADDQ $2, R8
	DECQ CX
	JNZ  countOne

countDone:
	MOVQ DX, ret+24(FP)
	RET

// func keepBits(b *bitset, to, a *byte, n int) int
TEXT ·keepBits(SB), NOSPLIT, $0-40
	MOVQ b+0(FP), SI
	MOVQ to+8(FP), DI
	MOVQ a+16(FP), R8
	MOVQ n+24(FP), CX
	XORQ DX, DX
	SUBQ $4, CX
	JLT  keepRest

keepFour:
	KEEP1(0)
	KEEP1(2)
	KEEP1(4)
	KEEP1(6)
	ADDQ $8, R8
	SUBQ $4, CX
	JGE  keepFour

keepRest:
	ADDQ $4, CX
	JLE  keepDone

keepOne:
	KEEP1(0)
	ADDQ $2, R8
	DECQ CX
	JNZ  keepOne

keepDone:
	MOVQ DX, ret+32(FP)
	RET
