// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package frames

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// A frame fills a vector of AVX2, so there is one kernel for AVX2 and AVX512.
// [Place.Points] has a kernel for AVX512 only, which can load from eight places at once.

// sumVectors takes frames that fill whole vectors, as many as Sum would, and returns how
// many.
func sumVectors(times []int64, frames []Frame, last int64, s *Sums) (done int) {
	groups := len(frames) / 4
	if cpu.Best == cpu.Generic || groups == 0 {
		return 0
	}
	return 4 * sumAVX2(&times[0], &frames[0], groups, last, s)
}

// messageVectors makes all messages if there is a kernel, and returns how many it made.
func messageVectors(msgs []digest.Message, frames []Frame, tweak uint64) (done int) {
	if cpu.Best == cpu.Generic || len(frames) == 0 {
		return 0
	}
	messagesAVX2(&msgs[0], &frames[0], len(frames), tweak)
	return len(frames)
}

// withinVectors does Within for the times that fill whole vectors, and returns their
// number.
func withinVectors(times []int64, first, span int64) (done int, within bool) {
	groups := len(times) / 4
	if cpu.Best == cpu.Generic || groups == 0 {
		return 0, true
	}
	return 4 * groups, withinAVX2(&times[0], groups, first, span)
}

// pointVectors does the frames that fill whole vectors, and returns how many.
func (p *Place) pointVectors(points []uint64, frames []Frame, msgs []digest.Message, buf []byte) (done int, others uint64) {
	groups := len(frames) / 8
	if cpu.Best != cpu.AVX512 || groups == 0 {
		return 0, 0
	}
	return 8 * groups, pointsAVX512(&points[0], &frames[0], &msgs[0], groups, &buf[0], len(buf)-4, p) >> (64 - 8*groups)
}

// walk does Walk for 1 frame or more.
func (r *Records) walk(frames []Frame, buf []byte, pos, last int) (done, end int) {
	if cpu.Best == cpu.Generic || r.Big {
		return r.walkGeneric(frames, buf, pos, last)
	}
	return walkAMD64(&frames[0], len(frames), &buf[0], pos, last, r)
}

// walkAMD64 describes up to n little-endian records, 1 or more, of which none ends after last.
//
//go:noescape
func walkAMD64(frames *Frame, n int, buf *byte, pos, last int, r *Records) (done, end int)

// pointsAVX512 does 1 to 8 groups of eight frames. It reads tags from offsets up to last.
// The bits of other frames are the highest.
//
//go:noescape
func pointsAVX512(points *uint64, frames *Frame, msgs *digest.Message, groups int, buf *byte, last int, p *Place) (others uint64)

// sumAVX2 does groups of four frames, 1 or more. It stops before a group with a time that
// Sum stops at, and returns the number of frames done.
//
//go:noescape
func sumAVX2(times *int64, frames *Frame, groups int, last int64, s *Sums) (done int)

// messagesAVX2 makes n messages, 1 or more.
//
//go:noescape
func messagesAVX2(msgs *digest.Message, frames *Frame, n int, tweak uint64)

// withinAVX2 does groups of four times, 1 or more.
//
//go:noescape
func withinAVX2(times *int64, groups int, first, span int64) (within bool)
