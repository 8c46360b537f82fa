// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// pair returns n packets at point 1 that are copies of packets at point 2 before them, and
// whether each is a copy. All are of the same conversation, whose home is point 1.
func pair(n int, time int64, delay time.Duration) (all []sighted, drop []bool) {
	one := sighted{digest: digest.Digest{1, 1}, conversation: 7, point: 1, time: time}
	all, drop = append(all, one), append(drop, false)
	for i := range n {
		d := digest.Digest{2, uint64(2 + i)}
		all = append(all, sighted{digest: d, conversation: 7, point: 2, time: time}, sighted{digest: d, conversation: 7, point: 1, time: time + int64(delay)})
		drop = append(drop, false, true)
	}
	return all, drop
}

// TestArrival settles packets by their arrival, and not by the packets after them.
func TestArrival(t *testing.T) {
	const ms = time.Millisecond
	now := time.Duration(0)
	h := testHold(t, Config{Flow: true, For: 2 * ms, Clock: func() time.Duration { return now }, Wait: 10 * ms}, Stream{})
	all, drop := pair(3, 1e9, ms)
	r := &heldRun{t: t, hold: h, all: all, drop: drop}
	x := h.NewBatch(nil)
	var b capture.Batch
	for i, step := range []struct {
		at       time.Duration
		from, to int
		written  int
	}{
		{0, 0, 2, 0}, {9 * ms, 2, 2, 0}, {9 * ms, 2, 4, 2}, {11 * ms, 4, 4, 2}, {19 * ms, 4, 4, 4},
		{30 * ms, 4, 6, 4}, {50 * ms, 6, 6, 6}, {60 * ms, 6, 7, 7},
	} {
		now = step.at
		r.batch(&b, step.from, step.to)
		r.apply(x, &b, step.from, step.to, false)
		if err := x.Write(&b, r.write); err != nil {
			t.Fatal(err)
		}
		if r.n != step.written {
			t.Errorf("step %d: %d packets written, want %d", i, r.n, step.written)
		}
	}
	if err := h.Finish(r.write); err != nil {
		t.Fatal(err)
	}
	// The better copies of the second pair and of the third come too late.
	if want := []bool{true, false, true, true, false, true, false}; !slices.Equal(r.keep, want) {
		t.Errorf("kept %v, want %v", r.keep, want)
	}
}

// TestEnds settles what waits where a stream ends, or has no times. One time that steps
// back settles nothing.
func TestEnds(t *testing.T) {
	all, drop := pair(2, 1e9, time.Microsecond)
	back := slices.Clone(all)
	back[4].time -= 2e9
	untimed := slices.Clone(all)
	for i := range untimed {
		untimed[i].time = calendar.NoTime
	}
	for name, c := range map[string]struct {
		all     []sighted
		keep    []bool
		written int // before the end
	}{
		"end":       {all, []bool{true, false, true, false, true}, 5},
		"lost":      {all[:4], []bool{true, false, true, true}, 3},
		"step back": {back, []bool{true, false, true, true, false}, 3},
		"untimed":   {untimed, []bool{true, true, false, true, false}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := &heldRun{t: t, hold: testHold(t, Config{Flow: true, For: time.Millisecond}, Stream{}), all: c.all, drop: drop}
			if keep := r.run(false, func() int { return 1 }); !slices.Equal(keep, c.keep) || r.before != c.written {
				t.Errorf("kept %v, %d written before the end", keep, r.before)
			}
		})
	}
}

