//go:build linux

package main

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/live/pace"
)

// sent is what a sender did.
type sent struct {
	frames uint64
	took   time.Duration
}

// send runs the sender of a name.
func (b *bench) send(sender string) (s sent, err error) {
	begin := time.Now()
	switch frames := b.frames[sender]; sender {
	case "xdp":
		return inject(frames)
	case "sendmmsg":
		s.frames, err = pace.Send("left", 0, frames, b.rate)
	default:
		err = fmt.Errorf("no sender %q: xdp or sendmmsg", sender)
	}
	s.took = time.Since(begin)
	return s, err
}

// inject has the generator put frames into the receivers' interface.
func inject(frames int) (sent, error) {
	g, err := lab.NewGenerator("right", lab.MinFrame)
	if err != nil {
		return sent{}, err
	}
	defer g.Close()
	begin := time.Now()
	if err := g.Run(frames); err != nil {
		return sent{}, err
	}
	took := time.Since(begin)
	n, err := g.Injected()
	return sent{n, took}, err
}
