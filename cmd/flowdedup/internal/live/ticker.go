// SPDX-License-Identifier: Apache-2.0

package live

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
)

const (
	// every is the interval of statuses.
	every = time.Second
	// grace is how long a window stays open after its end for late packets: many times
	// the delay of ring blocks.
	grace = 2 * time.Second
)

// ringName identifies a ring. There may be more rings later: of an interface that has got more
// queues.
type ringName struct {
	iface  string
	number int
}

// ticker does the work that depends on the clock.
type ticker struct {
	run  *runner
	now  time.Time // as of the last batch
	next time.Time
	// slides is when the next counts over the past span are due.
	slides time.Time
	last   map[ringName]afpacket.Stats // as of the last look
	// undecidable says that undecidable packets were reported, cut that packets were cut in
	// different places.
	undecidable, cut bool
	// merged says that merged packets were reported, unfilled that unfilled checksums were.
	merged, unfilled bool

	status    chan monitor.Status // holds at most one status
	published chan struct{}       // closed after the last status
}

func newTicker(r *runner) *ticker {
	w := &ticker{run: r, now: time.Now(), last: map[ringName]afpacket.Stats{}, status: make(chan monitor.Status, 1), published: make(chan struct{})}
	go w.publish()
	return w
}

// publish passes statuses to config.Status, in its own goroutine so that a slow receiver
// delays no packets.
func (w *ticker) publish() {
	defer close(w.published)
	for s := range w.status {
		if w.run.cfg.Status != nil {
			w.run.cfg.Status(s)
		}
	}
}

// tick does periodic work that is due. It is called after each batch, in the order of the
// stream.
func (w *ticker) tick(now time.Time) error {
	w.now = now
	if now.Before(w.next) {
		return nil
	}
	w.next = now.Add(every)
	w.logRings()
	if c := w.run.counter; c != nil {
		if err := c.Expire(now.Add(-w.run.cfg.grace()).UnixNano()); err != nil {
			return err
		}
	}
	if err := w.slide(now); err != nil {
		return err
	}
	s := w.statusAt(now)
	select {
	case w.status <- s:
	default:
	}
	return nil
}

// statusAt returns the state of the run. It says once what truncated packets make impossible.
func (w *ticker) statusAt(now time.Time) monitor.Status {
	sum := w.run.summary()
	w.logTruncated(&sum)
	return w.run.status(now, sum)
}

// logTruncated says once that packets could not be judged, and that copies may remain.
func (w *ticker) logTruncated(s *monitor.Summary) {
	if s.Undecidable > 0 && !w.undecidable {
		w.undecidable = true
		w.run.log.Warn("packets were truncated too short to distinguish copies from other packets of their flow, and stay: "+
			"use a larger --snaplen, or --across where copies come from another interface", "packets", s.Undecidable)
	}
	if err := dedup.CutWarning(&s.Summary); err != nil && !w.cut {
		w.cut = true
		w.run.log.Warn(err.Error())
	}
}

// isDue reports whether the moment next has come. It has, too, if next is more than every ahead: the
// clock was set back.
func isDue(now, next time.Time, every time.Duration) bool {
	ahead := next.Sub(now)
	return ahead <= 0 || ahead > every
}

// slide reports the counts over the past span, at each multiple of the slide.
func (w *ticker) slide(now time.Time) error {
	r := w.run
	if r.counter == nil || r.cfg.Slide <= 0 || !isDue(now, w.slides, r.cfg.Slide) {
		return nil
	}
	first := w.slides.IsZero()
	w.slides = now.Truncate(r.cfg.Slide).Add(r.cfg.Slide)
	if first {
		return nil
	}
	return r.reports.past(now, r.cfg.Distinct.Past, r.counter.Past(now.UnixNano()))
}

// logRings logs changes at the rings since its last call.
func (w *ticker) logRings() {
	now := w.run.capture.Stats()
	for i := range now {
		s, name := &now[i], ringName{now[i].Interface, now[i].Ring}
		before := w.last[name]
		w.last[name] = *s
		log := w.run.log.With("interface", s.Interface, "ring", s.Ring)
		logLosses(log, &before, s)
		switch {
		case s.Down && (s.Outages > before.Outages || s.Away != before.Away):
			logDown(log, s)
		case !s.Down && s.Outages > before.Outages:
			log.Warn("interface was down or gone for a moment")
		case !s.Down && before.Down:
			log.Info("interface is back")
		}
		w.logOffloads(log, s)
	}
}

