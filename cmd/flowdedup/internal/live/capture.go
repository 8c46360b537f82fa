// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/xdp"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// liveCapture is a capture as a run uses it.
type liveCapture interface {
	capture.Source
	// Start lets packets in.
	Start() error
	// Stop ends the capture: Next delivers packets captured before, then io.EOF.
	Stop()
	// Stats may be called by any goroutine, also after Close.
	Stats() []afpacket.Stats
}

// openCapture opens the capture that is configured.
func openCapture(ctx context.Context, cfg *config, log *slog.Logger) (liveCapture, error) {
	var c networks
	var err error
	switch {
	case !cfg.network():
		return openInterfaces(cfg, log)
	case cfg.merges():
		c, err = openArriving(ctx, cfg, log)
	default:
		c, err = openMirror(cfg, log)
	}
	switch {
	case err != nil:
		return nil, err
	case cfg.Filter.All():
		return c, nil
	}
	return filtered(ctx, cfg, c, log)
}

// openInterfaces opens the capture from interfaces.
func openInterfaces(cfg *config, log *slog.Logger) (liveCapture, error) {
	if cfg.XDP == nil {
		c, err := afpacket.Open(cfg.Ring)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	c, err := xdp.Open(xdpConfig(cfg, log))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// matching delivers the packets of a capture that match the filter of the run, if no kernel
// filters them.
type matching struct {
	networks
	wanted *input.Wanted
}

// filtered compiles the filter for Ethernet before the process becomes --user, who may not be able
// to start the compiler.
func filtered(ctx context.Context, cfg *config, c networks, log *slog.Logger) (liveCapture, error) {
	wanted := input.NewWanted(cfg.Filter, func(err error) { log.Warn("the filter has no meaning", "error", err) })
	if err := wanted.Compile(ctx, capture.LinkEthernet); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &matching{c, wanted}, nil
}

// Next removes the packets that do not match from a batch.
func (m *matching) Next(b *capture.Batch) error {
	if err := m.networks.Next(b); err != nil {
		return err
	}
	return m.wanted.Keep(context.Background(), b)
}

// maxDelay bounds how long packets gather in an AF_XDP socket. At high rates they gather for
// less.
const maxDelay = time.Millisecond

func xdpConfig(cfg *config, log *slog.Logger) xdp.Config {
	c, r := *cfg.XDP, &cfg.Ring
	c.Interfaces, c.RingBytes, c.SnapLen = r.Interfaces, r.RingBytes, r.SnapLen
	c.Promiscuous, c.Wait, c.StartPaused = r.Promiscuous, r.Wait, r.StartPaused
	c.Idle, c.IdleNow = r.Idle, r.IdleNow
	c.HardwareTime = r.HardwareTime
	c.Delay = min(r.BlockTimeout, maxDelay)
	c.Warn = func(err error) { log.Warn("AF_XDP", "error", err) }
	return c
}

// stoppable is a capture.Source that can be stopped.
type stoppable interface {
	capture.Source
	Stop()
}

var (
	_ capture.Lender     = (*countLimit)(nil)
	_ capture.LiveSource = (*countLimit)(nil)
)

// countLimit ends a capture after a number of packets. It drops the rest of the last
// batch, but not the statistics at the end of the capture.
type countLimit struct {
	stoppable
	left uint64
}

// limit returns a source of the first packets of a capture; 0 means all.
func limit(c stoppable, packets uint64) capture.Source {
	if packets == 0 {
		return c
	}
	return &countLimit{c, packets}
}

// Next returns the next packets until the limit is reached.
func (l *countLimit) Next(b *capture.Batch) error {
	if err := l.stoppable.Next(b); err != nil {
		return err
	}
	if uint64(len(b.Frames)) >= l.left {
		b.Frames = b.Frames[:l.left]
		for i := range b.Blocks {
			b.Blocks[i].Before = min(b.Blocks[i].Before, uint32(l.left))
		}
		l.Stop()
	}
	l.left -= uint64(len(b.Frames))
	return nil
}

// GiveBack passes a batch on to a capture that lends them.
func (l *countLimit) GiveBack(b *capture.Batch) {
	if lender, ok := l.stoppable.(capture.Lender); ok {
		lender.GiveBack(b)
	}
}

// Behind passes the question on. A capture that does not know is read at once.
func (l *countLimit) Behind() bool {
	live, ok := l.stoppable.(capture.LiveSource)
	return !ok || live.Behind()
}
