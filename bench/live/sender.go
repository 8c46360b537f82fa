//go:build linux

package main

import (
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// sent is what a sender did.
type sent struct {
	frames uint64
	took   time.Duration
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

// burstEvery is how often frames go out, those of that time together.
const burstEvery = 500 * time.Microsecond

// transmit sends frames out of the interface whose peer the receivers listen to, at
// most rate in a second.
func transmit(frames, rate int) (sent, error) {
	s, err := ring.OpenSender(ring.SenderConfig{Interface: "left"})
	if err != nil {
		return sent{}, err
	}
	defer s.Close()
	burst := max(1, rate*int(burstEvery/time.Microsecond)/1_000_000)
	b := traffic(burst)
	begin := time.Now()
	for from := 0; from < frames; from += burst {
		for i := range b.Frames {
			lab.Renumber(b.Data(i), uint64(from+i))
		}
		if err := s.Send(b, nil); err != nil {
			return sent{}, err
		}
		time.Sleep(time.Duration(from+burst)*time.Second/time.Duration(rate) - time.Since(begin))
	}
	return sent{s.Stats().Sent, time.Since(begin)}, nil
}

// traffic returns a batch of frames to be numbered.
func traffic(frames int) *capture.Batch {
	b := &capture.Batch{Interfaces: []capture.Interface{{LinkType: capture.LinkEthernet}}, Sections: make([]capture.Section, 1)}
	for i := range frames {
		b.Frames = append(b.Frames, capture.Frame{Data: uint32(i * lab.MinFrame), CapLen: lab.MinFrame, WireLen: lab.MinFrame})
		b.Buf = append(b.Buf, lab.NewFrame(lab.MinFrame)...)
	}
	return b
}
