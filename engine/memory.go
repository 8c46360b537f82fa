package engine

import (
	"time"

	"github.com/flowdedup/flowdedup/layout"
)

const (
	// crowd is the packet rate that a default must carry without forgetting:
	// with windows up to shortWindow half of a second-level cache carries more.
	crowd       = 1_000_000 // packets a second
	shortWindow = 8 * time.Millisecond
	// maxDefaultMemory is where the default stops growing with the window.
	maxDefaultMemory = 256 << 20
	// minRecordSize is what the smallest usual packet takes in a file.
	minRecordSize = 64
)

// DefaultMemory chooses the memory of a packet filter, in bytes, where the
// user names none: half of the second-level cache for windows of some
// milliseconds, which holds them at 8 million packets a second; a line for
// each packet of the window at a million packets a second for longer ones, 256
// MiB at most and for windows without an end. Inputs of a known size cap it at
// one line for each packet that they can hold: at that load a line overflows
// once in a million packets, so small inputs never forget. inputBytes is 0 if
// the size is unknown.
func DefaultMemory(w Window, inputBytes int64) int {
	floor := layout.Caches().L2 / 2
	want := maxDefaultMemory
	switch {
	case w.Packets > 0:
		want = int(min(w.Packets, maxDefaultMemory/layout.LineSize)) * layout.LineSize
	case !w.None && w.Duration <= shortWindow:
		want = floor
	case !w.None && w.Duration < maxDefaultMemory/layout.LineSize/crowd*time.Second:
		want = int(w.Duration.Seconds()*crowd) * layout.LineSize
	}
	if inputBytes > 0 {
		want = int(min(int64(want), inputBytes/minRecordSize*layout.LineSize))
	}
	return max(want, floor)
}