// TestExchanged reports which packets replace which.
func TestExchanged(t *testing.T) {
	all, drop := pair(3, 1e9, time.Microsecond)
	for i := range all {
		all[i].size = i
	}
	var got [][2]uint32
	h := testHold(t, Config{Flow: true, For: time.Millisecond}, Stream{Exchanged: func(_ *capture.Batch, out, in *capture.Frame) {
		got = append(got, [2]uint32{out.CapLen - dataHead, in.CapLen - dataHead})
	}})
	(&heldRun{t: t, hold: h, all: all, drop: drop}).run(false, func() int { return 2 })
	if want := [][2]uint32{{1, 2}, {3, 4}, {5, 6}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestFails returns the error of a write, which ends all.
func TestFails(t *testing.T) {
	full := errors.New("full")
	all, drop := pair(2000, 1e9, time.Microsecond)
	r := &heldRun{t: t, hold: testHold(t, Config{Flow: true, For: time.Millisecond}, Stream{}), all: all, drop: drop}
	r.hold.limit = 1
	x := r.hold.NewBatch(nil)
	var b capture.Batch
	r.batch(&b, 0, len(all))
	r.apply(x, &b, 0, len(all), false)
	calls := 0
	fail := func(*capture.Batch, []uint64) error { calls++; return full }
	if err := errors.Join(x.Write(&b, fail), r.hold.Finish(fail)); !errors.Is(err, full) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// TestBlocks bounds what waits where blocks without packets come.
func TestBlocks(t *testing.T) {
	r := &heldRun{t: t, hold: testHold(t, Config{Flow: true, For: time.Hour}, Stream{}), all: make([]sighted, 1000), drop: make([]bool, 1000)}
	r.hold.limit = 1 << 20
	for i := range r.all {
		r.all[i].time, r.all[i].digest[1] = int64(i), uint64(i)
		r.all[i].conversation, r.all[i].point = 7, uint64(min(i, 1)) // the home is silent
	}
	x, bytes := r.hold.NewBatch(nil), 0
	var b capture.Batch
	for i := range r.all {
		r.batch(&b, i, i+1)
		block := make([]byte, 10_000)
		b.Blocks = append(b.Blocks, capture.Block{Type: capture.BlockCustom, Offset: uint32(len(b.Buf)), Len: uint32(len(block)), Before: uint32(i % 2)})
		b.Buf = append(b.Buf, block...)
		bytes += len(b.Buf)
		r.apply(x, &b, i, i+1, false)
		written := 0
		if err := x.Write(&b, func(b *capture.Batch, drop []uint64) error {
			written += len(b.Buf)
			return r.write(b, drop)
		}); err != nil {
			t.Fatal(err)
		}
		if bytes -= written; bytes > r.hold.limit+partBytes+len(block) {
			t.Fatalf("%d bytes wait", bytes)
		}
	}
	if r.hold.stats.Early == 0 {
		t.Error("all had memory")
	}
}

// TestMemory bounds the memory of sparse batches of a source, of which each has far more
// than the packets that wait.
func TestMemory(t *testing.T) {
	const records, chunk, memory = 70_000, 640 << 10, 32 << 20
	r := &heldRun{t: t, hold: testHold(t, Config{Flow: true, For: time.Hour}, Stream{}), all: make([]sighted, 1500), drop: make([]bool, 1500)}
	for i := range r.all {
		r.all[i].time, r.all[i].digest[1] = int64(i), uint64(i)
		r.all[i].conversation, r.all[i].point, r.all[i].size = 7, uint64(min(i, 1)), records
	}
	x, chunks := r.hold.NewBatch(nil), 0
	var b capture.Batch
	for i := range r.all {
		if b.SourceState == nil {
			b.SourceState = new([chunk]byte)
			chunks++
		}
		r.batch(&b, i, i+1)
		r.apply(x, &b, i, i+1, false)
		if err := x.Write(&b, r.write); err != nil {
			t.Fatal(err)
		}
	}
	if most := memory/chunk + 2; r.hold.bytes < memory || chunks > most {
		t.Errorf("the source has %d batches where %d bytes wait, want %d at most", chunks, r.hold.bytes, most)
	}
	if err := r.hold.Finish(r.write); err != nil || r.n != len(r.all) {
		t.Errorf("%d packets were written: %v", r.n, err)
	}
}

// TestCandidates fills the table beyond its limit, with tags of a single line.
func TestCandidates(t *testing.T) {
	c := newCandidates()
	for i := range uint64(candidateCells) {
		if c.enter(i<<40, i, 1, 0) {
			t.Error("a line has less room")
		}
	}
	if c.enter(9<<40, 9, 1, 1) || len(c.lines) != leastCandidateLines {
		t.Error("a settled packet takes room")
	}
	if !c.enter(10<<40, 10, 1, 1) || len(c.lines) != mostCandidateLines {
		t.Error("the table did not grow, or a packet was settled in silence")
	}
	for i, want := range map[uint64]bool{0: false, 1: false, 2: true, 3: true, 9: true, 10: true} {
		if (c.find(i<<40) != nil) != want {
			t.Errorf("candidate %d: want %v", i, want)
		}
	}
	c.forget(2 << 40)
	if c.find(2<<40) != nil {
		t.Error("a forgotten candidate was found")
	}
}
