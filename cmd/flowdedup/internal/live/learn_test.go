// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/capture/traits"
	measure "github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/window"
)

// sighting is a packet at a place in a stream. Packets with the same number are copies of
// each other, on one of two VLANs. Of five conversations, each has its home on one.
type sighting struct {
	number    uint16
	vlan, ttl byte
}

func (s sighting) bytes() []byte {
	f := lab.NewFrame(lab.MinFrame)
	ip := f[14:]
	binary.BigEndian.PutUint16(ip[4:], s.number)
	ip[8], ip[15] = s.ttl, byte(s.number%5)
	return append(append(f[:12:12], 0x81, 0, 0, s.vlan), f[12:]...)
}

// scripted delivers a stream in batches of random size, and decides at random how to treat the
// next ones.
type scripted struct {
	liveCapture
	rng    *rand.Rand
	tables capture.Batch // of interfaces
	stream []sighting
	sent   int
	learn  *learner
	last   *choice
}

func (*scripted) Stats() []afpacket.Stats { return nil }

func (s *scripted) Next(b *capture.Batch) error {
	b.Reset()
	if s.sent == len(s.stream) {
		return io.EOF
	}
	if s.rng.IntN(4) == 0 && len(s.learn.decided) == 0 {
		d := &decision{choice: learnedChoices[s.rng.IntN(len(learnedChoices))]}
		if s.last == nil || *s.last != d.choice {
			s.last = &d.choice
			s.learn.prepare(d)
			s.learn.decided <- d
		}
	}
	if s.sent == 0 {
		b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, TicksPerSecond: 1e9})
		s.tables.Interfaces, s.tables.Sections = b.Interfaces, b.Sections
	}
	b.Interfaces, b.Sections = s.tables.Interfaces, s.tables.Sections
	for range min(1+s.rng.IntN(40), len(s.stream)-s.sent) {
		b.Append(capture.Frame{Time: 1.7e18 + int64(s.sent)*1000}, s.stream[s.sent].bytes())
		s.sent++
	}
	return nil
}

// learnedChoices are what may be decided.
var learnedChoices = []choice{
	{}, {dedup: true, identity: identity.L3, window: time.Second}, {dedup: true, identity: identity.Inner, window: time.Minute},
}

// judgedTask notes by which phase the packets of a stream are judged.
type judgedTask struct {
	*task
	by *[]*phase // for each packet
}

func (t judgedTask) Judge(b *capture.Batch) error {
	err := t.task.Judge(b)
	for range b.Frames {
		*t.by = append(*t.by, t.phase)
	}
	return err
}

// newLearningRun makes a run whose packets come from nowhere, and which looks at none.
func newLearningRun(t *testing.T, kept string) *runner {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	cfg := &config{Log: log, Ring: afpacket.Config{BlockTimeout: time.Hour}, Dedup: dedup.Config{
		Method: "auto", Memory: 1 << 20, Window: window.Window{None: true}, Digest: "aes", Secret: engine.Secret{1}, Live: true, Choice: dedup.Choice{Flow: true},
	}}
	cfg.Learn = learnConfig{
		For: time.Hour, Every: time.Hour, Hold: func(window.Window) time.Duration { return time.Second },
		Intact: func(identity.Config) bool { return false },
	}
	r := &runner{cfg: cfg, log: log, begin: time.Now(), diffs: traits.NewCounter(nil)}
	r.outputs = sink.New(t.Context(), sink.Config{Kept: kept, Live: true, Stop: func() {}, Log: log})
	if err := errors.Join(r.openFilter(t.Context(), nil, nil), r.outputs.OpenFiles(t.Context())); err != nil {
		t.Fatal(err)
	}
	r.ticker = newTicker(r)
	return r
}

// TestLearnChanges changes what a run does while packets of the decision before wait for
// better copies, and others are prepared. Each packet is judged by one decision: those without
// copies to remove all stay, and of equal packets that others judge one stays. They leave in
// their order.
func TestLearnChanges(t *testing.T) {
	seed := rand.Uint64()
	for round := range uint64(10) {
		for _, workers := range []int{1, 2, 4} {
			t.Logf("seed %d, round %d, %d workers", seed, round, workers)
			learnChanges(t, rand.New(rand.NewPCG(seed, round)), workers)
		}
	}
}

