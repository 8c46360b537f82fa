// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Config says which packets are copies. The zero value has the defaults of the command
// where that counts: a copy is an IP datagram within a millisecond of an equal one that was kept, and what
// routers change does not count.
type Config struct {
	// Identity says what makes two packets the same packet.
	Identity flow.IdentityConfig
	// Filter sets the window between a copy and its original, and the memory for the
	// packets in the window. A zero Window stands for window.Default.
	Filter window.TimedConfig
	// Secret keys the digests. Without it, an attacker cannot make packets that collide
	// with those of others. The zero value stands for a random one.
	Secret secret.Secret
	// Within says at which points equal packets are copies of each other: where one of
	// these fields differs they are not. 0 is at all points.
	Within flow.PointFields
	// Only chooses the packets that are judged, nil for all. Others are kept, and not
	// remembered: no packet is a copy of one of them, and a window of packets does not
	// count them.
	Only Chooser
	// Protect chooses packets that are never removed, nil for none. They are remembered:
	// other packets can be copies of them.
	Protect Chooser
	// Keep says which of equal packets Tasks write; the verdicts of Copies and of a
	// BatchDetector do not depend on it. The command chooses KeepFlow where it writes
	// packets. With it, packets wait for better copies as a
	// Hold says, of at most Hold; 0 stands for the window, at most 10 ms.
	Keep Keep
	Hold time.Duration
	// Intact makes packets wait, too: see HoldConfig. It chooses where equal packets may
	// differ: see flow.IdentityConfig.Uneven.
	Intact bool
}

// maxHold bounds holds by default.
const maxHold = 10 * time.Millisecond

// hold makes the Hold of a configuration, which is nil if no packet waits.
func (c *Config) hold() (*Hold, error) {
	intact := c.Intact && c.Identity.Uneven()
	if c.Keep != KeepFlow && !intact {
		return nil, nil
	}
	w := c.Filter.Window.Duration
	if c.Hold == 0 {
		c.Hold = maxHold
		if w > 0 {
			c.Hold = min(w, maxHold)
		}
	}
	if c.Filter.Refresh {
		w = 0
	}
	return NewHold(HoldConfig{Keep: c.Keep, Intact: intact, Hold: c.Hold, Window: w, Identity: c.Identity.Kind, Secret: c.Secret})
}

// Detector judges the packets of one stream, in their order. It is for one goroutine, but
// for the BatchDetectors of NewBatchDetector.
type Detector struct {
	identity flow.IdentityConfig
	digester func() digest.MessageDigester
	filter   engine.PacketFilter
	across   bool
	points   *flow.CapturePoints
	within   flow.SightingConfig
	only     Chooser
	protect  Chooser
	single   *BatchDetector // of Copies
	hold     *Hold          // of Tasks; nil for none
	packets  uint64         // judged so far
	copies   uint64         // that were found
}

// New makes a Detector. Errors are those of window.NewTimed, secret.Random and
// NewHold.
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
	hold, err := cfg.hold()
	if err != nil {
		return nil, errors.Join(err, filter.Close())
	}
	d := NewWith(Parts{
		Identity: cfg.Identity, Filter: filter, Across: cfg.Filter.Across,
		Within: Within(cfg.Within, cfg.Identity.Kind, cfg.Secret), Only: cfg.Only, Protect: cfg.Protect,
		Digester: func() digest.MessageDigester { return digest.NewAES(cfg.Secret.AESKey(secret.Packets)) },
	})
	d.hold = hold
	return d, nil
}

// Parts are the parts of a Detector, for other filters and digests than those of New.
type Parts struct {
	Identity flow.IdentityConfig
	Digester func() digest.MessageDigester // makes one for each batch that is under way
	Filter   engine.PacketFilter
	Across   bool                // the filter compares capture points
	Points   *flow.CapturePoints // of packets before; nil for none
	Within   flow.SightingConfig // the result of Within; without fields for all points
	// Only and Protect are those of Config.
	Only, Protect Chooser
}

// NewWith makes a Detector of parts, which it then owns.
func NewWith(p Parts) *Detector {
	if p.Points == nil {
		p.Points = flow.NewCapturePoints(nil)
	}
	d := &Detector{identity: p.Identity, digester: p.Digester, filter: p.Filter, across: p.Across, points: p.Points, within: p.Within, only: p.Only, protect: p.Protect}
	d.single = d.NewBatchDetector()
	return d
}

// Copies judges the packets of the next batch, and returns a bitmap of the copies, as
// capture.Writer takes it: bit i%64 of word i/64 is packet i. The bitmap is valid until the
// next call. How the stream is cut into batches does not matter.
func (d *Detector) Copies(b *capture.Batch) (drop []uint64) {
	d.single.Prepare(b)
	return d.single.Judge(b)
}

// Filter returns the filter.
func (d *Detector) Filter() engine.PacketFilter { return d.filter }

// Points returns the numbers of the capture points.
func (d *Detector) Points() *flow.CapturePoints { return d.points }

// Stats describes a Detector, its work so far, and the filter's.
type Stats struct {
	engine.PacketStats
	// Packets is how many packets came, whether they were judged or not.
	Packets uint64
	// Copies is how many of them were copies, without those that Protect keeps.
	Copies uint64
}

// Stats returns the counts. It must not be called while a batch is judged.
func (d *Detector) Stats() Stats {
	return Stats{PacketStats: d.filter.Stats(), Packets: d.packets, Copies: d.copies}
}

// count adds the verdicts of so many packets.
func (d *Detector) count(drop []uint64, packets int) {
	d.packets += uint64(packets)
	for _, word := range drop {
		d.copies += uint64(bits.OnesCount64(word))
	}
}

// Close releases the filter's memory. Stats still works.
func (d *Detector) Close() error {
	if d.hold == nil {
		return d.filter.Close()
	}
	return errors.Join(d.filter.Close(), d.hold.Close())
}

// Tasks returns what makes the tasks of a pipeline. They write the packets that are not
// copies to w. With KeepFlow or Intact, packets wait for better copies. When Pipeline.Run
// returns, all that was applied has been written.
func (d *Detector) Tasks(w capture.Writer) func() pipeline.Task {
	if d.hold == nil {
		return func() pipeline.Task { return &task{packets: d.NewBatchDetector(), to: w} }
	}
	return func() pipeline.Task { return &holdTask{task{packets: d.NewBatchDetector(), to: w}, d.hold.NewBatch()} }
}

// task is the work on one batch.
type task struct {
	packets *BatchDetector
	to      capture.Writer
	drop    []uint64
}

// Prepare decodes and digests the packets.
func (t *task) Prepare(b *capture.Batch) { t.packets.Prepare(b) }

// Apply judges the packets.
func (t *task) Apply(b *capture.Batch) error {
	t.drop = t.packets.Judge(b)
	return nil
}

// Write writes the packets that stay.
func (t *task) Write(b *capture.Batch) error { return t.to.Write(b, t.drop) }

// holdTask is a task whose packets wait.
type holdTask struct {
	task
	held *HoldBatch
}

// Prepare reads conversations and points too.
func (t *holdTask) Prepare(b *capture.Batch) { t.packets.prepare(b, t.held) }

// Apply judges the packets, and settles what waits.
func (t *holdTask) Apply(b *capture.Batch) error {
	t.packets.Judge(b)
	t.held.Apply(b, t.packets, nil)
	return nil
}

// Write writes what no longer waits.
func (t *holdTask) Write(b *capture.Batch) error { return t.held.Write(b, t.to.Write) }

// Finish writes what waits.
func (t *holdTask) Finish() error { return t.held.hold.Finish(t.to.Write) }
