package live

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// forwarding is an interface as a destination.
type forwarding struct{ *ring.Sender }

// Write sends the packets that are not in drop.
func (f *forwarding) Write(b *capture.Batch, drop []uint64) error { return f.Send(b, drop) }

func (f *forwarding) commit() error { return f.Close() }
func (f *forwarding) abort() error  { return f.Close() }
func (f *forwarding) count() uint64 { return 0 }

// forward opens an interface to send to, unless the name is empty. With retry, it is
// tried again and again while it is down.
func (o *outputs) forward(name string, retry bool) error {
	if name == "" {
		return nil
	}
	sender, err := ring.OpenSender(ring.SenderConfig{
		Interface: name,
		Warn:      func(err error) { o.log.Warn("packets are not forwarded", "error", err) },
	})
	if err != nil {
		return err
	}
	o.all = append(o.all, &output{destination: &forwarding{sender}, name: name, retry: retry})
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
