// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
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

// network is peers as a destination.
type network struct{ *pcapoverip.Sender }

// openSender connects to the address, or waits for a peer there.
func (s *Set) openSender(ctx context.Context, name string) (destination, error) {
	addr, err := pcapoverip.ParseAddress(name)
	if err != nil {
		return nil, err
	}
	sender, err := pcapoverip.OpenSender(ctx, addr, pcapoverip.SenderConfig{
		TLS: s.cfg.TLS, Live: s.cfg.Live || s.cfg.Arriving && pcapoverip.Listens(name), Commented: s.cfg.Rotate.Commented,
		Warn: func(err error) { s.cfg.Log.Warn("output", "error", err) },
	})
	if err != nil {
		return nil, err
	}
	return network{sender}, nil
}

func (n network) commit() error   { return n.Close() }
func (n network) keep(bool) error { return n.Close() }
func (n network) discard() error  { return n.Close() }
func (n network) retries() bool   { return false }
func (n network) usable() bool    { return n.Connected() }

func (n network) counts() outcome {
	s := n.Stats()
	return outcome{written: s.Written, lost: s.Lost, skipped: n.Skipped()}
}
