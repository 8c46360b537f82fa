// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !purego

package headers

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// placePlain finds tunnels over UDP with an untagged frame, which most of them are, and returns how
// many it has put in r. It leaves others to its caller. See place.
func (t *Tunnels) placePlain(r *tunnelRound, msgs []digest.Message, numbers []uint16, todo uint64, buf []byte) (n int, others uint64) {
	if cpu.Best == cpu.Generic || t.anySource || len(buf) < tunnelHeaders {
		return 0, todo
	}
	return placeTunnels(unsafe.SliceData(msgs), unsafe.SliceData(numbers), todo, unsafe.SliceData(buf), len(buf)-tunnelHeaders, t, r)
}

// placeTunnels takes one message at a time, in general registers, whose bit is set in todo. It reads
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
