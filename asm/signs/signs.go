// SPDX-License-Identifier: Apache-2.0

// Package signs has the kernel that finds the bytes which structure lines of text. Find panics
// if a slice is too short, and returns no errors. It takes linear time and does not allocate.
// signs.go has the contract and the plain twin.
package signs

import "encoding/binary"

// Block has the signs among 64 bytes of text. The lowest bit is that of the first byte.
type Block struct {
	Separators, Quotes uint64 // what the caller of Find says that they are
	Ends               uint64 // line feeds
}

// Bytes is how many bytes a block is about.
const Bytes = 64

// Find finds the signs of a text. Bits behind the end of the text, in its last block, are 0.
func Find(blocks []Block, text []byte, separator, quote byte) {
	const ones = 0x0101010101010101
	blocks = blocks[:(len(text)+Bytes-1)/Bytes]
	for i := findVectors(blocks, text, separator, quote); i < len(blocks); i++ {
		var part [Bytes]byte
		inside := ^uint64(0) >> (Bytes - copy(part[:], text[i*Bytes:]))
		var b Block
		for at := 0; at < Bytes; at += 8 {
			x := binary.LittleEndian.Uint64(part[at:])
			b.Separators = b.Separators>>8 | zeros(x^ones*uint64(separator))
			b.Quotes = b.Quotes>>8 | zeros(x^ones*uint64(quote))
			b.Ends = b.Ends>>8 | zeros(x^ones*'\n')
		}
		blocks[i] = Block{b.Separators & inside, b.Quotes & inside, b.Ends & inside}
	}
}

// zeros has in its highest byte a bit for each of eight bytes that is 0, the lowest bit for the
// lowest byte.
func zeros(x uint64) uint64 {
	const low, gather = 0x7f7f7f7f7f7f7f7f, 0x0102040810204080
	return ^(x&low + low | x | low) >> 7 * gather &^ (1<<56 - 1)
}
