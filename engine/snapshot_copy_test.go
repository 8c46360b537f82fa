package engine

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"
)

func never() bool { return false }

// copyOf records the snapshots of filters, and begins to copy them.
func copyOf(t *testing.T, c *SnapshotCopy, filters ...snapshotter) {
	t.Helper()
	c.Reset()
	for _, f := range filters {
		if err := f.Snapshot(c, snapshotSecret, snapshotLabel); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Reserve(c.Lines(), never); err != nil {
		t.Fatal(err)
	}
	if !c.Start() {
		t.Fatal("no room")
	}
}

func copied(t *testing.T, c *SnapshotCopy) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := c.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatalf("%d of %d bytes, %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// TestSnapshotCopyPackets copies packet filters while they go on: what comes out is what they
// held at the start, to the last bit, whenever it is written.
func TestSnapshotCopyPackets(t *testing.T) {
	const memory = 1<<20 + 64 // more than one part, and no whole words
	s := randomPackets(61, 40_000, clocks(100_000)["jumps"])
	for name, filter := range map[string]PacketFilter{
		"timed":          newTimed(t, TimedConfig{Window: Window{Duration: time.Second}, Memory: memory, Across: true}),
		"timed, growing": newTimed(t, TimedConfig{Window: Window{Duration: time.Hour}, Memory: memory, Limit: 64 << 20}),
		"timed, count":   newTimed(t, TimedConfig{Window: Window{Packets: 5000}, Memory: memory}),
		"timers":         newTimers(t, TimersConfig{Window: Window{Duration: time.Second}, Memory: memory}),
		"lru":            &StreamPackets{mustStream(t, StreamConfig{Method: "lru", Memory: memory})},
		"sbf":            &StreamPackets{mustStream(t, StreamConfig{Method: "sbf", Memory: memory})},
	} {
		var c SnapshotCopy
		at := 0
		next := func(n int) {
			part := &packetStream{s.digests[at : at+n], s.times[at : at+n], s.points[at : at+n]}
			part.verdicts(filter, 300)
			at += n
		}
		next(10_000)
		for round := range 3 {
			want := snapshotOf(t, filter.(snapshotter))
			copyOf(t, &c, filter.(snapshotter))
			parts := 1
			for next(700 * (1 - round%2)); !c.Copy(0) && parts < 12; next(700) {
				parts++
			}
			next(1000)
			for !c.Copy(0) {
			}
			if got := copied(t, &c); !bytes.Equal(got, want) {
				t.Errorf("%s, round %d: another copy", name, round)
			}
			if parts < 5 {
				t.Errorf("%s: %d parts: that tests nothing", name, parts)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSnapshotCopyAll copies filters of every kind, and writes them without a copy, one behind the
// other, and some are closed meanwhile.
func TestSnapshotCopyAll(t *testing.T) {
	var c, direct SnapshotCopy
	var want bytes.Buffer
	var all []snapshotter
	for _, f := range snapshotFilters(t) {
		all = append(all, f)
		want.Write(snapshotOf(t, f))
		if err := f.Snapshot(&direct, snapshotSecret, snapshotLabel); err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []io.Writer{&want, &direct} {
		to.Write([]byte("between"))
	}
	if !bytes.Equal(copied(t, &direct), want.Bytes()) {
		t.Error("not copied: others than of Snapshot")
	}
	copyOf(t, &c, all...)
	c.Write([]byte("between"))
	for _, f := range all {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for !c.Copy(0) {
	}
	if !bytes.Equal(copied(t, &c), want.Bytes()) {
		t.Error("copied: others than of Snapshot")
	}
	full := errors.New("full")
	for room := 0; room < want.Len(); room += 997 {
		left := room
		n, err := c.WriteTo(writerFunc(func(p []byte) (int, error) {
			if left -= len(p); left < 0 {
				return 0, full
			}
			return len(p), nil
		}))
		if !errors.Is(err, full) || n > int64(room) {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestSnapshotCopyRoom wants room before it starts, uses it again, and lets filters go that are
// not copied to the end.
func TestSnapshotCopyRoom(t *testing.T) {
	var c SnapshotCopy
	if !c.Start() || !c.Copy(0) || len(copied(t, &c)) > 0 {
		t.Error("an empty copy is not done at once")
	}
	f := mustStream(t, StreamConfig{Memory: 1 << 20})
	record := func() {
		if err := f.Snapshot(&c, snapshotSecret, snapshotLabel); err != nil {
			t.Fatal(err)
		}
	}
	record()
	if c.Start() {
		t.Error("started without room")
	}
	if err := c.Reserve(c.Lines(), never); err != nil {
		t.Fatal(err)
	}
	room := c.room
	for range 3 {
		if !c.Start() || c.Copy(0) {
			t.Error("not started, or done at once")
		}
		c.Reset()
		record()
	}
	if err := c.Reserve(c.Lines(), never); err != nil || c.room != room {
		t.Error("other room for as much: ", err)
	}
	c.Reset()
	streamVerdicts(f, landmarkDigests(3, 1000), constant(1000)) // nothing is kept for a copy that is gone
	if err := f.Snapshot(&c, snapshotSecret, string(make([]byte, MaxLabel+1))); !errors.Is(err, ErrSnapshot) {
		t.Error("a label that is too long: ", err)
	}
	if err := errors.Join(f.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}

// TestSnapshotCopyWriter writes a copy while the filter goes on: for the race detector.
func TestSnapshotCopyWriter(t *testing.T) {
	f := mustStream(t, StreamConfig{Memory: 1 << 18})
	digests := landmarkDigests(4, 5000)
	want := snapshotOf(t, f)
	var c SnapshotCopy
	defer c.Close()
	copyOf(t, &c, f)
	for !c.Copy(0) {
	}
	written := make(chan []byte)
	go func() {
		var b bytes.Buffer
		c.WriteTo(&b)
		written <- b.Bytes()
	}()
	streamVerdicts(f, digests, constant(100))
	if !bytes.Equal(<-written, want) {
		t.Error("another copy")
	}
}

// TestSnapshotSparse has snapshots of filters that hold little be small.
func TestSnapshotSparse(t *testing.T) {
	f := mustStream(t, StreamConfig{Memory: 1<<20 + 64})
	for _, n := range []int{0, 10} {
		streamVerdicts(f, landmarkDigests(5, n), constant(100))
		data := snapshotOf(t, f)
		if len(data) > 4000+64*n {
			t.Errorf("%d elements: %d bytes", n, len(data))
		}
		if again := snapshotOf(t, restart(t, f, snapshotStream)); !bytes.Equal(again, data) {
			t.Errorf("%d elements: another snapshot", n)
		}
	}
}

// TestSnapshotCopyCounters copies counters while they grow, are thinned, swept and begin anew: what
// comes out is what they held at the start.
func TestSnapshotCopyCounters(t *testing.T) {
	const n = 400_000
	digests := landmarkDigests(71, n)
	addrs := make([]uint32, n)
	for i := range digests {
		addrs[i] = uint32(digests[i][0])
	}
	times := steady(n, 20*time.Microsecond)
	exact, rows, thinned := newSnapshotExactV4(t), newDigestRows(t, 0), newDigestRows(t, 0)
	thinned.Limit(1 << 20)
	sliding := mustSliding(t, SlidingConfig{Window: 2 * time.Second})
	sampled := mustSliding(t, SlidingConfig{Window: 20 * time.Second, Memory: 1 << 20})
	seen := make([]uint64, n/64+1)
	for name, c := range map[string]struct {
		filter snapshotter
		enter  func(from, to int)
		empty  func()
	}{
		"exact rows":  {exact, func(from, to int) { exact.TestAndSet(seen, addrs[from:to]) }, nil},
		"digest rows": {rows, func(from, to int) { rows.TestAndSet(seen, digests[from:to]) }, nil},
		"thinned":     {thinned, func(from, to int) { thinned.TestAndSet(seen, digests[from:to]) }, nil},
		"sliding":     {sliding, func(from, to int) { sliding.TestAndSet(seen, digests[from:to], times[from:to]) }, sliding.empty},
		"sampled":     {sampled, func(from, to int) { sampled.TestAndSet(seen, digests[from:to], times[from:to]) }, sampled.empty},
	} {
		var copies SnapshotCopy
		rounds, parts, at := 0, 0, n/4
		for c.enter(0, at); at+40_000 < n; rounds++ {
			want := snapshotOf(t, c.filter)
			copyOf(t, &copies, c.filter)
			for {
				c.enter(at, at+3000)
				at += 3000
				parts++
				if copies.Copy(0) || at+10_000 > n {
					break
				}
			}
			if at+40_000 >= n && c.empty != nil {
				c.empty()
			}
			for !copies.Copy(0) {
			}
			if !bytes.Equal(copied(t, &copies), want) {
				t.Errorf("%s, round %d: another copy", name, rounds)
			}
		}
		if parts < 3*rounds {
			t.Errorf("%s: %d parts in %d rounds: that tests little", name, parts, rounds)
		}
		if err := copies.Close(); err != nil {
			t.Error(err)
		}
	}
}
