// SPDX-License-Identifier: Apache-2.0

// Package window finds the elements of a stream that are copies of earlier elements within a
// window of time or of elements:
//
//	filter, err := window.NewTimed(window.TimedConfig{Window: window.Window{Duration: time.Millisecond}})
//	filter.TestAndSet(seen, digests, times, nil) // bit i of seen: element i is a copy
//
// For streams without a window in fixed memory see package
// stream; for counts of distinct elements see packages distinct and sliding. All filters
// implement engine.PacketFilter. Errors about configurations wrap engine.ErrConfig.
//
//	filter       for                                              files
//	Timed        all traffic: the filter to use                   timed.go, timed_*.go
//	Coarse       less memory; one false copy in 1e9, or in 1e6    coarse.go, coarse_*.go
//	Exact        the reference of both                            exact.go
//	Timers       a method of the literature                       timers.go, timers_*.go
//
// Timed and Coarse share their rows (rowfilter.go), growth (timed_grow.go, working_set.go),
// the time in ticks (ticks.go) and the count of packets that are late (lateness.go).
// Landmarks cut a stream into windows that begin by the clock (landmark.go).
package window

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/layout"
)

// Default is the usual window for packets: copies that a switch, a tap or a router makes
// arrive within it.
const Default = time.Millisecond

// Window bounds the distance of a copy from its original. Exactly one of Duration, Packets
// and None is set.
type Window struct {
	Duration time.Duration // at most this far in packet time, before or after
	Packets  int64         // at most this many stream positions later
	None     bool          // any distance
	// Landmark means that time or the stream is cut into windows of that length, and that
	// a copy lies in the same one. Filters take the window that Landmarks.Span returns.
	Landmark bool
}

// landmarkPrefix marks the text of a landmark window.
const landmarkPrefix = "landmark:"

// Parse reads a duration as time.ParseDuration does ("1ms", "1h30m"), "n:" and a number
// of packets ("n:1000000"), or "none". "landmark:" goes before a duration or a number of
// packets. Errors wrap ErrWindow.
func Parse(text string) (Window, error) {
	if rest, ok := strings.CutPrefix(text, landmarkPrefix); ok {
		w, err := Parse(rest)
		if err == nil && (w.None || w.Landmark) {
			err = fmt.Errorf("%w: %q is neither a duration such as 1h, nor n:PACKETS", engine.ErrWindow, rest)
		}
		if err != nil {
			return Window{}, err
		}
		w.Landmark = true
		return w, nil
	}
	if text == "none" {
		return Window{None: true}, nil
	}
	if digits, ok := strings.CutPrefix(text, "n:"); ok {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 1 {
			return Window{}, fmt.Errorf("%w: %q is not a number of packets of at least 1", engine.ErrWindow, digits)
		}
		return Window{Packets: n}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return Window{}, fmt.Errorf("%w: %q is neither a duration such as 1ms, nor n:PACKETS, nor none, nor a landmark window such as landmark:1h", engine.ErrWindow, text)
	}
	if d <= 0 {
		return Window{}, fmt.Errorf("%w: %q is not positive", engine.ErrWindow, text)
	}
	return Window{Duration: d}, nil
}

// String returns the window as Parse reads it, without the zero minutes and seconds of
// time.Duration: "1h", not "1h0m0s".
func (w Window) String() string {
	switch {
	case w.Landmark:
		w.Landmark = false
		return landmarkPrefix + w.String()
	case w.None:
		return "none"
	case w.Packets != 0:
		return "n:" + strconv.FormatInt(w.Packets, 10)
	}
	s := w.Duration.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// check returns an error unless exactly one field is set, to something that a filter can
// have.
func (w Window) check() error {
	kinds := 0
	for _, set := range []bool{w.Duration != 0, w.Packets != 0, w.None} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return fmt.Errorf("%w: set exactly one of Duration, Packets and None", engine.ErrWindow)
	case w.Landmark:
		return fmt.Errorf("%w: a filter has no landmark windows: give it the window of Landmarks.Span", engine.ErrWindow)
	case w.Duration < 0 || w.Packets < 0:
		return fmt.Errorf("%w: duration %v, %d packets, none %v", engine.ErrWindow, w.Duration, w.Packets, w.None)
	}
	return nil
}

// checkPacketArguments panics unless all slices cover the elements.
func checkPacketArguments(method string, seen []uint64, d []digest.Digest, times []int64, points []uint32, across bool) {
	n := len(d)
	switch {
	case len(seen) < (n+63)/64:
		panic("window: " + method + ": seen shorter than digests")
	case len(times) < n:
		panic("window: " + method + ": times shorter than digests")
	case across && len(points) < n:
		panic("window: " + method + ": points shorter than digests")
	}
}

const (
	// packetRate is the packet rate that a default carries. For windows up to shortWindow,
	// half of a usual second-level cache carries as much.
	packetRate  = 250_000   // packets a second
	timedRate   = 1_000_000 // of a filter of timed rows
	shortWindow = 8 * time.Millisecond
	// minRecordSize is the size of the smallest usual packet in a file, in bytes.
	minRecordSize = 64
	// linesForPacket keeps the load of a line at a quarter of a live packet, for filters
	// that do not grow. Then one packet in four million finds its line full.
	linesForPacket = 4
	// mostTimedDefault holds four million packets. A filter that begins smaller needs to
	// grow twice for a minute of a million packets a second.
	mostTimedDefault = mem.MaxDefault / 2
)

// DefaultMemory returns the default memory, in bytes, of a packet filter that does not
// grow. Windows of some milliseconds take half of the second-level cache. Longer windows
// take four lines for each of their packets at a quarter of a million packets a second,
// and 256 MiB at most. Windows without an end take 256 MiB. An input of a known size,
// inputBytes, caps this at four lines for each packet that it can hold. 0 stands for an
// unknown size.
func DefaultMemory(w Window, inputBytes int64) int {
	return defaultMemory(w, inputBytes, packetRate, func(packets float64) int { return linesOfSize(linesForPacket * packets) })
}

// DefaultTimedMemory is DefaultMemory for Timed, which grows where it has a window: it
// takes 32 bytes for each packet, at a million packets a second, and 128 MiB at most.
// 512 KiB, half of a second-level cache, then carry 16 million packets a second at 1 ms.
func DefaultTimedMemory(w Window, inputBytes int64) int {
	if w.None {
		return DefaultMemory(w, inputBytes)
	}
	return min(mostTimedDefault, defaultMemory(w, inputBytes, timedRate, func(packets float64) int {
		return timedLines(packets) * layout.LineSize
	}))
}

// defaultMemory returns the default for a packet rate, and a filter that takes the given
// number of bytes for a packet.
func defaultMemory(w Window, inputBytes int64, rate float64, of func(packets float64) int) int {
	floor := layout.Caches().L2 / 2
	want := mem.MaxDefault
	switch {
	case w.Packets > 0:
		want = of(float64(w.Packets))
	case !w.None && w.Duration <= shortWindow:
		want = floor
	case !w.None:
		want = of(w.Duration.Seconds() * rate)
	}
	if inputBytes > 0 {
		want = min(want, of(float64(inputBytes/minRecordSize)))
	}
	return max(min(want, mem.MaxDefault), floor)
}
