// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/records/relay"
)

// judging decides which records are copies, and gives records and messages to what takes them. All
// fields but the first three are nil unless the configuration asks for them.
type judging struct {
	cfg   *config
	match *match.Judge
	names names

	inspector *inspector
	relay     *forwarder
	distinct  *keyCounts
	hold      *match.Hold // waits with records until their copies have come
	output    *output
}

// open opens all that takes records of inputs with these names.
func (j *judging) open(ctx context.Context, inputs []string) (err error) {
	cfg := j.cfg
	if j.match == nil {
		if j.match, err = match.New(cfg.Match); err != nil {
			return err
		}
	}
	j.names = names{judge: j.match, inputs: inputs, byInput: cfg.Match.Points == match.Same}
	if cfg.Relay != "" {
		if j.relay, err = newForwarder(cfg); err != nil {
			return err
		}
	}
	if cfg.Inspect {
		if j.inspector, err = newInspector(cfg.Match, cfg.shares().hold); err != nil {
			return err
		}
	}
	if len(cfg.Distinct.Keys) > 0 {
		j.distinct = newCounts(&cfg.Distinct, cfg.Match.Secret)
		j.distinct.live = cfg.live()
	}
	if cfg.Output == "" {
		return nil
	}
	if j.output, err = openOutput(ctx, cfg, &j.names); err != nil {
		return err
	}
	j.hold = match.NewHold(match.HoldConfig{
		Window: cfg.Window, Merge: cfg.Policy == merge, Mark: cfg.Policy == mark, Memory: cfg.shares().hold, Emit: j.output.put,
	})
	return nil
}

// take judges a batch.
func (j *judging) take(b *records.Batch) error {
	switch {
	case b.Kind == 0:
		return j.idle(time.Now())
	case b.Replayed: // the network brought it twice
		return nil
	}
	verdicts, judgments := j.match.Judge(b)
	if j.inspector != nil {
		j.inspector.take(b)
	}
	if j.relay != nil {
		j.relay.take(b, verdicts)
	}
	if j.distinct != nil {
		if err := j.distinct.take(b, verdicts, judgments, j.match); err != nil {
			return err
		}
	}
	if j.hold == nil {
		return nil
	}
	return j.hold.Add(b, verdicts, judgments)
}

// idle lets windows and records go whose time is over, while nothing comes.
func (j *judging) idle(now time.Time) error {
	if j.distinct != nil {
		if err := j.distinct.advance(now.UnixNano(), j.match.Alive()); err != nil {
			return err
		}
	}
	if j.hold == nil {
		return nil
	}
	if err := j.hold.Advance(now.UnixNano()); err != nil {
		return err
	}
	return j.output.idle(now)
}

// flush lets all go that waits at the end of the inputs. After an error of the output, records
// stay.
func (j *judging) flush(withRecords bool) (err error) {
	if j.hold != nil && withRecords {
		err = j.hold.Flush()
	}
	if j.distinct != nil {
		err = errors.Join(err, j.distinct.end())
	}
	return err
}

// close completes the outputs, as far as they were opened.
func (j *judging) close(clean bool) error {
	var errs []error
	if j.output != nil {
		errs = append(errs, j.output.close(clean))
	}
	if j.relay != nil {
		errs = append(errs, j.relay.sender.Close())
	}
	if j.match != nil {
		errs = append(errs, j.match.Close())
	}
	if j.inspector != nil {
		errs = append(errs, j.inspector.close())
	}
	return errors.Join(errs...)
}

// forwarder sends messages without copies to a collector.
type forwarder struct {
	cfg    *config
	cutter *relay.Cutter
	sender *relay.Sender
	cut    []byte
	shared *relay.Shared // the exporters of the last warning
}

func newForwarder(cfg *config) (*forwarder, error) {
	sender, err := relay.OpenSender(cfg.Relay, cfg.Spoof)
	if err != nil {
		return nil, err
	}
	return &forwarder{cfg: cfg, cutter: relay.NewCutter(), sender: sender}, nil
}

// take sends the rest of a message. Collectors come and go, so messages that they do not take are
// counted, and only the first is warned about.
func (f *forwarder) take(b *records.Batch, verdicts []records.Verdict) {
	f.cut = f.cutter.Cut(f.cut[:0], b, verdicts)
	if now := f.cutter.Shared(); now != f.shared && !f.cfg.Spoof {
		f.shared = now
		f.cfg.Log.Warn(fmt.Sprintf("%v and %v both export observation domain %d: without --spoof the collector takes them for one exporter, and may read records of one by a template of the other",
			now.Exporters[0], now.Exporters[1], now.Domain))
	}
	if len(f.cut) == 0 {
		return
	}
	if err := f.sender.Send(b.From, f.cut); err != nil && f.sender.Stats().Failed == 1 {
		f.cfg.Log.Warn(err.Error() + "; messages that are not taken are counted")
	}
}
