// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !purego

package headers

import "github.com/flowdedup/flowdedup/asm/digest"

// findPlain does all messages: plain frames by a kernel, others one by one.
func (d *Datagrams) findPlain(msgs []digest.Message, numbers []uint16, rest []uint64, buf []byte) (found Found) {
	for i := 0; i < len(msgs); i += 64 {
		part := msgs[i:min(i+64, len(msgs))]
		others, some := d.plainVectors(part, numbers[i:], buf)
		left, more := d.findEach(part, numbers[i:], buf, others)
		rest[i/64] = left
		found |= some | more
	}
	return found
}

// foundBits returns what kernels have found: none if a number is 0.
func foundBits(cut, broken uint64) (found Found) {
	if cut != 0 {
		found |= FoundCut
	}
	if broken != 0 {
		found |= FoundBroken
	}
	return found
}
