// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

package frames

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// sumVectors takes as many frames as Sum would, and returns how many.
func sumVectors(times []int64, frames []Frame, last int64, s *Sums) (done int) {
	if cpu.Best == cpu.Generic || len(frames) == 0 {
		return 0
	}
	return sumARM64(&times[0], &frames[0], len(frames), last, s)
}

// sumARM64 does n frames, 1 or more. It stops before a frame with a time that Sum stops at, and
// returns the number of frames done.
//
//go:noescape
func sumARM64(times *int64, frames *Frame, n int, last int64, s *Sums) (done int)

// withinVectors does whole groups of eight times, and returns how many.
func withinVectors(times []int64, first, span int64) (done int, within bool) {
	groups := len(times) / 8
	if cpu.Best == cpu.Generic || groups == 0 {
		return 0, true
	}
	return 8 * groups, withinNEON(&times[0], groups, first, span)
}

// withinNEON does groups of eight times, 1 or more.
//
//go:noescape
func withinNEON(times *int64, groups int, first, span int64) bool

// messageVectors leaves all frames to its caller.
func messageVectors([]digest.Message, []Frame, uint64) (done int) { return 0 }

// pointVectors leaves all frames to its caller.
func (p *Place) pointVectors([]uint64, []Frame, []digest.Message, []byte) (done int, others uint64) {
	return 0, 0
}

// walk does Walk in plain Go.
func (r *Records) walk(frames []Frame, buf []byte, pos, last int) (done, end int) {
	return r.walkGeneric(frames, buf, pos, last)
}
