// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/mirror"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
)

// networks is a capture with at least one input from a network.
type networks interface {
	liveCapture
	// Networks may be called by any goroutine, also after Close.
	Networks() []monitor.Network
}

// arriving merges inputs, at least one of which is an address.
type arriving struct {
	*pcapfile.Arrivals
	inputs  []arrivingInput
	started bool
}

// arrivingInput is an input: an address with its receiver, or an interface with its capture.
type arrivingInput struct {
	name     string
	receiver *pcapoverip.Receiver
	capture  liveCapture
}

// mirrored is the targets of mirrored traffic.
type mirrored struct{ *mirror.Capture }

func openMirror(cfg *config, log *slog.Logger) (networks, error) {
	conf := cfg.Mirror
	conf.Idle, conf.IdleNow, conf.Delay = cfg.Ring.Idle, cfg.Ring.IdleNow, min(cfg.Ring.BlockTimeout, maxDelay)
	conf.Warn = func(err error) { log.Warn("input", "error", err) }
	c, err := mirror.Open(conf)
	if err != nil {
		return nil, err
	}
	return mirrored{c}, nil
}

// Stats returns the counts of each socket.
func (m mirrored) Stats() (all []afpacket.Stats) {
	for _, t := range m.Capture.Stats() {
		all = append(all, t.Sockets...)
	}
	return all
}

// Networks returns the counts of each target.
func (m mirrored) Networks() (all []monitor.Network) {
	for _, t := range m.Capture.Stats() {
		all = append(all, monitor.Network{
			Name: t.Sockets[0].Interface, Mirrored: &monitor.Mirrored{Malformed: t.Malformed, Control: t.Control, Unwanted: t.Unwanted, Points: t.Points},
		})
	}
	return all
}

// openArriving opens interfaces, targets, and all addresses.
func openArriving(ctx context.Context, cfg *config, log *slog.Logger) (*arriving, error) {
	a := &arriving{}
	if err := a.open(ctx, cfg, log); err != nil {
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

func (a *arriving) open(ctx context.Context, cfg *config, log *slog.Logger) error {
	if len(cfg.Ring.Interfaces) > 0 {
		if err := a.add(openInterfaces(cfg, log)); err != nil {
			return err
		}
	}
	if len(cfg.Mirror.Targets) > 0 {
		if err := a.add(openMirror(cfg, log)); err != nil {
			return err
		}
	}
	for _, addr := range cfg.Addresses {
		r, err := pcapoverip.Open(ctx, addr, pcapoverip.ReceiverConfig{
			TLS: cfg.Outputs.TLS, Endless: true, Warn: func(err error) { log.Warn("input", "error", err) },
		})
		if err != nil {
			return err
		}
		a.inputs = append(a.inputs, arrivingInput{name: addr.String(), receiver: r})
	}
	return nil
}

// add adds a capture that was opened without an error.
func (a *arriving) add(c liveCapture, err error) error {
	if err == nil {
		a.inputs = append(a.inputs, arrivingInput{name: c.Inputs()[0], capture: c})
	}
	return err
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

// Stats returns the counts of each ring. An address counts as a ring.
func (a *arriving) Stats() (all []afpacket.Stats) {
	counts := a.Counts()
	for i := range a.inputs {
		in := &a.inputs[i]
		if in.capture != nil {
			all = append(all, in.capture.Stats()...)
			continue
		}
		all = append(all, afpacket.Stats{Interface: in.name, Received: counts[i].Packets, Delivered: counts[i].Packets})
	}
	return all
}

// Networks returns the counts of each input.
func (a *arriving) Networks() (all []monitor.Network) {
	counts := a.Counts()
	for i := range a.inputs {
		in := &a.inputs[i]
		if of, ok := in.capture.(networks); ok {
			all = append(all, of.Networks()...)
			continue
		}
		n := monitor.Network{Name: in.name, LatePackets: counts[i].Late}
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

// grace is how long a window stays open after its end: many times the delay of packets.
func (c *config) grace() time.Duration {
	d := max(grace, 2*c.Ring.BlockTimeout)
	if c.merges() {
		d += c.MergeWait
	}
	return d
}

// network reports whether packets come over a network, at least some.
func (c *config) network() bool { return len(c.Addresses)+len(c.Mirror.Targets) > 0 }

// merges reports whether inputs are merged.
func (c *config) merges() bool {
	return len(c.Addresses) > 0 || len(c.Mirror.Targets) > 0 && len(c.Ring.Interfaces) > 0
}
