// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !purego

package headers

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// findPlain does all messages: plain frames by a kernel, others singly.
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

// placePlain finds tunnels over UDP with an untagged frame, which most of them are, and returns how
// many it has put in r. It leaves others to its caller. See place.
func (t *Tunnels) placePlain(r *tunnelRound, msgs []digest.Message, numbers []uint16, todo uint64, buf []byte) (n int, others uint64) {
	if cpu.Best == cpu.Generic || t.anySource || len(buf) < tunnelHeaders {
		return 0, todo
	}
	whole := uint64(1)<<(len(msgs)&^(placeGroup-1)) - 1
	n, others = placeTunnels(unsafe.SliceData(msgs), unsafe.SliceData(numbers), todo&whole, unsafe.SliceData(buf), len(buf)-tunnelHeaders, t, r)
	return n, others | todo&^whole
}

// placeTunnels takes the messages whose bits are set in todo, in groups of placeGroup. It reads
// headers above IP from offsets up to last. It returns the bits of messages that it leaves to Go.
//
//go:noescape
func placeTunnels(msgs *digest.Message, numbers *uint16, todo uint64, buf *byte, last int, t *Tunnels, r *tunnelRound) (n int, others uint64)

// carryingVectors does the protocols that fill whole vectors, and returns how many. See carrying.
func (t *Tunnels) carryingVectors(numbers []uint16) (done int, which uint64) {
	groups := len(numbers) / carryingGroup
	if cpu.Best == cpu.Generic || groups == 0 {
		return 0, 0
	}
	return carryingGroup * groups, carryingWord(&numbers[0], groups, &t.carries)
}

// carryingWord does groups of carryingGroup protocols, 1 or more and up to 64 protocols.
//
//go:noescape
func carryingWord(numbers *uint16, groups int, carries *[8]uint64) (which uint64)

// countVectors counts all frames that Count does. done says whether there is a kernel.
func (w *Whole) countVectors(all []frames.Frame, buf []byte) (n int, done bool) {
	groups := len(all) / wholeGroup
	if cpu.Best == cpu.Generic {
		return 0, false
	}
	if groups == 0 || len(buf) < wholeLeast {
		return 0, true
	}
	return w.countGroups(&all[0], groups, &buf[0], len(buf)-wholeLeast), true
}

// countWhole takes a frame at a time, in general registers, of n of them, 1 or more. It reads frames
// from offsets up to last.
//
//go:noescape
func countWhole(all *frames.Frame, n int, buf *byte, last int, w *Whole) (done int)
