// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// forwarding is an interface as a destination. Its sender finds an interface again after
// an outage.
type forwarding struct {
	*afpacket.Sender
	retry bool
}

// Write sends the packets that are not in drop.
func (f *forwarding) Write(b *capture.Batch, drop []uint64) error { return f.Send(b, drop) }

func (f *forwarding) commit() error   { return f.Close() }
func (f *forwarding) keep(bool) error { return f.Close() }
func (f *forwarding) discard() error  { return f.Close() }
func (f *forwarding) retries() bool   { return f.retry }

func (f *forwarding) counts() outcome {
	s := f.Stats()
	return outcome{written: s.Sent, lost: s.Skipped() + s.Lost}
}

// usable reports whether the interface is there, as far as is known.
func (f *forwarding) usable() bool { return f.Reachable() }

// OpenForward opens the interfaces to send to, if there are any. It comes before OpenFiles
// if privileges are dropped in between.
func (s *Set) OpenForward() error {
	var senders []*afpacket.Sender
	for _, name := range s.cfg.Forward {
		sender, err := afpacket.OpenSender(afpacket.SenderConfig{
			Interface: name, Wait: s.cfg.Retry,
			Warn: func(err error) { s.cfg.Log.Warn("packets are not forwarded", "error", err) },
		})
		if err != nil {
			return err
		}
		senders = append(senders, sender)
		d := &forwarding{Sender: sender, retry: s.cfg.Retry}
		s.outputs = append(s.outputs, &output{destination: d, name: name})
	}
	for _, sender := range senders {
		sender.Avoid(senders)
	}
	return nil
}
