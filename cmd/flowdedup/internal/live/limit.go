package live

import "github.com/flowdedup/flowdedup/capture"

// stoppable is a capture.Source that can be told to end.
type stoppable interface {
	capture.Source
	Stop()
}

// limited ends a capture after a number of packets. Those that came with them are left
// out; the statistics at the end of the capture are not.
type limited struct {
	stoppable
	left uint64
}

// limit returns a source of the first packets of a capture, all for 0.
func limit(c stoppable, packets uint64) capture.Source {
	if packets == 0 {
		return c
	}
	return &limited{c, packets}
}

// Next returns the next packets, if there are any left.
func (l *limited) Next(b *capture.Batch) error {
	if err := l.stoppable.Next(b); err != nil {
		return err
	}
	if uint64(len(b.Frames)) >= l.left {
		b.Frames = b.Frames[:l.left]
		for i := range b.Blocks {
			b.Blocks[i].Before = min(b.Blocks[i].Before, uint32(l.left))
		}
		l.Stop()
	}
	l.left -= uint64(len(b.Frames))
	return nil
}
