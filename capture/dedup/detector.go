package dedup

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Config says which packets are copies. The zero value is what the command does by
// default: an IP datagram, less what routers change in it, within a millisecond of an
// equal one that was kept.
type Config struct {
	// Identity says what makes two packets the same packet.
	Identity flow.IdentityConfig
	// Filter says how far a copy may be from its original, and how much memory the
	// packets in between may take. A zero Window stands for window.Default.
	Filter window.TimedConfig
	// Secret keys the digests: nobody who does not know it can make packets that are
	// taken for copies. The zero value stands for a random one.
	Secret secret.Secret
}

// Detector judges the packets of one stream, in their order.
type Detector struct {
	identity flow.IdentityConfig
	digester func() digest.MessageDigester
	filter   engine.PacketFilter
	across   bool
	points   *flow.CapturePoints
	single   *BatchDetector // of Copies
}

// New makes a Detector. Errors are those of window.NewTimed and secret.Random.
func New(cfg Config) (*Detector, error) {
	var err error
	if cfg.Secret == (secret.Secret{}) {
		if cfg.Secret, err = secret.Random(); err != nil {
			return nil, err
		}
	}
	if cfg.Filter.Window == (window.Window{}) {
		cfg.Filter.Window.Duration = window.Default
	}
	filter, err := window.NewTimed(cfg.Filter)
	if err != nil {
		return nil, err
	}
	return NewWith(Parts{
		Identity: cfg.Identity, Filter: filter, Across: cfg.Filter.Across,
		Digester: func() digest.MessageDigester { return digest.NewAES(cfg.Secret.AESKey(secret.Packets)) },
	}), nil
}

// Parts are what a Detector is made of, for other filters and digests than those of New.
type Parts struct {
	Identity flow.IdentityConfig
	Digester func() digest.MessageDigester // makes one for each batch that is under way
	Filter   engine.PacketFilter
	Across   bool                // the filter compares capture points
	Points   *flow.CapturePoints // of packets before; nil for none
}

// NewWith makes a Detector of parts, which belong to it from then on.
func NewWith(p Parts) *Detector {
	if p.Points == nil {
		p.Points = flow.NewCapturePoints(nil)
	}
	d := &Detector{identity: p.Identity, digester: p.Digester, filter: p.Filter, across: p.Across, points: p.Points}
	d.single = d.NewBatchDetector()
	return d
}

// Copies judges the packets of the next batch, and returns a bitmap of those that are
// copies: bit i%64 of word i/64 is that of packet i, as a capture.Writer wants it. The
// bitmap is valid until the next call. How a stream is cut into batches makes no
// difference.
func (d *Detector) Copies(b *capture.Batch) (drop []uint64) {
	d.single.Prepare(b)
	return d.single.Judge(b)
}

// Filter returns the filter.
func (d *Detector) Filter() engine.PacketFilter { return d.filter }

// Points returns the numbers of the capture points.
func (d *Detector) Points() *flow.CapturePoints { return d.points }

// Stats returns what the filter did so far. It is not for the moment when a batch is
// judged.
func (d *Detector) Stats() engine.PacketStats { return d.filter.Stats() }

// Close gives the filter's memory back; Stats still works.
func (d *Detector) Close() error { return d.filter.Close() }
