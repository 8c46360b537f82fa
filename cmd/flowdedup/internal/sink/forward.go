package sink

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// forwarding is an interface as a destination. The sender finds it again once it was
// away.
type forwarding struct {
	*ring.Sender
	retry bool
}

// Write sends the packets that are not in drop.
func (f *forwarding) Write(b *capture.Batch, drop []uint64) error { return f.Send(b, drop) }

func (f *forwarding) commit() error  { return f.Close() }
func (f *forwarding) keep() error    { return f.Close() }
func (f *forwarding) discard() error { return f.Close() }
func (f *forwarding) retries() bool  { return f.retry }

func (f *forwarding) counts() counts {
	s := f.Stats()
	return counts{written: s.Sent, lost: s.Cut + s.TooLong + s.Refused + s.Lost}
}

// OpenForward opens the interface to send to, if there is one. It comes before OpenFiles
// where privileges are given up in between.
func (s *Set) OpenForward() error {
	if s.cfg.Forward == "" {
		return nil
	}
	sender, err := ring.OpenSender(ring.SenderConfig{
		Interface: s.cfg.Forward,
		Warn:      func(err error) { s.cfg.Log.Warn("packets are not forwarded", "error", err) },
	})
	if err != nil {
		return err
	}
	d := &forwarding{Sender: sender, retry: s.cfg.Retry}
	s.outputs = append(s.outputs, &output{destination: d, name: s.cfg.Forward})
	return nil
}
