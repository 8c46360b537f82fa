// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"

	"github.com/flowdedup/flowdedup/capture/pcapoverip"
)

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
