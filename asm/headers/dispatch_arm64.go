// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

package headers

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// findVectors does all messages. The kernel takes one frame at a time: without loads from several
// places at once vectors gain nothing.
func (d *Datagrams) findVectors(msgs []digest.Message, numbers []uint16, rest []uint64, buf []byte) (done int, found Found) {
	if len(buf) < datagramReach || cpu.Best == cpu.Generic {
		return 0, 0
	}
	return len(msgs), d.findPlain(msgs, numbers, rest, buf)
}

// plainVectors does plain frames. See findPlain.
func (d *Datagrams) plainVectors(msgs []digest.Message, numbers []uint16, buf []byte) (others uint64, found Found) {
	others, cut, broken := findDatagramsARM64(&msgs[0], &numbers[0], len(msgs), &buf[0], len(buf)-datagramReach, d)
	return others, foundBits(cut, broken)
}

// findDatagramsARM64 does the frames without tags of 1 to 64 messages. It returns a bit for each
// message that it leaves unchanged: other frames, frames that begin after the offset last, and frames
// that take the slow path. cut and broken are not 0 if some datagrams that it takes are FoundCut and
// FoundBroken.
//
//go:noescape
func findDatagramsARM64(msgs *digest.Message, numbers *uint16, n int, buf *byte, last int, d *Datagrams) (others, cut, broken uint64)

// placeGroup is how many messages placeTunnels takes at a time.
const placeGroup = 1

// carryingGroup is how many protocols carryingWord does at a time.
const carryingGroup = 16

// countGroups counts as Count does, in groups of eight frames, 1 or more.
func (w *Whole) countGroups(all *frames.Frame, groups int, buf *byte, last int) (n int) {
	return countWhole(all, wholeGroup*groups, buf, last, w)
}
