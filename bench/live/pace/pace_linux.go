// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// burstEvery is the time between bursts. The frames of that time go out together.
const burstEvery = 500 * time.Microsecond

// Send sends the given number of frames of the traffic, and up to a burst more, from
// frame number from on. They leave an interface through a packet socket, at most rate a
// second. It returns how many frames the kernel took, also with an error.
func Send(name string, from uint64, frames, rate int) (uint64, error) {
	s, err := afpacket.OpenSender(afpacket.SenderConfig{Interface: name})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	burst := max(1, rate*int(burstEvery/time.Microsecond)/1_000_000)
	b := traffic(burst)
	begin := time.Now()
	for done := 0; done < frames; done += burst {
		for i := range b.Frames {
			lab.Renumber(b.Data(i), from+uint64(done+i))
		}
		if err := s.Send(b, nil); err != nil {
			return s.Stats().Sent, err
		}
		time.Sleep(time.Duration(done+burst)*time.Second/time.Duration(rate) - time.Since(begin))
	}
	return s.Stats().Sent, nil
}

// traffic returns a batch of frames that still need their numbers.
func traffic(frames int) *capture.Batch {
	b := &capture.Batch{Interfaces: []capture.Interface{{LinkType: capture.LinkEthernet}}, Sections: make([]capture.Section, 1)}
	for i := range frames {
		b.Frames = append(b.Frames, capture.Frame{Data: uint32(i * lab.MinFrame), CapLen: lab.MinFrame, WireLen: lab.MinFrame})
		b.Buf = append(b.Buf, lab.NewFrame(lab.MinFrame)...)
	}
	return b
}
