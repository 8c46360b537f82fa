// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !purego

package signs

import "github.com/flowdedup/flowdedup/asm/internal/cpu"

// findVectors fills the blocks of whole vectors, and returns how many.
func findVectors(blocks []Block, text []byte, separator, quote byte) (done int) {
	if done = len(text) / Bytes; cpu.Best == cpu.Generic || done == 0 {
		return 0
	}
	findWhole(&blocks[0], &text[0], done, separator, quote)
	return done
}

// findWhole fills n blocks, 1 or more.
//
//go:noescape
func findWhole(blocks *Block, text *byte, n int, separator, quote byte)
