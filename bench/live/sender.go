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

// send runs the sender of a name, in two halves, between which it calls pause. The time
// is that of sending.
func (b *bench) send(sender string, pause func() error) (sent, error) {
	switch frames := b.frames[sender]; sender {
	case "xdp":
		return inject(frames, pause)
	case "sendmmsg":
		return halves(frames, pause, func(from, n int) (uint64, error) {
			sent, err := pace.Send("left", uint64(from), n, b.rate)
			return uint64(from) + sent, err
		})
	default:
		return sent{}, fmt.Errorf("no sender %q: xdp or sendmmsg", sender)
	}
}

// inject has the generator put frames into the receivers' interface.
func inject(frames int, pause func() error) (sent, error) {
	g, err := lab.NewGenerator("right", lab.MinFrame)
	if err != nil {
		return sent{}, err
	}
	defer g.Close()
	return halves(frames, pause, func(from, n int) (done uint64, err error) {
		end := uint64(from + n)
		for done = uint64(from); done < end && err == nil; { // a signal ends a run early
			if err = g.Run(int(end - done)); err == nil {
				done, err = g.Injected()
			}
		}
		return done, err
	})
}

// halves sends half of the frames, pauses, and sends the rest. What sends n frames from
// the given one on returns how many were sent from the first one on.
func halves(frames int, pause func() error, send func(from, n int) (uint64, error)) (s sent, err error) {
	for _, half := range []int{frames / 2, frames - frames/2} {
		if s.frames > 0 {
			if err := pause(); err != nil {
				return s, err
			}
		}
		begin := time.Now()
		s.frames, err = send(int(s.frames), half)
		s.took += time.Since(begin)
		if err != nil {
			return s, err
		}
	}
	return s, nil
}
