package asm

import "math/bits"

// Exact16Lines is the number of lines from which the remainder of a 32-bit word
// fits a 16-bit cell beside the code for empty.
const Exact16Lines = 1 << 17

// ExactRemainderBits returns how many bits of a 32-bit word the number of one of lines, a
// power of two, leaves.
func ExactRemainderBits(lines int) uint { return uint(33 - bits.Len(uint(lines))) }
