//go:build amd64 && !purego

package asm

// lineFloorAVX512 adds 1 to each word of the lines that the digests choose, as
// TestAndSetRows chooses them: the least that a kernel over lines can do, which
// the benchmarks measure the others by. count is the number of lines; n is at
// least 1. Programs do not use it, so the linker leaves it out of them.
//
//go:noescape
func lineFloorAVX512(lines *[8]uint64, count uint64, digests *Digest, n int)
