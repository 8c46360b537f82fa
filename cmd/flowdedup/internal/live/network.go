package live

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/netio"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/ring"
)

// Network counts what came from one input of a run whose inputs are merged, or come over a
// network.
type Network struct {
	Name string `json:"-"`
	// The peers of an address; nil for other inputs.
	*netio.ReceiverStats
	// Late counts packets that came after later ones of other inputs.
	Late uint64 `json:"late_packets"`
}

// networks is a capture that comes over a network, at least in part.
type networks interface {
	liveCapture
	// Networks may be called by any goroutine, also after Close.
	Networks() []Network
}

// arriving merges inputs of which at least one is an address.
type arriving struct {
	*pcapfile.Arrivals
	inputs  []arrivingInput
	started bool
}

// arrivingInput is one of the two.
type arrivingInput struct {
	name     string
	receiver *netio.Receiver
	capture  liveCapture
}

// openArriving opens interfaces, and all addresses.
func openArriving(ctx context.Context, cfg *Config, log *slog.Logger) (*arriving, error) {
	a := &arriving{}
	open := func() error {
		if len(cfg.Ring.Interfaces) > 0 {
			c, err := openInterfaces(cfg, log)
			if err != nil {
				return err
			}
			a.inputs = append(a.inputs, arrivingInput{name: c.Inputs()[0], capture: c})
		}
		for _, addr := range cfg.Addresses {
			r, err := netio.Open(ctx, addr, netio.ReceiverConfig{
				TLS: cfg.TLS, Endless: true, Warn: func(err error) { log.Warn("input", "error", err) },
			})
			if err != nil {
				return err
			}
			a.inputs = append(a.inputs, arrivingInput{name: addr.String(), receiver: r})
		}
		return nil
	}
	if err := open(); err != nil {
		_ = a.Close() // the first error is the one to report
		return nil, err
	}
	var names []string
	for i := range a.inputs {
		names = append(names, a.inputs[i].name)
	}
	a.Arrivals = pcapfile.NewArrivals(names, cfg.MergeWait)
	a.SetIdle(cfg.Ring.Idle)
	return a, nil
}

// Start lets packets in.
func (a *arriving) Start() error {
	a.started = true
	for i := range a.inputs {
		in := &a.inputs[i]
		if in.receiver != nil {
			in.receiver.Start(a.Arrivals, i)
			continue
		}
		if err := in.capture.Start(); err != nil {
			return err
		}
		a.Add(pcapfile.Arrival{Source: ending{in.capture, a.Stop}, Input: i})
	}
	return nil
}

// ending is a capture whose failure ends the run.
type ending struct {
	liveCapture
	end func()
}

// Next ends the run if it fails.
func (e ending) Next(b *capture.Batch) error {
	err := e.liveCapture.Next(b)
	if err != nil && err != io.EOF {
		e.end()
	}
	return err
}

// Stats returns the counts of each ring. An address counts as one.
func (a *arriving) Stats() (all []ring.Stats) {
	counts := a.Counts()
	for i := range a.inputs {
		in := &a.inputs[i]
		if in.capture != nil {
			all = append(all, in.capture.Stats()...)
			continue
		}
		all = append(all, ring.Stats{Interface: in.name, Received: counts[i].Packets, Delivered: counts[i].Packets})
	}
	return all
}

// Networks returns the counts of each input.
func (a *arriving) Networks() (all []Network) {
	counts := a.Counts()
	for i := range a.inputs {
		in := &a.inputs[i]
		n := Network{Name: in.name, Late: counts[i].Late}
		if in.receiver != nil {
			peers := in.receiver.Stats()
			n.ReceiverStats = &peers
		}
		all = append(all, n)
	}
	return all
}

// Close ends everything.
func (a *arriving) Close() error {
	if a.started {
		return a.Arrivals.Close()
	}
	for i := range a.inputs {
		if in := &a.inputs[i]; in.receiver != nil {
			in.receiver.Close()
		} else {
			_ = in.capture.Close() // nothing was read
		}
	}
	return nil
}

// grace is how long a window stays open after its end: many times what delays packets.
func (c *Config) grace() time.Duration {
	d := max(grace, 2*c.Ring.BlockTimeout)
	if len(c.Addresses) > 0 {
		d += c.MergeWait
	}
	return d
}
