package stream

import (
	"bytes"
	"errors"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"testing"
)

func TestCopy(t *testing.T) {
	const memory = 1<<20 + 64 // more than one part, and no whole words
	for _, c := range []Config{{Method: "lru", Memory: memory}, {Method: "sbf", Memory: memory}} {
		t.Run(c.Method, func(t *testing.T) { check.PacketCopies(t, &Packets{mustStream(t, c)}) })
	}
}

// TestSnapshotCopyAll copies several filters at once.
func TestSnapshotCopyAll(t *testing.T) {
	var all []check.Snapshotter
	for _, method := range Methods() {
		all = append(all, mustStream(t, Config{Method: method, Memory: 6400}))
	}
	check.CopyOf(t, all...)
}

// TestSnapshotCopyRoom wants room before it starts, uses it again, and lets filters go that are
// not copied to the end.
func TestSnapshotCopyRoom(t *testing.T) {
	var c snapshot.Copy
	if !c.Start() || !c.Copy(0) || len(check.Copied(t, &c)) > 0 {
		t.Error("an empty copy is not done at once")
	}
	f := mustStream(t, Config{Memory: 1 << 20})
	record := func() {
		if err := f.Snapshot(&c, check.SavedSecret, check.SavedLabel); err != nil {
			t.Fatal(err)
		}
	}
	record()
	if c.Start() {
		t.Error("started without room")
	}
	if err := c.Reserve(c.Lines(), check.Never); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if !c.Start() || c.Copy(0) {
			t.Error("not started, or done at once")
		}
		c.Reset()
		record()
	}
	if n := testing.AllocsPerRun(1, func() { c.Reserve(c.Lines(), check.Never) }); n > 0 {
		t.Error("other room for as much")
	}
	c.Reset()
	streamVerdicts(f, check.Digests(3, 1000), constant(1000)) // nothing is kept for a copy that is gone
	if err := f.Snapshot(&c, check.SavedSecret, string(make([]byte, snapshot.MaxLabel+1))); !errors.Is(err, snapshot.ErrInvalid) {
		t.Error("a label that is too long: ", err)
	}
	if err := errors.Join(f.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}

// TestSnapshotCopyWriter writes a copy while the filter goes on: for the race detector.
func TestSnapshotCopyWriter(t *testing.T) {
	f := mustStream(t, Config{Memory: 1 << 18})
	digests := check.Digests(4, 5000)
	want := check.Saved(t, f)
	var c snapshot.Copy
	defer c.Close()
	check.StartCopy(t, &c, f)
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
	f := mustStream(t, Config{Memory: 1<<20 + 64})
	for _, n := range []int{0, 10} {
		streamVerdicts(f, check.Digests(5, n), constant(100))
		data := check.Saved(t, f)
		if len(data) > 4000+64*n {
			t.Errorf("%d elements: %d bytes", n, len(data))
		}
		if again := check.Saved(t, check.Restart(t, f, Restore)); !bytes.Equal(again, data) {
			t.Errorf("%d elements: another snapshot", n)
		}
	}
}
