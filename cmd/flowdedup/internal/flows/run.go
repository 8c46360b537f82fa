// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/mirror"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/records/relay"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows/text"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// run judges records until the inputs end or ctx is done. The summary is valid with every
// error, and has no policy if nothing was opened.
func run(ctx context.Context, cfg *config) (summary, error) {
	return (&runner{cfg: cfg, begin: time.Now(), lastReads: lastReads}).run(ctx)
}

func (r *runner) run(ctx context.Context) (summary, error) {
	cfg := r.cfg
	cfg.Match.Memory = cfg.shares().judge
	defer r.closeInputs()
	if err := r.open(ctx); err != nil {
		return summary{}, errors.Join(err, r.end(false))
	}
	err := r.each(ctx)
	if r.hold != nil && !errors.Is(err, sink.ErrOutput) {
		err = errors.Join(err, r.hold.Flush())
	}
	if r.distinct != nil {
		err = errors.Join(err, r.distinct.end())
	}
	clean := err == nil || cfg.live() && errors.Is(err, context.Canceled)
	if capture.IsDamage(err) {
		r.damaged.Store(true)
	}
	s := r.summary()
	if err == nil || errors.Is(err, context.Canceled) {
		err = errors.Join(err, r.saveLast())
	}
	err, s.Elsewhere = errors.Join(err, r.end(clean && !s.Damaged)), r.output.elsewhere()
	return s, err
}

// summary returns the summary so far.
func (r *runner) summary() summary {
	s := newSummary(r.cfg, r.judge, &r.names, r.counts, time.Since(r.begin))
	s.Damaged, s.badLines = r.damaged.Load() || r.badLines > 0, r.badLines
	s.Unread, s.Untimed = unreadOf(r.values, &r.counts), r.untimed
	s.MemoryLimit = r.cfg.Memory
	s.MemoryBytes = r.judge.Bytes() + r.judge.PointBytes() + r.readerBytes
	if r.hold != nil {
		s.MemoryBytes += r.hold.Bytes()
		s.Early = r.hold.Early()
	}
	if r.distinct != nil {
		s.Late = r.distinct.late
		s.MemoryLimit += r.cfg.Distinct.Budget
		s.MemoryBytes += r.distinct.bytes()
	}
	if r.sender != nil {
		sent := r.sender.Stats()
		s.Relayed = &relaySummary{r.cfg.Relay, sent.Sent, sent.Bytes, sent.Failed, sent.Own}
	}
	if r.inspector != nil {
		s.Inspection = r.inspector.answer(r.cfg, &s)
	}
	s.Dropped = r.unread
	for _, socket := range r.sockets {
		for _, target := range socket.Stats() {
			for i := range target.Sockets {
				s.Dropped += target.Sockets[i].Dropped
			}
		}
	}
	r.addPeers(&s)
	if r.state != nil && r.state.failed != "" {
		s.Failing = append(s.Failing, "state "+r.cfg.State+": "+r.state.failed)
	}
	return s
}

// addPeers adds the counts of peers of all addresses, and names the addresses that accept no peers.
func (r *runner) addPeers(s *summary) {
	for i, receiver := range r.receivers {
		of := receiver.Stats()
		if s.ReceiverStats == nil {
			s.ReceiverStats = new(pcapoverip.ReceiverStats)
		}
		s.Peers += of.Peers
		s.Connected += of.Connected
		s.PeersDropped += of.PeersDropped
		if of.Full != "" {
			s.Failing = append(s.Failing, fmt.Sprintf("input %v accepts no peers: %s", r.cfg.Streams[i], of.Full))
		}
	}
}

// tick does the work that depends on the wall clock.
func (r *runner) tick(now time.Time) {
	r.save(now)
	if r.cfg.Status == nil || now.Sub(r.statusAt) < time.Second {
		return
	}
	r.statusAt = now
	s := r.summary()
	r.cfg.Status(&s)
}

// runner has the open resources of a run.
type runner struct {
	cfg      *config
	begin    time.Time
	statusAt time.Time // when the status was last reported
	reader   records.Reader
	// messages reads messages of exporters; nil if all inputs are text.
	messages  *export.Reader
	state     *state // nil for none
	inputs    []io.Closer
	judge     *match.Judge
	names     names
	hold      *match.Hold // nil if nothing is written
	output    *output
	distinct  *keyCounts // nil without keys
	inspector *inspector // nil without config.Inspect
	cutter    *relay.Cutter
	sender    *relay.Sender
	cut       []byte
	shared    *relay.Shared  // that a warning was about
	counts    records.Counts // as of the last batch
	// readerBytes is the memory of messages, as of then.
	readerBytes int
	texts       []*text.Reader // inputs
	badLines    uint64         // records of these that are damaged
	values      []text.Unread  // of these that could not be read, as of the last batch
	untimed     uint64         // records that are in no window, as they have no time
	both        bool           // an input reports both directions in one record
	damaged     atomic.Bool
	sockets     []*mirror.Capture      // none for inputs
	receivers   []*pcapoverip.Receiver // of config.Streams
	unread      uint64                 // messages that had come at the end, and were not read
	lastReads   time.Duration          // lastReads, and 0 in a test
	judging     sync.Mutex             // held while batches are judged, and guards left
	left        bool                   // a read that did not end was left behind
	until       time.Time              // end of lastReads; zero before the run was asked to end
	reads       int                    // reads since then
}

