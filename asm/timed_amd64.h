// What the kernels for timed rows have in common, beside what common_amd64.h says: R15 is
// the end of this half of the timedBatch, R13 of its bytes, and R14 is the timedTable.

#define START \
	BEGINHALVES                   \
	MOVQ b+32(FP), R15            \
	LEAQ timedBatch_found(R15), R13 \
	SUBQ CX, R13                  \
	MOVQ CX, DX                   \
	SHLQ $3, DX                   \
	SUBQ DX, R15                  \
	MOVQ ·timedTables(SB), R14
