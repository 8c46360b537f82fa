// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package frames

import "github.com/flowdedup/flowdedup/asm/digest"

// messageVectors leaves all frames to its caller.
func messageVectors([]digest.Message, []Frame, uint64) (done int) { return 0 }

// pointVectors leaves all frames to its caller.
func (p *Place) pointVectors([]uint64, []Frame, []digest.Message, []byte) (done int, others uint64) {
	return 0, 0
}

// sumVectors leaves all frames to its caller.
func sumVectors([]int64, []Frame, int64, *Sums) (done int) { return 0 }

// withinVectors leaves all times to its caller.
func withinVectors([]int64, int64, int64) (done int, within bool) { return 0, true }

// walk does Walk in plain Go.
func (r *Records) walk(frames []Frame, buf []byte, pos, last int) (done, end int) {
	return r.walkGeneric(frames, buf, pos, last)
}
