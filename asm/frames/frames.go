// SPDX-License-Identifier: Apache-2.0

// Package frames has the kernels for the data that a batch keeps about its packets:
// times, lengths and places, whatever the packets contain. Functions panic if slices are
// too short, and return no errors. They take linear time and do not allocate.
//
//	question                                    function   contract    plain twin
//	times, bytes, order of many packets         Sum        frames.go   frames.go
//	messages that are the whole packets         Messages   frames.go   frames.go
//	do all times lie within a span              Within     frames.go   frames.go
//	points of frames with a VLAN tag, or none   Points     place.go    place.go
//	where the records of a file lie             Walk       records.go  records.go
package frames

import (
	"math"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// Frame is a batch's record of a packet, laid out as capture.Frame, which documents the
// fields. The kernels know the layout.
type Frame struct {
	Time              int64
	Data              uint32
	CapLen, WireLen   uint32
	Interface         uint32
	Record, RecordLen uint32
}

// Of returns the frames of a batch for the functions here. F is laid out as Frame is.
func Of[F any](all []F) []Frame {
	var f F
	if unsafe.Sizeof(f) != unsafe.Sizeof(Frame{}) {
		panic("frames: Of: another layout")
	}
	return unsafe.Slice((*Frame)(unsafe.Pointer(unsafe.SliceData(all))), len(all))
}

// Sums are the sums that Sum adds to.
type Sums struct {
	Bytes uint64 // captured bytes
	Older uint64 // frames whose time is before the preceding frame's
}

// Sum writes the times of frames to times, and adds the frames to s. last is the time
// before the first frame. It stops at the first frame whose time is math.MinInt64 or
// math.MaxInt64, and returns how many it took.
func Sum(times []int64, frames []Frame, last int64, s *Sums) (done int) {
	times = times[:len(frames)]
	if done = sumVectors(times, frames, last, s); done > 0 {
		last = times[done-1]
	}
	for ; done < len(frames); done++ {
		f := &frames[done]
		if f.Time == math.MinInt64 || f.Time == math.MaxInt64 {
			return done
		}
		if f.Time < last {
			s.Older++
		}
		times[done], last = f.Time, f.Time
		s.Bytes += uint64(f.CapLen)
	}
	return done
}

// Messages makes messages of whole frames. tweak has no bits in its lower half, where the
// length on the wire goes.
func Messages(msgs []digest.Message, frames []Frame, tweak uint64) {
	msgs = msgs[:len(frames)]
	for i := messageVectors(msgs, frames, tweak); i < len(frames); i++ {
		f, m := &frames[i], &msgs[i]
		m.Off, m.Len, m.Tweak = f.Data, f.CapLen, tweak|uint64(f.WireLen)
	}
}

// Within reports whether all times lie from first to first + span. Differences are
// computed modulo 2^64: span is at least 0, and a time that is 2^63 or more before or
// after first does not count as within.
func Within(times []int64, first, span int64) bool {
	done, within := withinVectors(times, first, span)
	if !within {
		return false
	}
	outside := int64(0)
	for _, t := range times[done:] {
		after := t - first
		outside |= after | (span - after) // a negative one has the top bit
	}
	return outside >= 0
}
