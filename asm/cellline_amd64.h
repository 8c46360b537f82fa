// What kernels of cell lines and timer lines share (AVX-512). They take elements in
// groups of eight. What can be found for a group without its lines (where they are,
// which cells, what random number) is found for all eight side by side and put into
// a slot of a ring on the stack, AHEAD groups before the group's turn, when the
// lines are fetched.
//
//	R8  number of the group to prepare   R12 ring      Z28 number of lines
//	BX  this group's slot                Z27 lines     Z26, Z25 odd and even lanes
//	R11 the word of seen, R13 the element's bit in it, R9 seen, moving on

// AHEAD is how many groups before its turn a group is prepared.
#define AHEAD 4

// SLOT is the size of a slot: the addresses of the lines, and nine more words for
// each element. There are SLOTS of them, a power of two above AHEAD.
#define SLOT 640
#define SLOTS 8
#define RING (SLOT*SLOTS+64)

// RINGBASE makes R12 the ring, which begins at the first multiple of 64 from FRAME on,
// and loads what does not change.
#define RINGBASE(FRAME) \
	LEAQ FRAME, R12                   \
	ADDQ $63, R12                     \
	ANDQ $-64, R12                    \
	VPBROADCASTQ lines+0(FP), Z27     \
	VPBROADCASTQ count+8(FP), Z28     \
	MOVQ seen+16(FP), R9              \
	VMOVDQU64 evenLanes<>(SB), Z25    \
	VMOVDQU64 oddLanes<>(SB), Z26     \
	XORL R8, R8                       \
	XORL R11, R11                     \
	MOVL $1, R13

// SLOTOF makes BX the slot of group AT, which it overwrites.
#define SLOTOF(AT) \
	ANDL $(SLOTS-1), AT     \
	IMUL3Q $SLOT, AT, BX    \
	ADDQ R12, BX

// LOCATE loads the digests of the group whose first element is number AX and of which
// CX elements are there: their lower halves to Z4, their lines to the slot. K4 is
// their lanes. The product of an upper half and the number of lines is made of
// two, as that number has 32 bits.
#define LOCATE \
	MOVL $8, DX                       \
	CMPQ CX, $8                       \
	CMOVQGE DX, CX                    \
	MOVL $-1, SI                      \
	BZHIL CX, SI, DX                  \
	KMOVB DX, K4                      \
	ADDL CX, CX                       \
	BZHIL CX, SI, DX                  \
	KMOVW DX, K2                      \
	KSHIFTRW $8, K2, K3               \
	MOVQ AX, SI                       \
	SHLQ $4, SI                       \
	ADDQ digests+24(FP), SI           \
	VMOVDQU64.Z (SI), K2, Z4          \
	VMOVDQU64.Z 64(SI), K3, Z5        \
	VMOVDQA64 Z4, Z6                  \
	VPERMT2Q Z5, Z25, Z4              \
	VPERMT2Q Z5, Z26, Z6              \
	VPSRLQ $32, Z6, Z5                \
	VPMULUDQ Z28, Z6, Z6              \
	VPMULUDQ Z28, Z5, Z5              \
	VPSRLQ $32, Z6, Z6                \
	VPADDQ Z6, Z5, Z5                 \
	VPSRLQ $32, Z5, Z5                \
	VPSLLQ $6, Z5, Z5                 \
	VPADDQ Z27, Z5, Z5                \
	VMOVDQA64 Z5, (BX)                \
	FETCH(0)                          \
	FETCH(8)                          \
	FETCH(16)                         \
	FETCH(24)                         \
	FETCH(32)                         \
	FETCH(40)                         \
	FETCH(48)                         \
	FETCH(56)

// FETCH fetches the line at OFFSET of the slot.
#define FETCH(OFFSET) \
	MOVQ OFFSET(BX), DX               \
	PREFETCHT0 (DX)

// CELL makes Z6 the cells of the group in the part whose salt is at (SI), and whose size
// and start are at SIZE and START.
#define CELL(SIZE, START) \
	VPBROADCASTQ (SI), Z5             \
	VPMULLQ Z4, Z5, Z5                \
	VPSRLQ $32, Z5, Z5                \
	VPBROADCASTQ SIZE, Z6             \
	VPMULUDQ Z5, Z6, Z6               \
	VPBROADCASTQ START, Z5            \
	VPADDQ Z5, Z6, Z6                 \
	VPSRLQ $32, Z6, Z6

// SUM makes T the sum of the eight lanes of the register named by X, Y and Z.
#define SUM(X, Y, Z, T) \
	VEXTRACTI64X4 $1, Z, Y5           \
	VPADDQ Y5, Y, Y                   \
	VEXTRACTI64X2 $1, Y, X5           \
	VPADDQ X5, X, X                   \
	VPSRLDQ $8, X, X5                 \
	VPADDQ X5, X, X                   \
	VMOVQ X, T

DATA evenLanes<>+0(SB)/8, $0
DATA evenLanes<>+8(SB)/8, $2
DATA evenLanes<>+16(SB)/8, $4
DATA evenLanes<>+24(SB)/8, $6
DATA evenLanes<>+32(SB)/8, $8
DATA evenLanes<>+40(SB)/8, $10
DATA evenLanes<>+48(SB)/8, $12
DATA evenLanes<>+56(SB)/8, $14
GLOBL evenLanes<>(SB), RODATA|NOPTR, $64

DATA oddLanes<>+0(SB)/8, $1
DATA oddLanes<>+8(SB)/8, $3
DATA oddLanes<>+16(SB)/8, $5
DATA oddLanes<>+24(SB)/8, $7
DATA oddLanes<>+32(SB)/8, $9
DATA oddLanes<>+40(SB)/8, $11
DATA oddLanes<>+48(SB)/8, $13
DATA oddLanes<>+56(SB)/8, $15
GLOBL oddLanes<>(SB), RODATA|NOPTR, $64
