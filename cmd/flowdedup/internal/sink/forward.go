package sink

import (
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// forwardRetry is how long an interface is left alone that could not be sent to.
const forwardRetry = 500 * time.Millisecond

// forwarding is an interface as a destination.
type forwarding struct {
	*ring.Sender
	retry  bool
	failed error     // the last time; nil once it worked
	next   time.Time // when it is tried again
}

// Write sends the packets that are not in drop.
func (f *forwarding) Write(b *capture.Batch, drop []uint64) error {
	if f.failed != nil && time.Now().Before(f.next) {
		return f.failed
	}
	if f.failed = f.Send(b, drop); f.failed != nil {
		f.next = time.Now().Add(forwardRetry)
	}
	return f.failed
}

func (f *forwarding) commit() error  { return f.Close() }
func (f *forwarding) keep() error    { return f.Close() }
func (f *forwarding) discard() error { return f.Close() }
func (f *forwarding) retries() bool  { return f.retry }

func (f *forwarding) counts() counts {
	s := f.Stats()
	return counts{written: s.Sent, lost: s.Cut + s.TooLong + s.Refused}
}

// OpenForward opens the interface to send to, if there is one. It comes before OpenFiles
// where privileges are given up in between.
func (s *Set) OpenForward() error {
	if s.cfg.Forward == "" {
		return nil
	}
	sender, err := ring.OpenSender(ring.SenderConfig{Interface: s.cfg.Forward})
	if err != nil {
		return err
	}
	d := &forwarding{Sender: sender, retry: s.cfg.Retry}
	s.outputs = append(s.outputs, &output{destination: d, name: s.cfg.Forward})
	return nil
}
