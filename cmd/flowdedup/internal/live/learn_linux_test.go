// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// learnRun is a run that learns, and the packets that were sent to it.
type learnRun struct {
	*liveRun
	next   uint16
	frames uint64 // that were sent
	sent   []learnPacket
}

// learnPacket is a packet that was sent, and its copy, "" without one.
type learnPacket struct {
	texts [2]string
	fate  fate
}

// fate is what a run does with packets that come twice.
type fate int

const (
	stay  fate = iota // both, as the run has learned that there are no copies
	mayGo             // one may go: they were sent while the run was about to learn of copies
	goes              // one goes, unless the copy comes later than the window that was learned
)

// send sends packets, each twice if they are copied.
func (r *learnRun) send(n int, copied bool, copies fate) {
	r.T.Helper()
	var frames [][]byte
	for range n {
		f := clitest.Frame{ID: r.next, Src: byte(r.next % 7), TTL: 64, VLAN: 10}
		r.next++
		frames = append(frames, f.Bytes())
		p := learnPacket{[2]string{string(f.Bytes())}, copies}
		if copied {
			f.VLAN, f.TTL = 20, 63
			frames = append(frames, f.Bytes())
			p.texts[1] = string(f.Bytes())
		}
		r.sent = append(r.sent, p)
	}
	r.frames += uint64(len(frames))
	clitest.SendBytes(r.T, "right", frames...)
}

// learn sends packets until a run has learned what they are. A busy machine may not let it see
// enough of them in one inspection: it has others.
func (r *learnRun) learn(copied bool, verdict string) {
	r.T.Helper()
	for timeout := time.After(wait.Timeout); ; {
		r.send(20, copied, mayGo)
		select {
		case line, ok := <-r.Lines:
			if !ok {
				r.T.Fatalf("it ends before it has learned\n%s", r.Stderr.String())
			}
			if strings.Contains(line, " learned ") && strings.Contains(line, verdict) {
				return
			}
		case <-time.After(50 * time.Millisecond): // each burst takes a block of the ring
		case <-timeout:
			r.T.Fatal("it does not learn of ", verdict)
		}
	}
}

// TestLiveLearn lets a run find out three times what to remove: copies on another VLAN,
// nothing, and copies again. No packet is lost when it changes its mind.
func TestLiveLearn(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	kept := filepath.Join(t.TempDir(), "kept.pcapng")
	const n, span = 200, "1s"
	r := &learnRun{liveRun: startLive(t, "-i", "left", "-w", kept, "--json", "--learn", span, "--learn-every", "2s", "--ring-size", "64MiB")}
	for i, verdict := range []string{"nearly every packet twice", "no copies", "nearly every packet twice"} {
		found, copies := true, goes
		if i == 1 {
			found, copies = false, stay
		}
		r.Event("inspecting packets")
		r.learn(found, verdict)
		r.send(n, true, copies)
	}
	s := r.finish()
	got := clitest.FramesOf(t, kept)
	left, late := uint64(len(got)), 0
	for i, p := range r.sent {
		kept := 0
		for _, text := range p.texts {
			if text != "" && len(got) > 0 && got[0] == text {
				got = got[1:]
				kept++
			}
		}
		// Which of two stays is up to where the packets of a conversation are taken from.
		copied := p.texts[1] != ""
		if kept == 0 || copied && kept == 1 && p.fate == stay {
			t.Fatalf("%d are left of packet %d in their place, others %d and %d packets later (-1: nowhere)\n%s", kept, i,
				slices.Index(got, p.texts[0]), slices.Index(got, p.texts[1]), r.Stderr.String())
		}
		if kept == 2 && p.fate == goes {
			late++
		}
	}
	if len(got) > 0 || s.PacketsIn != r.frames || s.Duplicates != r.frames-left {
		t.Fatalf("%d packets are out of order, %d of %d left: %+v", len(got), left, r.frames, s)
	}
	if s.Learned.Decisions < 3 || s.Learned.Passed == 0 || !s.Learned.Dedup || s.Learned.Identity != "l3" {
		t.Errorf("%+v", s)
	}
	if len(s.Matrix) != 1 || s.Matrix[0].First != "left VLAN 10" || s.Matrix[0].Copy != "left VLAN 20" || s.Matrix[0].Count != s.Reasons["sampled"] {
		t.Errorf("matrix %+v of %v", s.Matrix, s.Reasons)
	}
	if late > n/2 {
		t.Errorf("%d copies of %d were kept", late, 2*n)
	}
}

// TestLearnUsage refuses what --learn chooses itself.
func TestLearnUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--learn", "1m", "--window", "1ms"}, {"--learn", "1m", "--identity", "l3"}, {"--learn", "1m", "--across"},
		{"--learn", "1m", "--state", "x"}, {"--learn-every", "1h"}, {"--learn", "0"}, {"--learn", "1m", "--method", "exact"},
	} {
		if _, errs, code := clitest.Run(append([]string{"live", "-i", "lo"}, args...)...); code != cli.ExitUsage || errs == "" {
			t.Errorf("%q: exit code %d, %s", args, code, errs)
		}
	}
}
