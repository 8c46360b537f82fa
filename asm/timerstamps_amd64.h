// What the kernels that make stamps of ticks have in common.

// A word's lowest byte and lowest two bytes in all its places, of two words.
DATA eachByte<>+0(SB)/8, $0
DATA eachByte<>+8(SB)/8, $0x0808080808080808
DATA eachByte<>+16(SB)/8, $0
DATA eachByte<>+24(SB)/8, $0x0808080808080808
GLOBL eachByte<>(SB), RODATA|NOPTR, $32
DATA eachPair<>+0(SB)/8, $0x0100010001000100
DATA eachPair<>+8(SB)/8, $0x0908090809080908
DATA eachPair<>+16(SB)/8, $0x0100010001000100
DATA eachPair<>+24(SB)/8, $0x0908090809080908
GLOBL eachPair<>(SB), RODATA|NOPTR, $32
