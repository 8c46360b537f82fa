package live

import (
	"log/slog"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/capture/xdp"
)

// liveCapture is what a run needs of a capture.
type liveCapture interface {
	capture.Source
	// Start lets packets in.
	Start() error
	// Stop ends the capture: Next delivers what was captured before, then io.EOF.
	Stop()
	// Stats may be called by any goroutine, also after Close.
	Stats() []ring.Stats
}

// openCapture opens the capture that is configured.
func openCapture(cfg *Config, log *slog.Logger) (liveCapture, error) {
	if cfg.XDP == nil {
		c, err := ring.Open(cfg.Ring)
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

// maxDelay bounds how long packets gather in an AF_XDP socket. At the highest rates the
// default memory of a socket lasts six times as long.
const maxDelay = time.Millisecond

func xdpConfig(cfg *Config, log *slog.Logger) xdp.Config {
	c, r := *cfg.XDP, &cfg.Ring
	c.Interfaces, c.RingBytes, c.SnapLen = r.Interfaces, r.RingBytes, r.SnapLen
	c.Promiscuous, c.Wait, c.StartPaused, c.Idle = r.Promiscuous, r.Wait, r.StartPaused, r.Idle
	c.Delay = min(r.BlockTimeout, maxDelay)
	c.Warn = func(err error) { log.Warn("AF_XDP", "error", err) }
	return c
}