func learnChanges(t *testing.T, rng *rand.Rand, workers int) {
	kept := filepath.Join(t.TempDir(), "kept.pcapng")
	r := newLearningRun(t, kept)
	r.learner.next = time.Now().Add(time.Hour) // it only does what the script decides
	src := &scripted{rng: rng, learn: r.learner}
	for i := range uint16(1000) {
		src.stream = append(src.stream, sighting{i, byte(rng.IntN(2)), 64})
		if back := uint16(rng.IntN(4)); back < 3 && back <= i { // a copy, which may be from home
			src.stream = append(src.stream, sighting{i - back, byte(rng.IntN(2)), byte(1 + back)})
		}
	}
	r.capture = src
	var by []*phase
	err := pipeline.New(src).Run(context.Background(), workers, func() pipeline.Task { return judgedTask{newTask(r), &by} })
	if err := errors.Join(err, r.end()); err != nil {
		t.Fatal(err)
	}
	checkLearned(t, src.stream, by, kept)
	if n := r.summary(); n.PacketsIn != uint64(len(src.stream)) || n.Learned.Decisions < 3 {
		t.Errorf("%d of %d packets, %+v", n.PacketsIn, len(src.stream), n.Learned)
	}
}

// checkLearned compares what was kept of a stream with the phases that have judged it.
func checkLearned(t *testing.T, stream []sighting, by []*phase, kept string) {
	t.Helper()
	type group struct {
		by     *phase
		number uint16
	}
	left, places := map[group]int{}, map[string]int{}
	for i, s := range stream {
		places[string(s.bytes())] = i
		if g := (group{by[i], s.number}); by[i].cfg.Pass {
			left[g]++
		} else {
			left[g] = 1
		}
	}
	f, err := pcapfile.Open(kept, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	last, better := -1, 0
	for b := (capture.Batch{}); f.Next(&b) == nil; {
		for i := range b.Frames {
			at, ok := places[string(b.Data(i))]
			if !ok || at <= last {
				t.Fatalf("packet %d behind %d", at, last)
			}
			last = at
			if stream[at].ttl < 64 && !by[at].cfg.Pass {
				better++
			}
			left[group{by[at], stream[at].number}]--
		}
	}
	if better == 0 {
		t.Error("no better copy was kept")
	}
	for g, n := range left {
		if n != 0 {
			t.Fatalf("%d packets too few are left of number %d (pass %v)", n, g.number, g.by.cfg.Pass)
		}
	}
}

// TestLearnLate begins no inspection while the decision of the one before is made ready:
// they could take effect in another order.
func TestLearnLate(t *testing.T) {
	r := newLearningRun(t, filepath.Join(t.TempDir(), "kept.pcap"))
	r.capture = &scripted{}
	release := make(chan struct{})
	l := r.learner
	l.cfg.Hold = func(window.Window) time.Duration { <-release; return time.Second }
	before, now := r.phase.Load(), time.Now()
	l.decide(&decision{choice: learnedChoices[1]})
	if l.tick(now); l.inspector.Load() != nil || r.phase.Load() != before {
		t.Error("it inspects while a decision is made ready")
	}
	close(release)
	wait.Until(t, "the decision to be ready", func() bool { return len(l.decided) > 0 })
	if l.tick(now); l.learned.Decisions != 1 || r.phase.Load() == before {
		t.Errorf("%+v", l.learned)
	}
	if l.tick(now); l.inspector.Load() == nil {
		t.Error("no other inspection")
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

// TestLearnConclusions keeps all packets where nobody can tell what copies are, and where a network
// repeats packets. It does not say that there are no copies.
func TestLearnConclusions(t *testing.T) {
	for _, r := range []*measure.Report{
		{Findings: measure.Findings{Packets: 100, Conclusion: measure.CannotTell}, Doubts: measure.Doubts{NonIP: 60, Unopened: map[string]uint64{"mpls": 60}}},
		{Findings: measure.Findings{Packets: 100, Equal: 99, Looped: 99, Loops: []measure.Loop{{Kind: measure.RoutingLoop, Most: 100, Different: 1}}, Conclusion: measure.Loops}},
	} {
		n := learnedOf(r, &dedup.Choice{})
		if n.Conclusion != string(r.Conclusion) || n.Dedup || choiceOf(&r.Recommendation).dedup || strings.Contains(n.Verdict, "no copies") {
			t.Errorf("%+v", n)
		}
	}
}