func (r *runner) open(ctx context.Context) (err error) {
	if err := r.openInputs(ctx); err != nil {
		return err
	}
	r.cfg.Match.MayBiflow, r.cfg.Match.Archives = !r.cfg.KeyGiven, !r.cfg.live()
	if r.both && !r.cfg.KeyGiven {
		r.cfg.Match.Key.Biflow = true
	}
	if r.cfg.State != "" {
		if err := r.resume(); err != nil {
			return err
		}
	}
	if r.judge == nil {
		if r.judge, err = match.New(r.cfg.Match); err != nil {
			return err
		}
	}
	r.names.judge, r.names.byInput = r.judge, r.cfg.Match.Points == match.Same
	if r.cfg.Relay != "" {
		r.cutter = relay.NewCutter()
		if r.sender, err = relay.OpenSender(r.cfg.Relay, r.cfg.Spoof); err != nil {
			return err
		}
	}
	if r.cfg.Inspect {
		if r.inspector, err = newInspector(r.cfg.Match, r.cfg.shares().hold); err != nil {
			return err
		}
	}
	if len(r.cfg.Distinct.Keys) > 0 {
		r.distinct = newCounts(&r.cfg.Distinct, r.cfg.Match.Secret)
		r.distinct.live = r.cfg.live()
	}
	return r.openHold(ctx)
}

// openHold opens the output, if there is one, and what holds its records.
func (r *runner) openHold(ctx context.Context) (err error) {
	if r.cfg.Output == "" {
		return nil
	}
	if r.output, err = openOutput(ctx, r.cfg, &r.names); err != nil {
		return err
	}
	r.hold = match.NewHold(match.HoldConfig{
		Window: r.cfg.Window, Merge: r.cfg.Policy == merge, Mark: r.cfg.Policy == mark, Memory: r.cfg.shares().hold, Emit: r.output.put,
	})
	return nil
}

// take judges a batch, and gives it to the outputs.
func (r *runner) take(b *records.Batch) error {
	switch {
	case b.Kind == 0:
		return r.idle()
	case b.Replayed: // the network brought it twice
		return nil
	}
	verdicts, judgments := r.judge.Judge(b)
	if r.inspector != nil {
		r.inspector.take(b)
	}
	r.forward(b, verdicts)
	if err := r.count(b, verdicts, judgments); err != nil {
		return err
	}
	if r.hold == nil {
		return nil
	}
	return r.hold.Add(b, verdicts, judgments)
}

// forward sends the rest of a message. Collectors come and go, so a message that is not taken
// is counted, and only the first is warned about.
func (r *runner) forward(b *records.Batch, verdicts []records.Verdict) {
	if r.sender == nil {
		return
	}
	r.cut = r.cutter.Cut(r.cut[:0], b, verdicts)
	if now := r.cutter.Shared(); now != r.shared && !r.cfg.Spoof {
		r.shared = now
		r.cfg.Log.Warn(fmt.Sprintf("%v and %v both export observation domain %d: without --spoof the collector takes them for one exporter, and may read records of one by a template of the other",
			now.Exporters[0], now.Exporters[1], now.Domain))
	}
	if len(r.cut) == 0 {
		return
	}
	if err := r.sender.Send(b.From, r.cut); err != nil && r.sender.Stats().Failed == 1 {
		r.cfg.Log.Warn(err.Error() + "; messages that are not taken are counted")
	}
}

// idle writes waiting records while nothing comes.
func (r *runner) idle() error {
	if r.distinct != nil {
		if err := r.distinct.advance(time.Now().UnixNano(), r.judge.Alive()); err != nil {
			return err
		}
	}
	if r.hold == nil {
		return nil
	}
	now := time.Now()
	if err := r.hold.Advance(now.UnixNano()); err != nil {
		return err
	}
	return r.output.idle(now)
}

// end completes the outputs.
func (r *runner) end(clean bool) error {
	var errs []error
	if r.output != nil {
		errs = append(errs, r.output.close(clean))
	}
	if r.sender != nil {
		errs = append(errs, r.sender.Close())
	}
	if r.judge != nil {
		errs = append(errs, r.judge.Close())
	}
	if r.inspector != nil {
		errs = append(errs, r.inspector.close())
	}
	return errors.Join(errs...)
}

func (r *runner) closeInputs() {
	for _, in := range r.inputs {
		_ = in.Close() // everything was read, or the run failed
	}
}
