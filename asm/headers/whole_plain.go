// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !purego

package headers

import (
	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

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
