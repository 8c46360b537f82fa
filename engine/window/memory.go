package window

import (
	"time"

	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/layout"
)

const (
	// linesForPacket keeps a line's load at a quarter of a live packet, at which
	// one packet in four millions finds its line full.
	linesForPacket = 4
	// packetRate is the packet rate that a default carries at that load. With
	// windows up to shortWindow half of a usual second-level cache carries as
	// much.
	packetRate  = 250_000 // packets a second
	shortWindow = 8 * time.Millisecond
	// minRecordSize is what the smallest usual packet takes in a file.
	minRecordSize = 64
)

// DefaultMemory chooses the memory that a packet filter begins with, in bytes, where the
// user names none: half of the second-level cache for windows of some
// milliseconds (512 KiB carry 2 million packets a second at 1 ms, and twice as
// many with one in 70,000 forgotten), four lines for each packet that longer
// windows hold at a quarter of a million packets a second, and 256 MiB at most
// and for windows without an end. Inputs of a known size cap it at four lines
// for each packet that they can hold, so that small inputs are
// not forgotten. inputBytes is 0 if the size is unknown.
func DefaultMemory(w Window, inputBytes int64) int {
	const packet = linesForPacket * layout.LineSize
	floor := layout.Caches().L2 / 2
	want := mem.MaxDefault
	switch {
	case w.Packets > 0:
		want = int(min(w.Packets, mem.MaxDefault/packet)) * packet
	case !w.None && w.Duration <= shortWindow:
		want = floor
	case !w.None && w.Duration < mem.MaxDefault/packet*time.Second/packetRate:
		want = int(w.Duration.Seconds()*packetRate) * packet
	}
	if inputBytes > 0 {
		want = min(want, int(min(inputBytes/minRecordSize, mem.MaxDefault/packet))*packet)
	}
	return max(want, floor)
}