// logOffloads warns, once for each offload of the host, that captured packets differ from the wire.
func (w *ticker) logOffloads(log *slog.Logger, s *afpacket.Stats) {
	if s.Coalesced > 0 && !w.merged {
		w.merged = true
		log.Warn("the host merges packets before they are captured (GRO), or has not split its own yet (TSO), and copies that it merges otherwise stay: " +
			afpacket.NotMerging)
	}
	id := &w.run.cfg.Dedup.Identity
	compared := id.Ignore.Apply(id.Kind)&(identity.L4Checksum|identity.NAT) == 0
	if s.ChecksumOffloaded > 0 && !w.unfilled && compared && w.run.cfg.Learn.For == 0 {
		w.unfilled = true
		log.Warn("packets of this host were captured before their checksum was filled in, and copies with the right one stay: " +
			"use --ignore l4-checksum where copies come from elsewhere")
	}
}

// logDown logs that an interface is down or gone. If it never was there, its name may be mistyped.
func logDown(log *slog.Logger, s *afpacket.Stats) {
	_, err := afpacket.LinkTypeOf(s.Interface, false)
	if s.Outages == 0 && errors.Is(err, afpacket.ErrNoInterface) {
		log.Warn("interface is not there yet", "error", cli.NameInterfaces(err))
		return
	}
	log.Warn("interface is down or gone", "reason", s.Away)
}

// end publishes the last status.
func (w *ticker) end() {
	w.logRings()
	s := w.statusAt(time.Now())
	s.Stopping = true
	w.status <- s
	close(w.status)
	<-w.published
}

// logLosses logs what was lost at a ring since the last time, by its cause.
func logLosses(log *slog.Logger, before, s *afpacket.Stats) {
	for _, lost := range []struct {
		now, before uint64
		what        string
		more        []any
	}{
		{s.Full(), before.Full(), "the kernel dropped packets: the ring was full", []any{"freezes", s.Freezes}},
		{s.TooLong, before.TooLong, "the kernel dropped packets: they were longer than the MTU allows for", nil},
		{s.ToHost, before.ToHost, "the host got packets instead of the capture: the interface has more receive queues, or another MTU", nil},
		{s.Card.Lost(), before.Card.Lost(), "the network card or the host lost packets before the capture", []any{"counters", s.Card.String()}},
	} {
		if lost.now > lost.before {
			log.Warn(lost.what, append([]any{"dropped", lost.now - lost.before, "dropped_total", lost.now}, lost.more...)...)
		}
	}
}

// warnLosses warns of everything that was lost at an interface, by its cause.
func warnLosses(e *cli.Env, n *monitor.Interface) {
	if full := n.Dropped - n.TooLong - n.ToHost; full > 0 {
		e.Warn(fmt.Errorf("%s: the kernel dropped %d of %d packets because a %s was full: use a larger --ring-size",
			n.Name, full, n.Received, bufferOf(n)))
	}
	if n.TooLong > 0 {
		e.Warn(fmt.Errorf("%s: the kernel dropped %d of %d packets because they were longer than the MTU allows for: ethtool -K %s gro off lro off, if the host merges packets, else a larger MTU",
			n.Name, n.TooLong, n.Received, n.Name))
	}
	if n.ToHost > 0 {
		e.Warn(fmt.Errorf("%s: the host got %d of %d packets, as the interface had other queues or another MTU than before", n.Name, n.ToHost, n.Received))
	}
	if n.CardDropped > 0 {
		e.Warn(fmt.Errorf("%s: the network card or the host lost at least %d packets before the capture: %s", n.Name, n.CardDropped, n.Card))
	}
}

// bufferOf names the buffer that packets wait in.
func bufferOf(n *monitor.Interface) string {
	if n.Network != nil && n.Mirrored != nil {
		return "socket"
	}
	return "ring"
}
