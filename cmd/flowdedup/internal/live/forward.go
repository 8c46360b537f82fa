package live

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

func (f *forwarding) commit() error { return f.Close() }
func (f *forwarding) abort() error  { return f.Close() }
func (f *forwarding) count() uint64 { return 0 }

// forward opens an interface to send to, unless the name is empty. With retry, it is
// tried again and again while it is down.
func (o *outputs) forward(name string, retry bool) error {
	if name == "" {
		return nil
	}
	sender, err := ring.OpenSender(ring.SenderConfig{Interface: name})
	if err != nil {
		return err
	}
	o.all = append(o.all, &output{destination: &forwarding{Sender: sender}, name: name, retry: retry})
	return nil
}

// forwarded returns the state of the interface that is sent to, nil without.
func (o *outputs) forwarded() *Forward {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, out := range o.all {
		if f, ok := out.destination.(*forwarding); ok {
			return &Forward{Interface: out.name, SenderStats: f.Stats(), Failed: out.reason()}
		}
	}
	return nil
}
