// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package headers

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/frames"
)

// findVectors leaves all messages to its caller.
func (d *Datagrams) findVectors([]digest.Message, []uint16, []uint64, []byte) (int, Found) {
	return 0, 0
}

// placePlain leaves all messages to its caller.
func (t *Tunnels) placePlain(_ *tunnelRound, _ []digest.Message, _ []uint16, todo uint64, _ []byte) (n int, others uint64) {
	return 0, todo
}

// carryingVectors leaves all protocols to its caller.
func (t *Tunnels) carryingVectors([]uint16) (done int, which uint64) { return 0, 0 }

// countVectors leaves all frames to its caller.
func (w *Whole) countVectors([]frames.Frame, []byte) (n int, done bool) { return 0, false }
