package engine

import (
	"bytes"
	"errors"
	"testing"
)

func TestStreamCopy(t *testing.T) {
	const memory = 1<<20 + 64 // more than one part, and no whole words
	for _, c := range []StreamConfig{{Method: "lru", Memory: memory}, {Method: "sbf", Memory: memory}} {
		t.Run(c.Method, func(t *testing.T) { checkPacketCopies(t, &StreamPackets{mustStream(t, c)}) })
	}
}

// TestSnapshotCopyAll copies several filters at once.
func TestSnapshotCopyAll(t *testing.T) {
	var all []snapshotter
	for _, method := range StreamMethods() {
		all = append(all, mustStream(t, StreamConfig{Method: method, Memory: 6400}))
	}
	checkCopyOf(t, all...)
}

// TestSnapshotCopyRoom wants room before it starts, uses it again, and lets filters go that are
// not copied to the end.
func TestSnapshotCopyRoom(t *testing.T) {
	var c SnapshotCopy
	if !c.Start() || !c.Copy(0) || len(copied(t, &c)) > 0 {
		t.Error("an empty copy is not done at once")
	}
	f := mustStream(t, StreamConfig{Memory: 1 << 20})
	record := func() {
		if err := f.Snapshot(&c, savedSecret, savedLabel); err != nil {
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
	for range 3 {
		if !c.Start() || c.Copy(0) {
			t.Error("not started, or done at once")
		}
		c.Reset()
		record()
	}
	if n := testing.AllocsPerRun(1, func() { c.Reserve(c.Lines(), never) }); n > 0 {
		t.Error("other room for as much")
	}
	c.Reset()
	streamVerdicts(f, landmarkDigests(3, 1000), constant(1000)) // nothing is kept for a copy that is gone
	if err := f.Snapshot(&c, savedSecret, string(make([]byte, MaxLabel+1))); !errors.Is(err, ErrSnapshot) {
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
	want := saved(t, f)
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
		data := saved(t, f)
		if len(data) > 4000+64*n {
			t.Errorf("%d elements: %d bytes", n, len(data))
		}
		if again := saved(t, restart(t, f, RestoreStream)); !bytes.Equal(again, data) {
			t.Errorf("%d elements: another snapshot", n)
		}
	}
}
